"""Accepting tasks: the plain ones by one statement, the others by a few for the whole batch."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from stagepost import lifecycle
from stagepost.errors import Conflict, IdempotencyMismatch
from stagepost.lifecycle import Change
from stagepost.records import NewTask, Submitted
from stagepost.stores.accepting import FIRST_OPTION, IDEMPOTENCY_KEPT, is_plain, task_of
from stagepost.stores.postgres import changes, uses
from stagepost.stores.postgres.rows import (
    MS,
    TASK_NAMES,
    TASK_TYPES,
    columns_of,
    numbers,
    texts,
    unfolded,
    uuids,
)
from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import Status

_LONGEST: Final = 10 * 365 * 86_400_000  # milliseconds

_WORDS: Final = ", ".join(unfolded(number) for number in range(3, 8))
_PLAIN: Final = f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), r AS (
    SELECT * FROM ROWS FROM (unnest($2::text::uuid[]), {_WORDS}, unnest($8::text::integer[]),
        unnest($9::text::bigint[]), {unfolded(10)})
        AS r (id, tenant, "user", type, lane, input, max_attempts, ttl, trace_id)
), kept AS (
    INSERT INTO tasks (id, tenant, "user", type, lane, status, created_at, deadline, ttl,
        max_attempts, run_at, pooled_at, seq, trace_id, input)
    SELECT r.id, tenant, "user", type, lane, 'QUEUED', n.ms, n.ms + ttl, ttl, max_attempts, n.ms,
        n.ms, 1, trace_id, input
    FROM r, n ON CONFLICT (id) DO NOTHING
    RETURNING id, lane, type, created_at, deadline
), pooled AS (
    INSERT INTO pool (lane, score, task_id, type, deadline, pooled_at, hard)
    SELECT lane, created_at, id, type, deadline, created_at, false FROM kept
), told AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT id, 1, 'queued', '{{"reason":"submitted"}}', created_at FROM kept
)
SELECT n.ms, CASE WHEN (SELECT count(*) FROM kept) < $11::integer
    THEN ARRAY(SELECT id FROM kept) END FROM n"""

_THERE: Final = """
SELECT id, status, created_at FROM tasks
JOIN unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    AS r (id, tenant, "user", type, lane, input) USING (id, tenant, "user", type, lane, input)"""
"""Those of some tasks that are there, word for word."""

_ARRAYS: Final = ", ".join(
    f"${number}::{kind}[]"
    for number, kind in enumerate((*TASK_TYPES, "boolean", "boolean", "text"), 1)
)
_INSERT: Final = f"""
INSERT INTO tasks ({", ".join(TASK_NAMES)}, dead, tagged, input) SELECT * FROM unnest({_ARRAYS})
ON CONFLICT (id) DO NOTHING RETURNING id"""

_POOL: Final = """
INSERT INTO pool (lane, score, task_id, type, deadline, pooled_at, hard)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[],
    $7::boolean[])"""
_EVENTS: Final = """
INSERT INTO events (task_id, seq, kind, data, at)
SELECT e.*, $1::bigint FROM unnest($2::uuid[], $3::integer[], $4::text[], $5::text[]) AS e"""
_TAGS: Final = """
INSERT INTO tags (tenant, tag, task_id) SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[])
ON CONFLICT DO NOTHING"""

_OWN_KEYS: Final = f"""
INSERT INTO idempotency AS i (created_at, tenant, "user", scope, key, fingerprint, task_id)
SELECT $1::bigint, k.* FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
    $7::uuid[]) AS k
ON CONFLICT (tenant, "user", scope, key) DO UPDATE SET created_at = excluded.created_at,
    fingerprint = excluded.fingerprint, task_id = excluded.task_id
    WHERE i.created_at < excluded.created_at - {IDEMPOTENCY_KEPT}
RETURNING task_id"""
_EARLIER: Final = """
SELECT i.tenant, i."user", i.scope, i.key, i.fingerprint, i.task_id, i.created_at, t.status
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k (tenant, "user", scope, key)
JOIN idempotency AS i USING (tenant, "user", scope, key) LEFT JOIN tasks AS t ON t.id = i.task_id"""
_OLD_KEYS: Final = """
DELETE FROM idempotency WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency WHERE created_at < $1::bigint ORDER BY created_at LIMIT $2
    FOR UPDATE SKIP LOCKED))"""
"""Each new key clears out a few that have had their time, so the table stays bounded."""

Answer = Submitted | Exception
_Key = tuple[str, str, str, str]


async def submit(tx: Transaction, news: Sequence[NewTask]) -> list[Answer]:
    """Accept a batch of tasks."""
    plain = [new for new in news if is_plain(new)]
    if len(plain) == len(news):
        return await _submit_plain(tx, plain)
    async with tx.connection.transaction():
        first = iter(await _submit_plain(tx, plain) if plain else [])
        others = iter(await _submit_others(tx, [new for new in news if not is_plain(new)]))
    return [next(first if is_plain(new) else others) for new in news]


async def _submit_plain(tx: Transaction, news: list[NewTask]) -> list[Answer]:
    ids, *who, most, ttl, trace = zip(*(new[:FIRST_OPTION] for new in news), strict=True)
    lengths = [min(round(seconds * 1000), _LONGEST) for seconds in ttl]
    row = await tx.connection.fetchrow(
        _PLAIN, tx.moment.last, uuids(ids), *map(texts, who), numbers(most), numbers(lengths),
        texts(trace), len(news),
    )  # fmt: skip
    assert row is not None
    now, kept = tx.moment.saw(row[0]), row[1]
    if kept is None:
        _announce_plain(tx, news)
        return [Submitted(new.id, Status.QUEUED, now) for new in news]
    return await _told_apart(tx, news, {str(task_id) for task_id in kept}, now)


async def _told_apart(
    tx: Transaction, news: list[NewTask], kept: set[str], now: int
) -> list[Answer]:
    there = await _there(tx, [new for new in news if new.id not in kept]) if tx.again else {}
    # The first of two with one id in one batch has it.
    answers: list[Answer] = []
    for new in news:
        if new.id in kept:
            kept.remove(new.id)
            answers.append(Submitted(new.id, Status.QUEUED, now))
        else:
            answers.append(there.get(new.id) or _taken())
    _announce_plain(
        tx,
        [new for new, found in zip(news, answers, strict=True) if isinstance(found, Submitted)],
    )
    return answers


async def _there(tx: Transaction, news: list[NewTask]) -> dict[str, Submitted]:
    """Which of these an earlier try, whose answer was lost, has kept."""
    columns = list(zip(*(new[:6] for new in news), strict=True))
    found = await tx.connection.fetch(_THERE, *columns)
    return {str(row[0]): Submitted(str(row[0]), Status(row[1]), row[2]) for row in found}


def _announce_plain(tx: Transaction, news: list[NewTask]) -> None:
    tx.events += [new.id for new in news]
    tx.count("queued", [(new.type, new.lane) for new in news])
    tx.pooled.update(new.lane for new in news)


def _taken() -> Conflict:
    return Conflict("Something of this id or name is there already.")


async def _submit_others(tx: Transaction, news: list[NewTask]) -> list[Answer]:
    if len({new.id for new in news}) < len(news):
        raise _taken()
    now = tx.moment.saw(await tx.connection.fetchval(f"SELECT {MS}", tx.moment.last))
    keyed = [new for new in news if new.idempotency is not None]
    won = await _own_keys(tx, keyed, now) if keyed else set()
    late = [new for new in keyed if new.id not in won]
    fresh = [new for new in news if new.idempotency is None or new.id in won]
    answers = await _accept(tx, fresh, now) if fresh else {}
    if late:
        answers |= await _earlier(tx, late)
    return [answers[new.id] for new in news]


async def _accept(tx: Transaction, news: list[NewTask], now: int) -> dict[str, Answer]:
    made = {new.id: lifecycle.accepted(task_of(new, now), now) for new in news}
    await uses.lock(tx, [upload.upload_id for new in news for upload in new.uploads])
    kept = await _insert(tx, news, made)
    left = [new for new in news if new.id not in kept]
    answers: dict[str, Answer] = {}
    if left and tx.again:
        answers |= await _there(tx, left)
    if len(kept) + len(answers) < len(news):
        # Undoes the keys as well.
        raise _taken()
    await _insert_details(tx, [new for new in news if new.id in kept], now)
    return answers | {
        task_id: Submitted(task_id, made[task_id].task.status, now) for task_id in kept
    }


async def _insert(tx: Transaction, news: list[NewTask], made: dict[str, Change]) -> set[str]:
    tasks = [made[new.id].task for new in news]
    tagged, inputs = [bool(new.tags) for new in news], [new.input for new in news]
    rows = await tx.connection.fetch(_INSERT, *columns_of(tasks), tagged, inputs)
    kept = {str(row[0]) for row in rows}
    pairs = [
        (replace(task, status=Status.PENDING), made[task.id]) for task in tasks if task.id in kept
    ]
    queued = [task for task in tasks if task.id in kept and task.status is Status.QUEUED]
    if queued:
        await tx.connection.execute(_POOL, *_columns(map(changes.place_of, queued)))
        facts = _columns(changes.facts_of(pairs))
        await tx.connection.execute(_EVENTS, tx.moment.last, *facts)
    changes.announce(tx, pairs)
    return kept


async def _insert_details(tx: Transaction, news: list[NewTask], now: int) -> None:
    tags = [(new.tenant, tag, new.id) for new in news for tag in new.tags]
    if tags:
        await tx.connection.execute(_TAGS, *_columns(tags))
    await uses.use(tx, [(new.id, new.uploads) for new in news], now)


async def _own_keys(tx: Transaction, news: list[NewTask], now: int) -> set[str]:
    """The tasks whose keys are theirs now; the others' were used before."""
    owners: dict[_Key, NewTask] = {}
    for new in news:
        owners.setdefault(_key_of(new), new)
    # In one order everywhere, so that two batches with the same keys wait for each other in turn.
    rows = [
        (*key, new.idempotency.fingerprint, new.id)
        for key, new in sorted(owners.items(), key=lambda item: item[0])
        if new.idempotency is not None
    ]
    won = {str(row[0]) for row in await tx.connection.fetch(_OWN_KEYS, now, *_columns(rows))}
    await tx.connection.execute(_OLD_KEYS, now - IDEMPOTENCY_KEPT, 4 * len(rows))
    return won


async def _earlier(tx: Transaction, news: list[NewTask]) -> dict[str, Answer]:
    """Answers for those whose key was used before."""
    found = await tx.connection.fetch(_EARLIER, *_columns(sorted({_key_of(new) for new in news})))
    there = {tuple(row[:4]): row[4:] for row in map(tuple, found)}
    return {new.id: _replay(new, there[_key_of(new)]) for new in news}


def _key_of(new: NewTask) -> _Key:
    assert new.idempotency is not None
    return (new.tenant, new.user, new.idempotency.scope, new.idempotency.key)


def _replay(new: NewTask, row: Sequence[Any]) -> Answer:
    fingerprint, task_id, created_at, status = row
    assert new.idempotency is not None
    if fingerprint != new.idempotency.fingerprint:
        return IdempotencyMismatch(
            "This Idempotency-Key was used before with other content; use a new key."
        )
    # A task that is gone was pruned, so it had ended.
    kept = Status.COMPLETED if status is None else Status(status)
    # It is its own forerunner when an earlier try has kept it and the answer was lost.
    return Submitted(str(task_id), kept, created_at, replayed=str(task_id) != new.id)


def _columns(found: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*found, strict=True)]
