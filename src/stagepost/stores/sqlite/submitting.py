"""Accepting tasks: the plain ones in bulk, the others row by row."""

from collections.abc import Sequence
from typing import Final

from stagepost import lifecycle
from stagepost.errors import IdempotencyMismatch
from stagepost.records import NewTask, Submitted
from stagepost.stores.accepting import FIRST_OPTION, IDEMPOTENCY_KEPT, is_plain, task_of
from stagepost.stores.rows import json
from stagepost.stores.sqlite import changes, uses
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import Status

INLINE_UP_TO: Final = 16 * 1024
"""Characters of input that stay in the task's row."""

_TASKS: Final = """
INSERT INTO tasks (id, tenant, user, type, lane, status, created_at, deadline, ttl, max_attempts,
    run_at, pooled_at, seq, trace_id, input)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, 'QUEUED', ?2,
    ?2 + CAST(round(1000 * (value->>7)) AS INTEGER), CAST(round(1000 * (value->>7)) AS INTEGER),
    value->>6, ?2, ?2, 1, value->>8, value->>5
FROM json_each(?1)"""

_POOL: Final = """
INSERT INTO pool (lane, score, task_id, type, deadline, hard)
SELECT value->>4, ?2, value->>0, value->>3, ?2 + CAST(round(1000 * (value->>7)) AS INTEGER), 0
FROM json_each(?1)"""

_EVENTS: Final = """
INSERT INTO events (task_id, seq, kind, data, at)
SELECT value->>0, 1, 'queued', '{"reason":"submitted"}', ?2 FROM json_each(?1)"""


def submit(tx: Transaction, arguments: list[NewTask]) -> Sequence[Submitted | Exception]:
    """Accept a group of tasks."""
    plain = [new for new in arguments if _is_bulk(new)]
    if plain:
        _insert_plain(tx, plain)
    if len(plain) == len(arguments):
        return [Submitted(new.id, Status.QUEUED, tx.now) for new in arguments]
    return [
        Submitted(new.id, Status.QUEUED, tx.now) if _is_bulk(new) else _submit_one(tx, new)
        for new in arguments
    ]


def _is_bulk(new: NewTask) -> bool:
    return is_plain(new) and len(new.input) <= INLINE_UP_TO


def _insert_plain(tx: Transaction, plain: list[NewTask]) -> None:
    rows = json([new[:FIRST_OPTION] for new in plain])
    for statement in (_TASKS, _POOL, _EVENTS):
        tx.execute(statement, (rows, tx.now))
    tx.events += [new.id for new in plain]
    tx.count("queued", [(new.type, new.lane) for new in plain])
    tx.pooled = True


def _submit_one(tx: Transaction, new: NewTask) -> Submitted | Exception:
    if new.idempotency is not None:
        earlier = _earlier(tx, new)
        if earlier is not None:
            return earlier
    gone = uses.missing(tx, [upload.upload_id for upload in new.uploads])
    if gone is not None:
        return gone
    change = lifecycle.accepted(task_of(new, tx.now), tx.now)
    changes.insert(tx, change, new)
    _insert_details(tx, new)
    return Submitted(new.id, change.task.status, tx.now)


def _insert_details(tx: Transaction, new: NewTask) -> None:
    for tag in new.tags:
        tx.execute("INSERT OR IGNORE INTO tags VALUES (?, ?, ?)", (new.tenant, tag, new.id))
    uses.use(tx, new.id, new.uploads)
    if new.idempotency is not None:
        key = (new.tenant, new.user, *new.idempotency, new.id, tx.now)
        tx.execute("INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?, ?, ?)", key)
        # Each new key clears out a few that have had their time, so the table stays bounded.
        tx.execute(
            """DELETE FROM idempotency WHERE (tenant, user, scope, key) IN (
                   SELECT tenant, user, scope, key FROM idempotency
                   WHERE created_at < ? ORDER BY created_at LIMIT 4)""",
            (tx.now - IDEMPOTENCY_KEPT,),
        )


def _earlier(tx: Transaction, new: NewTask) -> Submitted | Exception | None:
    assert new.idempotency is not None
    scope, key, fingerprint = new.idempotency
    row = tx.row(
        """SELECT fingerprint, task_id, created_at FROM idempotency
           WHERE tenant = ? AND user = ? AND scope = ? AND key = ? AND created_at >= ?""",
        (new.tenant, new.user, scope, key, tx.now - IDEMPOTENCY_KEPT),
    )
    if row is None:
        return None
    if row[0] != fingerprint:
        return IdempotencyMismatch(
            "This Idempotency-Key was used before with other content; use a new key."
        )
    task = changes.find(tx, row[1])
    status = Status.COMPLETED if task is None else task.status
    return Submitted(row[1], status, row[2], replayed=True)
