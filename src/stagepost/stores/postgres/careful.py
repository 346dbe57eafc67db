"""A claim under limits, or among very many tenants: looked through first, then taken.

Limits count what runs in the whole fleet, so claims under them take turns: one at a time counts,
chooses and starts. Where nothing but pauses or a crowd is in the way they need not.
"""

from typing import Any, Final

from stagepost.records import Demand
from stagepost.stores import choosing
from stagepost.stores.choosing import Queue, Room, Row, Standing
from stagepost.stores.postgres import queues, ruling, starting
from stagepost.stores.postgres.rows import MS
from stagepost.stores.postgres.ruling import KnownRules
from stagepost.stores.postgres.transaction import Transaction
from stagepost.versions import own_versions, pool_types

_LOCK: Final = "SELECT pg_advisory_xact_lock(1398031184, hashtext(current_schema()))"
"""Held by a claim that counts ("STGP")."""

_LIVES: Final = "SELECT 1 FROM workers WHERE id = $1::uuid"

_ROWS: Final = """
SELECT q.lane, q.tenant, q.type, c.score, c.task_id, c.deadline
FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[]) AS q (lane, tenant, type, most)
CROSS JOIN LATERAL (
    SELECT p.score, p.task_id, p.deadline FROM pool AS p
    WHERE p.lane = q.lane AND p.tenant = q.tenant AND p.type = q.type
    ORDER BY p.score, p.task_id LIMIT q.most FOR UPDATE SKIP LOCKED) AS c"""

_LATEST: Final = "SELECT lane, latest FROM lane_turns WHERE lane = ANY($1::text[])"
_PLACES: Final = """
SELECT t.lane, t.tenant, t.place FROM unnest($1::text[], $2::text[]) AS w (lane, tenant)
JOIN turns AS t ON t.lane = w.lane AND t.tenant = w.tenant"""

_TAKE: Final = f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), chosen AS MATERIALIZED (
    SELECT p.ctid AS place, p.lane, p.tenant, p.score, p.task_id, p.deadline
    FROM unnest($4::text[], $5::text[], $6::text[], $7::bigint[], $8::uuid[])
        AS w (lane, tenant, type, score, id) CROSS JOIN LATERAL (
            SELECT p.ctid, p.* FROM pool AS p WHERE p.lane = w.lane AND p.tenant = w.tenant
                AND p.type = w.type AND p.score = w.score AND p.task_id = w.id) AS p
), {starting.START % "0 AS shared, 0 AS queues"}"""


async def take(tx: Transaction, demand: Demand, lease_id: str, known: KnownRules) -> list[Any]:
    """What the claim takes, as `starting.START` answers it, started or late."""
    async with tx.connection.transaction():
        counts = known.rules.limit or bool(demand.limits)
        if counts:
            await tx.connection.execute(_LOCK)
        if await tx.connection.fetchval(_LIVES, demand.worker_id) is None:
            return []
        running = await ruling.running(tx.connection) if counts else []
        room = choosing.room_for(known.rules, demand.limits, running)
        chosen = await _choose(tx, demand, room, known)
        if not chosen:
            return []
        columns = map(list, zip(*(row[:5] for row in chosen), strict=True))
        row = (demand.worker_id, lease_id, *columns, list(demand.types), own_versions(demand))
        found = await tx.connection.fetch(_TAKE, tx.moment.last, *row)
    tx.moment.saw(found[0][0])
    return _in_order(chosen, found)


def _in_order(chosen: list[Row], found: list[Any]) -> list[Any]:
    taken = {record[starting.ID]: record for record in found if record[starting.ID] is not None}
    wanted = [str(row[4]) for row in choosing.by_score(chosen)]
    return [taken[task_id] for task_id in wanted if task_id in taken]


async def _choose(
    tx: Transaction, demand: Demand, room: Room | None, known: KnownRules
) -> list[Row]:
    slots = min(demand.slots, starting.MOST)
    ready = await _queues(tx, demand, slots)
    known.crowded = any(lane in demand.turns.windows for lane in demand.turns.lanes)
    wanted = choosing.reads(ready, pool_types(demand), slots, room)
    tx.held_back = room is not None and len(wanted) < len(ready)
    rows = await _rows(tx, wanted)
    shared = choosing.shared_lanes(wanted)
    standings = await _standings(tx, shared)
    weights = {tenant: known.rules.weight(tenant) for names in shared.values() for tenant in names}
    ordered = choosing.in_fair_order(rows, standings, weights)
    chosen = demand.turns.choose(ordered, slots, None if room is None else room.admits)
    tx.turns.update((row[0], row[1]) for row in chosen if row[0] in shared)
    return chosen


async def _queues(tx: Transaction, demand: Demand, slots: int) -> list[Queue]:
    most = max(starting.MOST_QUEUES, choosing.READS_PER_SLOT * slots)
    windows = demand.turns.windows
    found: list[Queue] = []
    for lane in demand.turns.lanes:
        start = windows.pop(lane, ("", ""))
        here = await queues.behind(tx.connection, lane, start, most)
        if len(here) < most and start != ("", ""):
            seen = frozenset(here)
            again = await queues.behind(tx.connection, lane, ("", ""), most - len(here))
            here += [queue for queue in again if queue not in seen]
        elif len(here) == most:
            windows[lane] = here[-1][1:]
        found += here
    return found


async def _rows(tx: Transaction, wanted: dict[Queue, int]) -> dict[Queue, list[Row]]:
    rows: dict[Queue, list[Row]] = {}
    if wanted:
        columns = [list(column) for column in zip(*wanted, strict=True)]
        for row in await tx.connection.fetch(_ROWS, *columns, list(wanted.values())):
            rows.setdefault(Queue(*row[:3]), []).append(row)
    return rows


async def _standings(tx: Transaction, shared: dict[str, set[str]]) -> dict[str, Standing]:
    if not shared:
        return {}
    latest = await tx.connection.fetch(_LATEST, list(shared))
    standings = {lane: Standing() for lane in shared} | {row[0]: Standing(row[1]) for row in latest}
    pairs = [(lane, tenant) for lane, tenants in shared.items() for tenant in tenants]
    columns = [list(column) for column in zip(*pairs, strict=True)]
    for lane, tenant, place in await tx.connection.fetch(_PLACES, *columns):
        standings[lane].places[tenant] = place
    return standings
