"""The queues of the pool: one for each lane, tenant and type with something ready."""

from typing import Final

from stagepost.backlog import COUNTED, Backlog, Stretch
from stagepost.stores.choosing import Queue
from stagepost.stores.postgres.connections import Backend

MOST: Final = 1_000
"""Queues of a lane that a look at it passes."""

WALK: Final = """queue (lane, tenant, type, no) AS (
    -- One look-up leads from each queue to the next, however long it is.
    SELECT {lane}, f.*, 1 FROM {start} CROSS JOIN LATERAL (
        SELECT p.tenant, p.type FROM pool AS p
        WHERE p.lane = {lane} AND (p.tenant, p.type) > {place}
        ORDER BY p.tenant, p.type LIMIT 1) AS f
    UNION ALL
    SELECT q.lane, f.*, q.no + 1 FROM queue AS q CROSS JOIN LATERAL (
        SELECT p.tenant, p.type FROM pool AS p
        WHERE p.lane = q.lane AND (p.tenant, p.type) > (q.tenant, q.type)
        ORDER BY p.tenant, p.type LIMIT 1) AS f
    WHERE q.no < {most}
)"""
"""A recursive table of queues, behind a place of each lane of a row source."""

_OF_LANE: Final = "(''::text, ''::text)"
_SAME: Final = "p.lane = q.lane AND p.tenant = q.tenant AND p.type = q.type"

POSITION: Final = f"""(
    WITH RECURSIVE {
    WALK.format(lane="one.lane", start="(SELECT t.lane) AS one", place=_OF_LANE, most=MOST)
}, own AS (
        SELECT count(*) AS many FROM queue AS q CROSS JOIN LATERAL (
            SELECT 1 FROM pool AS p WHERE {_SAME}
                AND (p.score, p.task_id) < (t.pooled_at - t.priority::bigint * 1000, t.id)
            ORDER BY p.score, p.task_id LIMIT {COUNTED}) AS ahead
        WHERE q.tenant = t.tenant
    ), others AS (
        SELECT tenant, count(*) AS many FROM (
            SELECT q.tenant FROM queue AS q CROSS JOIN own CROSS JOIN LATERAL (
                SELECT 1 FROM pool AS p WHERE {_SAME} LIMIT own.many + 1) AS ready
            WHERE q.tenant <> t.tenant LIMIT {COUNTED}) AS counted
        GROUP BY tenant
    )
    SELECT least({COUNTED}, own.many + (
        SELECT coalesce(sum(least(many, own.many + 1)), 0) FROM others)) + 1 FROM own)::integer"""
"""The place of a pooled task, of a table called t, in its lane, from 1: see TaskView."""

OLDEST: Final = f"""(
    WITH RECURSIVE {
    WALK.format(lane="one.lane", start="(SELECT l.name AS lane) AS one", place=_OF_LANE, most=MOST)
} SELECT min(o.pooled_at) FROM queue AS q CROSS JOIN LATERAL (
        -- A head start moves a task before older ones; behind the first's instant none is older.
        SELECT p.pooled_at FROM pool AS p WHERE {_SAME} AND p.score <= (
            SELECT p.pooled_at FROM pool AS p WHERE {_SAME} ORDER BY p.score, p.task_id LIMIT 1)
        ORDER BY p.score, p.task_id LIMIT {COUNTED}) AS o)"""
"""When the task that has waited longest in a lane, `l.name`, came into the pool."""

_BACKLOG: Final = f"""WITH RECURSIVE {
    WALK.format(lane="l.lane", start="(SELECT $1::text AS lane) AS l", place=_OF_LANE, most=MOST)
}, mark (lane, tenant, type, score, task_id) AS (
    SELECT q.lane, q.tenant, q.type, f.* FROM queue AS q CROSS JOIN LATERAL (
        SELECT p.score, p.task_id FROM pool AS p WHERE {_SAME}
        ORDER BY p.score, p.task_id LIMIT 1 OFFSET $2::bigint) AS f
    UNION ALL
    SELECT q.lane, q.tenant, q.type, f.* FROM mark AS q CROSS JOIN LATERAL (
        SELECT p.score, p.task_id FROM pool AS p
        WHERE {_SAME} AND (p.score, p.task_id) > (q.score, q.task_id)
        ORDER BY p.score, p.task_id LIMIT 1 OFFSET $2::bigint) AS f
)
SELECT q.tenant, (SELECT count(*) FROM pool AS p WHERE {_SAME}), m.scores
FROM queue AS q LEFT JOIN (
    SELECT tenant, type, array_agg(score ORDER BY score) AS scores FROM mark
    GROUP BY tenant, type) AS m USING (tenant, type)"""

_BEHIND: Final = f"""WITH RECURSIVE {
    WALK.format(
        lane="l.lane",
        start="(SELECT $1::text AS lane) AS l",
        place="($2::text, $3::text)",
        most="$4::integer",
    )
} SELECT lane, tenant, type FROM queue ORDER BY no"""


async def behind(db: Backend, lane: str, place: tuple[str, str], most: int) -> list[Queue]:
    """The next queues of a lane behind a tenant and type."""
    if most <= 0:
        return []
    return [Queue(*row) for row in await db.fetch(_BEHIND, lane, *place, most)]


async def backlog(db: Backend, lane: str, step: int) -> Backlog:
    """What is ready in a lane, with a mark at every `step`-th task."""
    rows = await db.fetch(_BACKLOG, lane, step - 1)
    return Backlog(step, [Stretch(tenant, many, marks or ()) for tenant, many, marks in rows])
