"""Tasks with a concurrency key: of those that are QUEUED or RUNNING only some hold their key.

A holder is in the pool or runs; the others are blocked, and cost a claim nothing. Who changes who
is in line for a key does so behind a lock on it, and hands it over in the same transaction.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import Status, Task

IN_LINE: Final = frozenset({Status.QUEUED, Status.RUNNING})

Key = tuple[str, str]
"""A tenant and a key of it."""

_LOCK: Final = """
SELECT pg_advisory_xact_lock(1398031185, h) FROM (
    SELECT DISTINCT hashtext(current_schema() || '/' || tenant || '/' || key) AS h
    FROM unnest($1::text[], $2::text[]) AS k (tenant, key) ORDER BY h) AS hashes"""
"""In one order everywhere, so that two that need the same keys wait for each other in turn."""

_LEAVE: Final = "DELETE FROM keyed WHERE task_id = ANY($1::uuid[])"
_ENTER: Final = """
INSERT INTO keyed (tenant, key, holds, score, task_id, lane, deadline, hard)
SELECT k.tenant, k.key, false, k.score, k.id, k.lane, k.deadline, k.hard
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::bigint[],
    $7::boolean[]) AS k (tenant, key, score, id, lane, deadline, hard)"""
_HAND_OVER: Final = """
WITH free AS MATERIALIZED (
    SELECT k.tenant, k.key, coalesce(r.key_concurrency, 1) - (SELECT count(*) FROM keyed AS h
        WHERE h.tenant = k.tenant AND h.key = k.key AND h.holds) AS many
    FROM unnest($1::text[], $2::text[]) AS k (tenant, key)
        LEFT JOIN rules AS r ON r.kind = 'tenant' AND r.name = k.tenant
), next AS MATERIALIZED (
    SELECT n.task_id FROM free CROSS JOIN LATERAL (
        SELECT b.task_id FROM keyed AS b
        WHERE b.tenant = free.tenant AND b.key = free.key AND NOT b.holds
        ORDER BY b.score, b.task_id LIMIT greatest(0, free.many)) AS n
), held AS (
    UPDATE keyed SET holds = true WHERE task_id IN (SELECT task_id FROM next)
)
INSERT INTO pool (lane, tenant, type, score, task_id, deadline, pooled_at, hard)
SELECT lane, tenant, concat_ws('/', type, nullif(code_version, 0)),
    pooled_at - priority::bigint * 1000, id, deadline, pooled_at, hard_deadline
FROM tasks WHERE id IN (SELECT task_id FROM next) AND pooled_at IS NOT NULL RETURNING lane"""
_BLOCKED_KEYS: Final = """
SELECT DISTINCT tenant, key FROM keyed WHERE tenant = $1::text AND NOT holds"""


async def moved(tx: Transaction, came: Sequence[Task], gone: Iterable[tuple[Key, str]]) -> None:
    """Keyed tasks that come into the line, and (key, id) of those that leave it."""
    out = list(gone)
    keys = {key_of(task) for task in came} | {key for key, _ in out}
    if not keys:
        return
    columns = _columns(sorted(keys))
    await tx.connection.execute(_LOCK, *columns)
    if out:
        await tx.connection.execute(_LEAVE, [task_id for _, task_id in out])
    if came:
        await tx.connection.execute(_ENTER, *_columns(map(_row_of, came)))
    await _hand_over(tx, columns)


async def let_in(tx: Transaction, tenant: str) -> None:
    """A tenant's keys may be held by more than before."""
    keys = [tuple(row) for row in await tx.connection.fetch(_BLOCKED_KEYS, tenant)]
    if keys:
        columns = _columns(sorted(keys))
        await tx.connection.execute(_LOCK, *columns)
        await _hand_over(tx, columns)


async def _hand_over(tx: Transaction, columns: list[list[Any]]) -> None:
    tx.pooled.update(row[0] for row in await tx.connection.fetch(_HAND_OVER, *columns))


def key_of(task: Task) -> Key:
    """The key of a task that has one."""
    assert task.concurrency_key is not None
    return (task.tenant, task.concurrency_key)


def _row_of(task: Task) -> tuple[Any, ...]:
    assert task.pooled_at is not None
    score = task.pooled_at - task.priority * 1000
    return (*key_of(task), score, task.id, task.lane, task.deadline, task.hard_deadline)


def _columns(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
