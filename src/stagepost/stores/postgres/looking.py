"""What is read of the whole: lanes, workers, keys, and what the engine's loops look for."""

from collections.abc import Sequence
from typing import Any, Final

import orjson

from stagepost.records import ApiKey, LaneRecord, WorkerRecord
from stagepost.stores.postgres import queues
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.rows import MS
from stagepost.stores.rows import STAMPED_COUNTED, worker_of
from stagepost.versions import Stamped

_LANES: Final = f"""
SELECT l.name, (SELECT count(*) FROM pool AS p WHERE p.lane = l.name)
    + (SELECT count(*) FROM keyed AS k WHERE k.lane = l.name AND NOT k.holds), coalesce(r.many, 0),
    {queues.OLDEST}
FROM unnest($1::text[]) WITH ORDINALITY AS l (name, no) LEFT JOIN (
    SELECT t.lane, count(*) AS many FROM claims AS c CROSS JOIN LATERAL unnest(c.tasks) AS u (id)
    JOIN tasks AS t ON t.id = u.id AND t.lease_id = c.lease_id
    GROUP BY t.lane) AS r ON r.lane = l.name
ORDER BY l.no"""

_WORKERS: Final = """
SELECT w.id, w.name, w.lanes, w.types, w.slots, w.version, w.state, (
    SELECT count(*) FROM claims AS c CROSS JOIN LATERAL unnest(c.tasks) AS u (id)
    JOIN tasks AS t ON t.id = u.id AND t.lease_id = c.lease_id WHERE c.worker_id = w.id),
    w.started_at, w.beat_at, w.versions
FROM workers AS w ORDER BY w.started_at, w.id"""

_STAMPED: Final = f"""
SELECT lane, type, count(*) FROM (
    SELECT lane, type FROM pool WHERE strpos(type, '/') > 0 LIMIT {STAMPED_COUNTED}) AS s
GROUP BY lane, type"""

_KEY: Final = 'SELECT id, name, tenant, roles, hash, "user", created_at, revoked_at FROM api_keys'


async def lanes(db: Backend, names: Sequence[str]) -> Sequence[LaneRecord]:
    """Each lane's backlog and running tasks."""
    rows = await db.fetch(_LANES, list(names))
    return [LaneRecord(row[0], row[1], row[2], row[3]) for row in rows]


async def workers(db: Backend) -> Sequence[WorkerRecord]:
    """The workers that live."""
    return [worker_of(row) for row in await db.fetch(_WORKERS)]


async def stamped(db: Backend) -> Sequence[Stamped]:
    """Queued tasks that were begun with a version of their code."""
    return [Stamped.of(*row) for row in await db.fetch(_STAMPED)]


async def keys(db: Backend, tenant: str | None) -> Sequence[ApiKey]:
    """Live keys."""
    rows = await db.fetch(
        f"""{_KEY} WHERE revoked_at IS NULL AND coalesce($1::text, tenant) = tenant ORDER BY id""",
        tenant,
    )
    return [_key_of(row) for row in rows]


async def key(db: Backend, key_hash: str) -> ApiKey | None:
    """The live key with a hash."""
    row = await db.fetchrow(f"{_KEY} WHERE hash = $1::text AND revoked_at IS NULL", key_hash)
    return None if row is None else _key_of(row)


def _key_of(row: Any) -> ApiKey:
    return ApiKey(row[0], row[1], row[2], tuple(orjson.loads(row[3])), *row[4:])


async def now(db: Backend, last: int) -> int:
    """The store's time."""
    return int(await db.fetchval(f"SELECT {MS}", last))


async def anything_due(db: Backend, last: int) -> bool:
    """Whether the scheduler has something to do."""
    statement = f"""SELECT EXISTS (
        SELECT 1 FROM tasks WHERE due_at IS NOT NULL AND due_at <= {MS})"""
    return bool(await db.fetchval(statement, last))


async def late(db: Backend, instant: int, limit: int) -> list[str]:
    """Queued tasks past an explicit deadline, in the pool or blocked by their key."""
    statement = """
        (SELECT task_id, deadline FROM pool WHERE hard AND deadline <= $1::bigint
            ORDER BY deadline LIMIT $2::bigint)
        UNION ALL
        (SELECT task_id, deadline FROM keyed WHERE NOT holds AND hard AND deadline <= $1::bigint
            ORDER BY deadline LIMIT $2::bigint)
        ORDER BY deadline LIMIT $2::bigint"""
    return [str(row[0]) for row in await db.fetch(statement, instant, limit)]


async def late_by_default(db: Backend, instant: int, limit: int) -> list[str]:
    """Queued tasks past any deadline; reads the whole pool."""
    statement = """SELECT task_id FROM pool WHERE deadline <= $1::bigint
        UNION ALL SELECT task_id FROM keyed WHERE NOT holds AND deadline <= $1::bigint
        LIMIT $2::bigint"""
    return [str(row[0]) for row in await db.fetch(statement, instant, limit)]
