"""Accepting tasks: the plain ones in bulk, the others row by row."""

from collections.abc import Iterable, Sequence
from typing import Final

from stagepost import lifecycle
from stagepost.records import NewTask, Submitted
from stagepost.stores.accepting import (
    FIRST_OPTION,
    IDEMPOTENCY_KEPT,
    gone,
    is_plain,
    other_content,
    task_of,
)
from stagepost.stores.rows import json
from stagepost.stores.sqlite import changes, reading, unique, uses
from stagepost.stores.sqlite.quotas import Rooms, rooms_for
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import Status, Task

INLINE_UP_TO: Final = 16 * 1024
"""Characters of input that stay in the task's row."""

_TASKS: Final = """
INSERT INTO tasks (id, tenant, user, type, lane, status, created_at, deadline, ttl, max_attempts,
    run_at, pooled_at, seq, trace_id, input{more})
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, 'QUEUED', ?2,
    ?2 + CAST(round(1000 * (value->>7)) AS INTEGER), CAST(round(1000 * (value->>7)) AS INTEGER),
    value->>6, ?2, ?2, 1, value->>8, value->>5{values}
FROM json_each(?1)"""
_PLAIN: Final = _TASKS.format(more="", values="")
_CHILDREN: Final = _TASKS.format(
    more=", parent_id, batch_id, place", values=", value->>9, value->>10, value->>11"
)

_POOL: Final = """
INSERT INTO pool (lane, tenant, type, score, task_id, deadline, hard)
SELECT value->>4, value->>1, value->>3, ?2, value->>0,
    ?2 + CAST(round(1000 * (value->>7)) AS INTEGER), 0
FROM json_each(?1)"""

_EVENTS: Final = """
INSERT INTO events (task_id, seq, kind, data, at)
SELECT value->>0, 1, 'queued', '{"reason":"submitted"}', ?2 FROM json_each(?1)"""

Answer = Submitted | Exception


class Submitting:
    """The verb. `max_queued` is the quota of tenants that have none of their own; None: any."""

    def __init__(self, max_queued: int | None) -> None:
        self.max_queued = max_queued

    def submit(self, tx: Transaction, arguments: list[NewTask]) -> Sequence[Answer]:
        """Accept a group of tasks."""
        rooms = rooms_for(tx, arguments, self.max_queued)
        plain = [new for new in arguments if _is_bulk(new) and (not rooms or rooms.admits(new))]
        if plain:
            _insert_plain(tx, plain)
        if len(plain) == len(arguments):
            answers: list[Answer] = [Submitted(new.id, Status.QUEUED, tx.now) for new in arguments]
        else:
            answers = list(_each(tx, arguments, {id(new) for new in plain}, rooms))
        if rooms is not None:
            rooms.note(_accepted(arguments, answers))
        return answers


def _each(
    tx: Transaction, arguments: list[NewTask], inserted: set[int], rooms: Rooms | None
) -> Iterable[Answer]:
    for new in arguments:
        if id(new) in inserted:
            yield Submitted(new.id, Status.QUEUED, tx.now)
        elif _is_bulk(new):
            assert rooms is not None
            yield rooms.refusal(new)
        else:
            yield _submit_one(tx, new, rooms)


def _accepted(arguments: list[NewTask], answers: list[Answer]) -> list[NewTask]:
    return [
        new
        for new, answer in zip(arguments, answers, strict=True)
        if isinstance(answer, Submitted) and not answer.replayed
    ]


def _is_bulk(new: NewTask) -> bool:
    return is_plain(new) and len(new.input) <= INLINE_UP_TO


def _insert_plain(tx: Transaction, plain: list[NewTask]) -> None:
    rows = json([new[:FIRST_OPTION] for new in plain])
    _insert_rows(tx, _PLAIN, rows, plain)


def submit_children(tx: Transaction, news: list[NewTask]) -> None:
    """Accept children, which have ids of their own."""
    plain = [new for new in news if _is_bulk(new._replace(kin=None))]
    if plain:
        rows = json([(*new[:FIRST_OPTION], *(new.kin or ())) for new in plain])
        _insert_rows(tx, _CHILDREN, rows, plain)
    if len(plain) < len(news):
        there = {new.id for new in plain}
        for new in news:
            if new.id not in there:
                _submit_one(tx, new, None)


def _insert_rows(tx: Transaction, tasks: str, rows: str, plain: list[NewTask]) -> None:
    for statement in (tasks, _POOL, _EVENTS):
        tx.execute(statement, (rows, tx.now))
    tx.events += [new.id for new in plain]
    tx.count("queued", [(new.type, new.lane) for new in plain])
    tx.pooled = True


def _submit_one(tx: Transaction, new: NewTask, rooms: Rooms | None) -> Answer:
    earlier = _earlier(tx, new)
    if earlier is not None:
        return earlier
    holder = unique.holder(tx, new)
    if holder is not None:
        return _in_place_of(tx, holder, new)
    gone = uses.missing(tx, [upload.upload_id for upload in new.uploads])
    if gone is not None:
        return gone
    if rooms is not None and not rooms.admits(new):
        return rooms.refusal(new)
    change = lifecycle.accepted(task_of(new, tx.now), tx.now)
    changes.insert(tx, change, new)
    unique.hold(tx, new)
    for tag in new.tags:
        tx.execute("INSERT OR IGNORE INTO tags VALUES (?, ?, ?)", (new.tenant, tag, new.id))
    uses.use(tx, new.id, new.uploads)
    _keep_key(tx, new, new.id)
    return Submitted(new.id, change.task.status, tx.now)


def _in_place_of(tx: Transaction, holder: Task, new: NewTask) -> Answer:
    """The holder of the unique key is the answer; one that is PENDING may be put off."""
    if new.debounce and holder.status is Status.PENDING:
        gone = uses.missing(tx, [upload.upload_id for upload in new.uploads])
        if gone is not None:
            return gone
        changes.save(tx, holder, lifecycle.debounced(holder, task_of(new, tx.now)))
        changes.replace_input(tx, holder.id, new.input, new.uploads)
    _keep_key(tx, new, holder.id)
    return Submitted(holder.id, holder.status, holder.created_at, replayed=True, lane=holder.lane)


def _keep_key(tx: Transaction, new: NewTask, task_id: str) -> None:
    if new.idempotency is None:
        return
    key = (new.tenant, new.user, *new.idempotency, task_id, tx.now)
    tx.execute("INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?, ?, ?)", key)
    # Each new key clears out a few that have had their time, so the table stays bounded.
    tx.execute(
        """DELETE FROM idempotency WHERE (tenant, user, scope, key) IN (
               SELECT tenant, user, scope, key FROM idempotency
               WHERE created_at < ? ORDER BY created_at LIMIT 4)""",
        (tx.now - IDEMPOTENCY_KEPT,),
    )


def _earlier(tx: Transaction, new: NewTask) -> Answer | None:
    if new.idempotency is None:
        return None
    scope, key, fingerprint = new.idempotency
    row = tx.row(
        """SELECT fingerprint, task_id, created_at FROM idempotency
           WHERE tenant = ? AND user = ? AND scope = ? AND key = ? AND created_at >= ?""",
        (new.tenant, new.user, scope, key, tx.now - IDEMPOTENCY_KEPT),
    )
    if row is None:
        return None
    if row[0] != fingerprint:
        return other_content()
    task = changes.find(tx, row[1])
    if task is None:
        stone = reading.stone_of(tx.connection, row[1])
        return gone(row[1], None if stone is None else stone.status, row[2])
    return Submitted(task.id, task.status, task.created_at, replayed=True, lane=task.lane)
