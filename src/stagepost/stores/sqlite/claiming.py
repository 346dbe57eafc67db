"""Taking tasks from the pool: what is ready is found queue by queue, then chosen, then started.

The pool is kept by lane, tenant and type, so one look-up leads from each queue to the next: a
backlog of a type that the worker does not have, or of a tenant that has reached its limit, costs
that one look-up however long it is.
"""

from collections.abc import Sequence
from typing import Final

import orjson
from uuid_utils import uuid7

from stagepost import lifecycle
from stagepost.records import Claimed, Demand
from stagepost.rules import NO_RULES, Rules
from stagepost.stores import choosing
from stagepost.stores.choosing import Queue, Room, Row, Standing
from stagepost.stores.rows import json
from stagepost.stores.sqlite import changes, keyed, queues, ruling
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.versions import own_versions, pool_types

_LATE_ROUNDS: Final = 32
"""Tries to find one that is not past its deadline; what then is left is `expire_queued`'s."""

_FEWEST_QUEUES: Final = 64
"""Queues looked at in a lane by one claim, at least; the next claim goes on behind them."""

_CANDIDATES: Final = """
SELECT json_group_array(json_array(?1, ?2, ?3, score, task_id, deadline)) FROM (
    SELECT score, task_id, deadline FROM pool WHERE lane = ?1 AND tenant = ?2 AND type = ?3
    ORDER BY score, task_id LIMIT ?4)"""

_LATEST: Final = "SELECT latest FROM lane_turns WHERE lane = ?1"
_PLACE: Final = "SELECT place FROM turns WHERE lane = ?1 AND tenant = ?2"
_ADVANCE: Final = """
INSERT INTO turns (lane, tenant, place, spent) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET place = excluded.place, spent = spent + excluded.spent"""
_ADVANCE_LANE: Final = """
INSERT INTO lane_turns (lane, latest) VALUES (?1, ?2)
ON CONFLICT DO UPDATE SET latest = excluded.latest"""

_FORGET: Final = """
DELETE FROM turns WHERE (lane, tenant) IN (
    SELECT lane, tenant FROM turns WHERE lane = ?1 AND place < ?2 ORDER BY place LIMIT 4)"""
"""Each claim forgets a few that have long been idle, so the table stays bounded."""

_LEAVE_POOL: Final = """
DELETE FROM pool
WHERE lane = ?1 AND tenant = ?2 AND type = ?3 AND (score, task_id) <= (?4, ?5)"""
"""What is chosen of a queue are its first rows, up to the last one chosen."""

_CLAIM: Final = """
UPDATE tasks SET status = 'RUNNING', fence = fence + 1, lease_id = ?2, worker_id = ?3,
    pooled_at = NULL, started_at = coalesce(started_at, ?4), seq = seq + 1,
    code_version = coalesce(nullif(code_version, 0), ?5 ->> tasks.type)
FROM json_each(?1) AS j WHERE tasks.id = j.value AND tasks.status = 'QUEUED'"""

_STARTED_EVENTS: Final = """
INSERT INTO events (task_id, seq, kind, data, at)
SELECT t.id, t.seq, 'started', '{"attempt":' || t.attempt || '}', ?3
FROM json_each(?1) AS j CROSS JOIN tasks AS t ON t.id = j.value AND t.lease_id = ?2"""

_CLAIMED: Final = """
SELECT json_group_array(json_array(t.id, t.fence, t.lease_id, t.tenant, t.user, t.type, t.lane,
    t.attempt, t.max_attempts, t.deadline - ?3, t.progress, t.step, t.saved_steps, t.lost_claims,
    t.waits, t.trace_id, t.seq,
    coalesce(t.input, (SELECT body FROM inputs WHERE task_id = t.id)), t.code_version,
    t.upload_bytes, ?3 - t.started_at))
FROM json_each(?1) AS j CROSS JOIN tasks AS t ON t.id = j.value AND t.lease_id = ?2"""


class Claiming:
    """The verb `claim`, and the rules as it read them last."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._rules: Rules = NO_RULES

    def claim(self, tx: Transaction, arguments: list[Demand]) -> Sequence[Sequence[Claimed]]:
        """Tasks for workers, one after the other: each changes what the next may take."""
        version = tx.value(ruling.VERSION)
        if version != self._version:
            self._rules, self._version = ruling.all_of(tx.connection), version
        for demand in arguments:
            demand.turns.weigh(self._rules.lane_weights)
        return [self._claim_one(tx, demand) for demand in arguments]

    def _claim_one(self, tx: Transaction, demand: Demand) -> Sequence[Claimed]:
        if tx.row("SELECT 1 FROM workers WHERE id = ?", (demand.worker_id,)) is None:
            return ()
        for _ in range(_LATE_ROUNDS):
            chosen = choosing.by_score(self._choose(tx, demand))
            if not chosen:
                return ()
            for queue, last in {tuple(row[:3]): row for row in chosen}.items():
                tx.execute(_LEAVE_POOL, (*queue, last[3], last[4]))
            in_time = _in_time(tx, chosen)
            if in_time:
                return _start(tx, json([row[4] for row in in_time]), demand)
        return ()

    def _choose(self, tx: Transaction, demand: Demand) -> list[Row]:
        room = self._room(tx, demand)
        ready = [queue for lane in demand.turns.lanes for queue in _queues(tx, lane, demand)]
        wanted = choosing.reads(ready, pool_types(demand), demand.slots, room)
        tx.held_back |= room is not None and len(wanted) < len(ready)
        rows: dict[Queue, list[Row]] = {
            queue: orjson.loads(tx.value(_CANDIDATES, (*queue, most)))
            for queue, most in wanted.items()
        }
        shared = choosing.shared_lanes(wanted)
        standings = {lane: _standing(tx, lane, tenants) for lane, tenants in shared.items()}
        weights = self._weights(shared)
        ordered = choosing.in_fair_order(rows, standings, weights)
        admits = None if room is None else room.admits
        chosen = demand.turns.choose(ordered, demand.slots, admits)
        for lane, taken in choosing.taken_by_tenant(chosen).items() if shared else ():
            if lane in standings:
                standings[lane].advance(taken, weights)
                _keep(tx, lane, standings[lane], taken, weights)
        return chosen

    def _room(self, tx: Transaction, demand: Demand) -> Room | None:
        counts = self._rules.limit or demand.limits
        running = ruling.running(tx.connection) if counts else []
        return choosing.room_for(self._rules, demand.limits, running)

    def _weights(self, shared: dict[str, set[str]]) -> dict[str, int]:
        return {
            tenant: self._rules.weight(tenant) for tenants in shared.values() for tenant in tenants
        }


def _queues(tx: Transaction, lane: str, demand: Demand) -> list[Queue]:
    """The queues of a lane, or as many as one claim looks at."""
    most = max(_FEWEST_QUEUES, choosing.READS_PER_SLOT * demand.slots)
    windows = demand.turns.windows
    start = windows.pop(lane, ("", ""))
    found = queues.behind(tx.connection, lane, start, most)
    if len(found) < most and start != ("", ""):
        seen = frozenset(found)
        round_again = queues.behind(tx.connection, lane, ("", ""), most - len(found))
        found += [queue for queue in round_again if queue not in seen]
    elif len(found) == most:
        windows[lane] = found[-1][1:]
    return found


def _standing(tx: Transaction, lane: str, tenants: set[str]) -> Standing:
    latest = tx.row(_LATEST, (lane,))
    standing = Standing(0 if latest is None else latest[0])
    for tenant in tenants:
        place = tx.row(_PLACE, (lane, tenant))
        if place is not None:
            standing.places[tenant] = place[0]
    return standing


def _keep(
    tx: Transaction, lane: str, standing: Standing, taken: dict[str, int], weights: dict[str, int]
) -> None:
    for tenant, many in taken.items():
        spent = many * choosing.STRIDE // weights[tenant]
        tx.execute(_ADVANCE, (lane, tenant, standing.places[tenant], spent))
    tx.execute(_ADVANCE_LANE, (lane, standing.latest))
    tx.execute(_FORGET, (lane, standing.latest - choosing.FORGOTTEN))


def _in_time(tx: Transaction, chosen: list[Row]) -> list[Row]:
    late = [row[4] for row in chosen if row[5] <= tx.now]
    if not late:
        return chosen
    changes.apply_each(tx, late, lifecycle.expired)
    keyed.hand_over(tx)
    return [row for row in chosen if row[5] > tx.now]


def _start(tx: Transaction, ids: str, demand: Demand) -> Sequence[Claimed]:
    lease_id = str(uuid7())
    own = json(dict(zip(demand.types, own_versions(demand), strict=True)))
    tx.execute(_CLAIM, (ids, lease_id, demand.worker_id, tx.now, own))
    tx.execute(_STARTED_EVENTS, (ids, lease_id, tx.now))
    found = orjson.loads(tx.value(_CLAIMED, (ids, lease_id, tx.now)))
    claimed = list(map(Claimed._make, found))
    tx.events += [claim.task_id for claim in claimed]
    places = {claim.task_id: (claim.type, claim.lane) for claim in claimed}
    tx.count("started", places.values())
    tx.running.update(places)
    return claimed
