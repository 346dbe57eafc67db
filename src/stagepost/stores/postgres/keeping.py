"""What the engine's own loops do: due times, deadlines, the claims of the dead, leadership."""

from collections.abc import Iterable, Sequence
from typing import Final

from stagepost import lifecycle
from stagepost.lifecycle import Blame
from stagepost.outcome import Failed
from stagepost.records import Rescue
from stagepost.stores.postgres import changes, wakes
from stagepost.stores.postgres.claiming import expired_if_queued
from stagepost.stores.postgres.rows import MS
from stagepost.stores.postgres.starting import OWN_PLACE
from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import Task

# Locked rows are passed over here: whoever holds one is about to change it, and the next look is
# soon. So none of these ever waits for a task while it holds others.
_DUE: Final = f"""{changes.LOCKED} t.id IN (
        SELECT id FROM tasks WHERE due_at IS NOT NULL AND due_at <= {MS}
        ORDER BY due_at LIMIT $2::integer)
    ORDER BY t.id FOR UPDATE OF t SKIP LOCKED"""
_LATE: Final = f"""{changes.LOCKED} t.id = ANY($2::uuid[]) AND t.status = 'QUEUED'
    ORDER BY t.id FOR UPDATE OF t SKIP LOCKED"""

_DROP_LATE_STRAYS: Final = f"""
DELETE FROM pool WHERE ctid = ANY(ARRAY(
    SELECT p.ctid FROM pool AS p WHERE p.deadline <= {MS} AND p.task_id = ANY($2::uuid[])
        AND NOT EXISTS (
            SELECT 1 FROM tasks AS t WHERE t.id = p.task_id AND {OWN_PLACE.format("p.score")})
    FOR UPDATE SKIP LOCKED))"""

_SILENT: Final = f"""
DELETE FROM workers WHERE beat_at <= coalesce($3::bigint, {MS}) - $2::bigint RETURNING id"""
_STRAYS: Final = f"""{changes.LOCKED} t.id IN (
        SELECT u.id FROM claims AS c CROSS JOIN LATERAL unnest(c.tasks) AS u (id)
        JOIN tasks AS s ON s.id = u.id AND s.lease_id = c.lease_id
        WHERE NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.id = c.worker_id))
    AND t.status = 'RUNNING' ORDER BY t.id FOR UPDATE OF t SKIP LOCKED"""
"""Claims of workers that nobody knows any more."""
_FORGET_STRAYS: Final = """
DELETE FROM claims AS c WHERE NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.id = c.worker_id)
    AND NOT EXISTS (SELECT 1 FROM unnest(c.tasks) AS u (id)
        JOIN tasks AS t ON t.id = u.id AND t.lease_id = c.lease_id)"""

_OF_WORKER: Final = f"""{changes.LOCKED} t.id IN (
        SELECT unnest(tasks) FROM claims WHERE worker_id = $2::uuid)
    AND t.worker_id = $2::uuid ORDER BY t.id FOR UPDATE OF t"""

_LEAD: Final = f"""
INSERT INTO leases (name, holder, until) VALUES ($2::text, $3::text, {MS} + $4::bigint)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE leases.holder = excluded.holder OR leases.until <= {MS}
RETURNING 1"""


async def release_due(tx: Transaction, limit: int) -> int:
    """Tasks whose time has come."""
    async with tx.connection.transaction():
        woken = await wakes.wake(tx, limit)
        if woken >= limit:
            return woken
        tasks = await changes.take(tx, _DUE, limit - woken)
        return woken + await changes.change_each(tx, tasks.values(), lifecycle.due)


async def expire(tx: Transaction, task_ids: Sequence[str]) -> int:
    """Pooled tasks that were seen past their deadline."""
    async with tx.connection.transaction():
        tasks = await changes.take(tx, _LATE, list(task_ids))
        expired = await changes.change_each(tx, tasks.values(), expired_if_queued)
        if expired < len(task_ids):
            await tx.connection.execute(_DROP_LATE_STRAYS, tx.moment.last, list(task_ids))
        return expired


async def rescue(tx: Transaction, older_than: float, as_of: int | None) -> Rescue:
    """Give back the claims of workers that were silent for so many seconds at an instant."""
    silence = round(older_than * 1000)
    async with tx.connection.transaction():
        silent = await tx.connection.fetch(_SILENT, tx.moment.last, silence, as_of)
        strays = await changes.take(tx, _STRAYS)
        await _give_back(tx, strays.values(), Blame.UNKNOWN)
        await tx.connection.execute(_FORGET_STRAYS)
    return Rescue(tuple(str(row[0]) for row in silent), tuple(strays))


async def retire(tx: Transaction, worker_id: str) -> None:
    """A worker ends: of what it still holds somebody else is to blame, if anybody."""
    async with tx.connection.transaction():
        held = await changes.take(tx, _OF_WORKER, worker_id)
        await _give_back(tx, held.values(), Blame.ANOTHER)
        await tx.connection.execute("DELETE FROM claims WHERE worker_id = $1::uuid", worker_id)
        await tx.connection.execute("DELETE FROM workers WHERE id = $1::uuid", worker_id)


async def _give_back(tx: Transaction, tasks: Iterable[Task], blame: Blame) -> None:
    now = tx.moment.last
    ends = [(task, lifecycle.loss(task, blame, now)) for task in tasks]
    pairs = [(task, lifecycle.settled(task, outcome, now)) for task, outcome in ends]
    failed = [(task, outcome) for task, outcome in ends if isinstance(outcome, Failed)]
    await changes.save(tx, pairs, failed)


async def lead(tx: Transaction, name: str, holder: str, seconds: float) -> bool:
    """Whether the holder leads for so many seconds from now."""
    until = round(seconds * 1000)
    return await tx.connection.fetchval(_LEAD, tx.moment.last, name, holder, until) is not None
