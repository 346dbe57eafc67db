"""Taking tasks from the pool, in one statement unless rules hold something back."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from stagepost import lifecycle
from stagepost.choice import LaneTurns
from stagepost.lifecycle import Change
from stagepost.outcome import Drained
from stagepost.records import Claimed, Demand
from stagepost.stores.choosing import FORGOTTEN, READS_PER_SLOT, STRIDE
from stagepost.stores.postgres import careful, changes, queues, starting
from stagepost.stores.postgres.rows import MS, Idle
from stagepost.stores.postgres.ruling import KnownRules
from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import Status, Task
from stagepost.versions import own_versions, pool_types

_LATE_ROUNDS: Final = 32
"""Tries to find one that is not past its deadline; what then is left is `expire_queued`'s."""

_NOBODY: Final = "00000000-0000-0000-0000-000000000000"

_NOW: Final = f"WITH RECURSIVE n AS MATERIALIZED (SELECT {MS} AS ms), "

_SHARES: Final = f"""turn AS MATERIALIZED (
    SELECT t.* FROM unnest($4::text[], $5::bigint[], $6::bigint[])
        WITH ORDINALITY AS t (lane, place, stride, no)
    WHERE EXISTS (SELECT 1 FROM workers WHERE id = $2::uuid)
), {
    queues.WALK.format(
        lane="turn.lane", start="turn", place="(''::text, ''::text)", most=starting.MOST_QUEUES
    )
}, usable AS MATERIALIZED (
    SELECT q.lane, q.tenant, q.type, {STRIDE} / coalesce(r.weight, 1) AS stride,
        coalesce(t.place, 0) AS place,
        greatest(coalesce(t.place, 0), coalesce(l.latest, 0)) AS start,
        dense_rank() OVER (PARTITION BY q.lane ORDER BY q.tenant) AS nth
    FROM queue AS q LEFT JOIN turns AS t ON t.lane = q.lane AND t.tenant = q.tenant
        LEFT JOIN lane_turns AS l ON l.lane = q.lane
        LEFT JOIN rules AS r ON r.kind = 'tenant' AND r.name = q.tenant
    WHERE q.type = ANY($7::text[])
), crowd AS MATERIALIZED (SELECT lane, max(nth) AS tenants FROM usable GROUP BY lane
), alone AS MATERIALIZED (SELECT (SELECT count(*) FROM usable) = 1 AS it
), ready AS (
    SELECT u.lane, u.tenant, u.type, u.stride, u.place, u.start,
        row_number() OVER (PARTITION BY u.lane, u.tenant ORDER BY c.score, c.task_id) - 1 AS nth
    FROM usable AS u JOIN crowd USING (lane) JOIN alone ON NOT it CROSS JOIN LATERAL (
        SELECT p.score, p.task_id FROM pool AS p
        WHERE p.lane = u.lane AND p.tenant = u.tenant AND p.type = u.type
        ORDER BY p.score, p.task_id
        LIMIT least($8::integer, greatest(1, {READS_PER_SLOT} * $8::integer / crowd.tenants))
    ) AS c
), share AS MATERIALIZED (
    -- Whose turn it is: of the lanes as `LaneTurns` has it, in a lane as `choosing` has it; the one
    -- furthest behind is next, again and again.
    SELECT lane, tenant, type, count(*) AS many FROM (
        SELECT f.lane, f.tenant, f.type FROM (
            SELECT lane, tenant, type, row_number() OVER (
                PARTITION BY lane ORDER BY start + stride * nth, place, tenant, nth) AS nth
            FROM ready) AS f JOIN turn ON turn.lane = f.lane
        ORDER BY turn.place + turn.stride * (f.nth - 1), turn.no LIMIT $8::integer) AS turns
    GROUP BY lane, tenant, type
    UNION ALL
    -- Where there is one queue, it has every turn.
    SELECT lane, tenant, type, $8::integer FROM usable JOIN alone ON it
), chosen AS MATERIALIZED (
    SELECT c.* FROM share CROSS JOIN LATERAL (
        SELECT p.ctid AS place, p.lane, p.tenant, p.score, p.task_id, p.deadline FROM pool AS p
        WHERE p.lane = share.lane AND p.tenant = share.tenant AND p.type = share.type
        ORDER BY p.score, p.task_id LIMIT share.many FOR UPDATE SKIP LOCKED) AS c
), """

_CLAIM: Final = (
    _NOW
    + _SHARES
    + starting.START
    % """(SELECT array_agg(lane) FROM crowd WHERE tenants > 1) AS shared,
    (SELECT max(no) FROM queue) AS queues"""
)
IDLE: Final[Idle] = (
    _CLAIM,
    (0, _NOBODY, _NOBODY, [], [], [], [], 0, [], []),
)
"""A claim for nobody; see `warming`."""

_OF_LEASE: Final = f"""{changes.LOCKED} t.id = ANY(ARRAY(
        SELECT unnest(tasks) FROM claims WHERE lease_id = $2::uuid))
    AND t.lease_id = $2::uuid AND t.status = 'RUNNING' ORDER BY t.id FOR UPDATE OF t"""


async def claim(
    tx: Transaction, demand: Demand, lease_id: str, known: KnownRules
) -> Sequence[Claimed]:
    """Tasks for a worker, each with this lease."""
    if tx.again:
        await give_back(tx, lease_id)
    await known.refresh(tx.connection)
    demand.turns.weigh(known.rules.lane_weights)
    for _ in range(_LATE_ROUNDS):
        if known.rules.restrict or demand.limits or known.crowded:
            found = await careful.take(tx, demand, lease_id, known)
        else:
            found = await _take(tx, demand, lease_id, known)
        if not found:
            return ()
        in_time = await _in_time(tx, found)
        claimed = [_claimed(record, lease_id) for record in in_time]
        tx.keys = {
            task.task_id: (task.tenant, record[-1])
            for task, record in zip(claimed, in_time, strict=True)
            if record[-1] is not None
        }
        if claimed:
            _announce(tx, claimed)
            return claimed
        if tx.turns:
            # What was too late has cost its tenants their turns: the next look begins with others.
            await advance(tx, tx.turns)
            tx.turns.clear()
    return ()


async def _take(tx: Transaction, demand: Demand, lease_id: str, known: KnownRules) -> list[Any]:
    """What a claim takes that nothing holds back."""
    slots = min(demand.slots, starting.MOST)
    standing = map(list, zip(*demand.turns.standing(), strict=True))
    row = (
        demand.worker_id, lease_id, *standing, pool_types(demand), slots, list(demand.types),
        own_versions(demand),
    )  # fmt: skip
    found = await tx.connection.fetch(_CLAIM, tx.moment.last, *row)
    now, many, shared, queues = found[0][:4]
    tx.moment.saw(now)
    known.crowded = (queues or 0) >= starting.MOST_QUEUES
    if not many:
        return []
    chosen = _in_turn(demand.turns, found, slots)
    if shared:
        tx.turns.update((record[5], record[9]) for record in chosen if record[5] in shared)
    return chosen


def _in_turn(turns: LaneTurns, found: list[Any], slots: int) -> list[Any]:
    available: dict[str, list[Any]] = {}
    for record in found:
        if record[starting.ID] is not None:
            available.setdefault(record[5], []).append(record)
    return turns.choose(available, slots)


async def _in_time(tx: Transaction, chosen: list[Any]) -> list[Any]:
    late = [record[starting.ID] for record in chosen if record[4]]
    if not late:
        return chosen
    async with tx.connection.transaction():
        tasks = await changes.lock(tx, late)
        await changes.change_each(tx, tasks.values(), expired_if_queued)
    return [record for record in chosen if not record[4]]


def expired_if_queued(task: Task, now: int) -> Change | None:
    """What happens to a pooled task past its deadline."""
    late = task.status is Status.QUEUED and task.deadline <= now
    return lifecycle.expired(task, now) if late else None


def _claimed(record: Any, lease_id: str) -> Claimed:
    id_, fence, *rest, _ = record[starting.ID :]
    return Claimed(id_, fence, lease_id, *rest)


def _announce(tx: Transaction, claimed: list[Claimed]) -> None:
    tx.events += [task.task_id for task in claimed]
    tx.count("started", [(task.type, task.lane) for task in claimed])


async def give_back(tx: Transaction, lease_id: str) -> None:
    """What an earlier try has taken whose answer was lost."""
    async with tx.connection.transaction():
        tasks = await changes.take(tx, _OF_LEASE, lease_id)
        pairs = [
            (task, lifecycle.settled(task, Drained(), tx.moment.last)) for task in tasks.values()
        ]
        await changes.save(tx, pairs, over=[lease_id])


_ADVANCE: Final = f"""
WITH soon AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS off
), r AS MATERIALIZED (
    SELECT g.lane, g.tenant, {STRIDE} / coalesce(u.weight, 1) AS stride,
        g.many * ({STRIDE} / coalesce(u.weight, 1)) AS spent, coalesce(l.latest, 0) AS latest
    FROM soon CROSS JOIN unnest($1::text[], $2::text[], $3::bigint[]) AS g (lane, tenant, many)
        LEFT JOIN rules AS u ON u.kind = 'tenant' AND u.name = g.tenant
        LEFT JOIN lane_turns AS l ON l.lane = g.lane
), moved AS (
    INSERT INTO turns AS t (lane, tenant, place, spent)
    SELECT lane, tenant, latest + spent, spent FROM r ORDER BY lane, tenant
    ON CONFLICT (lane, tenant) DO UPDATE SET spent = t.spent + excluded.spent,
        place = greatest(t.place + excluded.spent, excluded.place)
    RETURNING lane, tenant, place
)
INSERT INTO lane_turns AS l (lane, latest)
SELECT lane, max(moved.place - r.stride) FROM moved JOIN r USING (lane, tenant)
GROUP BY lane ORDER BY lane
ON CONFLICT (lane) DO UPDATE SET latest = greatest(l.latest, excluded.latest)"""
"""A lost one makes nothing worse than a turn more for somebody, so no disk is waited for."""


_FORGET: Final = f"""
DELETE FROM turns WHERE ctid = ANY(ARRAY(
    SELECT t.ctid FROM lane_turns AS l CROSS JOIN LATERAL (
        SELECT t.ctid FROM turns AS t WHERE t.lane = l.lane AND t.place < l.latest - {FORGOTTEN}
        ORDER BY t.place LIMIT 4 FOR UPDATE SKIP LOCKED) AS t
    WHERE l.lane = ANY($1::text[])))"""
"""Each claim forgets a few that have long been idle, so the table stays bounded."""


async def advance(tx: Transaction, taken: Counter[tuple[str, str]]) -> None:
    """The tenants of shared lanes move on by what each was given: (lane, tenant) and how many.

    Not in the claim's own transaction, where the claims of other workers would wait for its end.
    """
    rows = [(lane, tenant, many) for (lane, tenant), many in sorted(taken.items())]
    lanes, tenants, many = map(list, zip(*rows, strict=True))
    await tx.connection.execute(_ADVANCE, lanes, tenants, many)
    await tx.connection.execute(_FORGET, lanes)
