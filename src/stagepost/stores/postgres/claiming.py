"""Taking tasks from the pool, in one statement; and the claims that wait for something to take."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from uuid_utils import uuid7

from stagepost import lifecycle
from stagepost.choice import LaneTurns
from stagepost.errors import StoreUnavailable
from stagepost.lifecycle import Change
from stagepost.outcome import Drained
from stagepost.records import Claimed, Demand
from stagepost.stores.postgres import changes, refusals
from stagepost.stores.postgres.answers import CLOSING, Answers, Bell, Intent
from stagepost.stores.postgres.rows import MS
from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import Status, Task
from stagepost.versions import own_versions, pool_types

_log = logging.getLogger("stagepost.store")

_LATE_ROUNDS: Final = 32
"""Tries to find one that is not past its deadline; what then is left is `expire_queued`'s."""

MOST: Final = 1_000
"""Tasks of one claim; a worker with more free slots asks again."""

_CLAIM: Final = f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), turn AS MATERIALIZED (
    SELECT t.* FROM unnest($4::text[], $5::bigint[], $6::bigint[])
        WITH ORDINALITY AS t (lane, place, stride, no)
    WHERE EXISTS (SELECT 1 FROM workers WHERE id = $2::uuid)
), share AS MATERIALIZED (
    -- Whose turn it is, as `LaneTurns` has it: the lane furthest behind is next, again and again.
    SELECT lane, no, count(*) AS many FROM (
        SELECT turn.lane, turn.no FROM turn CROSS JOIN LATERAL (
            SELECT row_number() OVER () AS nth FROM (
                SELECT 1 FROM pool AS p WHERE p.lane = turn.lane AND p.type = ANY($7::text[])
                ORDER BY p.score, p.task_id LIMIT $8::integer) AS ready) AS ready
        ORDER BY turn.place + turn.stride * (ready.nth - 1), turn.no LIMIT $8::integer) AS turns
    GROUP BY lane, no
), chosen AS MATERIALIZED (
    SELECT c.* FROM share CROSS JOIN LATERAL (
        SELECT p.ctid AS place, p.lane, p.score, p.task_id, p.deadline FROM pool AS p
        WHERE p.lane = share.lane AND p.type = ANY($7::text[])
        ORDER BY p.score, p.task_id LIMIT share.many FOR UPDATE SKIP LOCKED) AS c
), gone AS (
    DELETE FROM pool WHERE ctid = ANY(ARRAY(SELECT place FROM chosen, n WHERE deadline > n.ms))
    RETURNING task_id, lane, score
), started AS (
    UPDATE tasks AS t SET status = 'RUNNING', fence = t.fence + 1, lease_id = $3::uuid,
        worker_id = $2::uuid, pooled_at = NULL, started_at = coalesce(t.started_at, n.ms),
        seq = t.seq + 1, code_version = coalesce(nullif(t.code_version, 0),
            ($10::integer[])[array_position($9::text[], t.type)])
    FROM gone, n WHERE t.id = gone.task_id AND t.status = 'QUEUED'
    RETURNING gone.lane AS from_lane, gone.score, t.id, t.fence, t.tenant, t."user", t.type, t.lane,
        t.attempt, t.max_attempts, t.deadline - n.ms AS time_left, t.progress, t.step,
        t.saved_steps, t.lost_claims, t.waits, t.trace_id, t.seq, t.input,
        t.code_version, t.upload_bytes, n.ms - t.started_at AS age
), told AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT id, seq, 'started', '{{"attempt":' || attempt || '}}', n.ms FROM started, n
), noted AS (
    INSERT INTO claims (lease_id, worker_id, tasks)
    SELECT $3::uuid, $2::uuid, array_agg(id) FROM started HAVING count(*) > 0
)
SELECT n.ms, (SELECT count(*) FROM chosen) AS chosen, found.*
FROM n LEFT JOIN (
    SELECT false AS late, started.* FROM started UNION ALL
    SELECT true, lane, score, task_id, {", ".join(["NULL"] * 19)} FROM chosen, n
    WHERE deadline <= n.ms) AS found ON true
ORDER BY found.score, found.id"""
"""What is chosen but neither started nor late had left the pool before: it is passed over."""

_OF_LEASE: Final = f"""{changes.LOCKED} t.id = ANY(ARRAY(
        SELECT unnest(tasks) FROM claims WHERE lease_id = $2::uuid))
    AND t.lease_id = $2::uuid AND t.status = 'RUNNING' ORDER BY t.id FOR UPDATE OF t"""


async def claim(tx: Transaction, demand: Demand, lease_id: str) -> Sequence[Claimed]:
    """Tasks for a worker, each with this lease."""
    if tx.again:
        await give_back(tx, lease_id)
    standing = demand.turns.standing()
    slots = min(demand.slots, MOST)
    row = (
        demand.worker_id, lease_id, *map(list, zip(*standing, strict=True)),
        pool_types(demand), slots, list(demand.types), own_versions(demand),
    )  # fmt: skip
    for _ in range(_LATE_ROUNDS):
        found = await tx.connection.fetch(_CLAIM, tx.moment.last, *row)
        tx.moment.saw(found[0][0])
        if not found[0][1]:
            return ()
        in_time = await _in_time(tx, _in_turn(demand.turns, found, slots))
        claimed = [_claimed(record, lease_id) for record in in_time]
        if claimed:
            _announce(tx, claimed)
            return claimed
    return ()


def _in_turn(turns: LaneTurns, found: list[Any], slots: int) -> list[Any]:
    available: dict[str, list[Any]] = {}
    for record in found:
        if record[5] is not None:
            available.setdefault(record[3], []).append(record)
    return turns.choose(available, slots)


async def _in_time(tx: Transaction, chosen: list[Any]) -> list[Any]:
    late = [str(record[5]) for record in chosen if record[2]]
    if not late:
        return chosen
    async with tx.connection.transaction():
        tasks = await changes.lock(tx, late)
        await changes.change_each(tx, tasks.values(), expired_if_queued)
    return [record for record in chosen if not record[2]]


def expired_if_queued(task: Task, now: int) -> Change | None:
    """What happens to a pooled task past its deadline."""
    late = task.status is Status.QUEUED and task.deadline <= now
    return lifecycle.expired(task, now) if late else None


def _claimed(record: Any, lease_id: str) -> Claimed:
    id_, fence, *rest = record[5:]
    return Claimed(str(id_), fence, lease_id, *rest)


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


@dataclass(slots=True, eq=False)
class _Wish(Intent):
    until: float = 0.0
    """The monotonic time up to which an empty answer is held back."""


class Claims:
    """The loop that serves claims, in their order.

    A claim that finds nothing waits, and is tried again when something has come into the pool: at
    once if it came from here or `wake` says so, and within `SWEEP` seconds in any case. `serve`
    is given a demand and the lease of what it takes.
    """

    SWEEP: Final = 1.0

    def __init__(
        self,
        home: asyncio.AbstractEventLoop,
        serve: Callable[[Demand, str], Any],
        answers: Answers,
    ) -> None:
        self._home = home
        self._serve = serve
        self._answers = answers
        self._arrived: deque[_Wish] = deque()
        self._standing: list[_Wish] = []
        self._bell = Bell(home)
        self._pooled = False
        self._closing = False
        self._loop = home.create_task(self._run(), name="store-claims")

    def put(self, demand: Demand, wait: float) -> "asyncio.Future[Any]":
        """Queue a claim; the future has what it took."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if self._closing:
            future.set_exception(StoreUnavailable(CLOSING))
            return future
        self._arrived.append(_Wish(demand, 0, future, time.monotonic() + wait if wait else 0.0))
        self._bell.ring(at_home=loop is self._home)
        return future

    def wake(self) -> None:
        """Something has come into the pool."""
        self._pooled = True
        if self._standing or self._arrived:
            self._bell.ring(at_home=True)

    async def close(self) -> None:
        """End the loop; what waits is answered with nothing."""
        self._closing = True
        self._bell.ring(at_home=True)
        await self._loop
        left = [*self._standing, *self._arrived]
        self._standing = []
        self._arrived.clear()
        self._answers.give([(wish, ()) for wish in left])

    async def _run(self) -> None:
        while not self._closing:
            await self._bell.heard(self._patience())
            await self._serve_all()

    def _patience(self) -> float | None:
        if not self._standing:
            return None
        ends = min(wish.until for wish in self._standing) - time.monotonic()
        return max(0.0, min(ends, self.SWEEP))

    async def _serve_all(self) -> None:
        new = {id(wish) for wish in self._arrived}
        wishes = [*self._standing, *self._arrived]
        self._arrived.clear()
        all_of_them = self._pooled or not new
        self._pooled = False
        self._standing = [wish for wish in wishes if not wish.abandoned]
        for wish in list(self._standing):
            served = all_of_them or id(wish) in new
            found = await self._try(wish) if served and not wish.abandoned else ()
            if found or wish.until <= time.monotonic():
                self._standing.remove(wish)
                self._answers.give([(wish, found)])

    async def _try(self, wish: _Wish) -> Any:
        try:
            return await self._serve(wish.argument, str(uuid7()))
        except Exception as error:  # noqa: BLE001  # the loop must outlive any claim
            told = refusals.refusal(error)
            _log.warning("a claim was refused: %s", told)
            return told
