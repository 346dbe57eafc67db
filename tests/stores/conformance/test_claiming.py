"""Taking tasks from the pool."""

import asyncio
import threading
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from stagepost.outcome import Drained
from stagepost.records import Claimed
from stagepost.rules import Rule, RuleKind
from stagepost.task import Status
from support.tasks import failed, succeeded
from support.waiting import PATIENCE, until
from support.world import Hand, World, checkpoint, demand, standing


def ids(claims: list[Claimed]) -> list[str]:
    return [claimed.task_id for claimed in claims]


async def test_a_claim_has_all_that_a_worker_needs(world: World) -> None:
    task_id = await world.submit(input='{"page":7}', trace_id="trace", max_attempts=2)
    hand = await world.hand()
    world.clock.advance(3)
    (claimed,) = await world.claim()
    task = await world.task(task_id)
    assert claimed == Claimed(
        task_id, 1, claimed.lease_id, "acme", "ada", "review", "interactive", 1, 2,
        86_397_000, 0, None, 0, 0, 0, "trace", 2, '{"page":7}',
    )  # fmt: skip
    assert (task.status, task.fence, task.worker_id) == (Status.RUNNING, 1, hand.id)
    assert (task.started_at, task.pooled_at) == (world.clock.now(), None)
    assert task.lease == claimed.lease
    assert await world.kinds(task_id) == ["queued", "started"]
    assert await world.last(task_id) == {"attempt": 1}


async def test_an_empty_pool_gives_nothing(world: World) -> None:
    assert await world.claim(5) == []


async def test_a_lane_is_served_in_the_order_of_the_pool(world: World) -> None:
    submitted = []
    for _ in range(5):
        submitted.append(await world.submit())
        world.clock.advance(0.001)
    assert ids(await world.claim(2)) == submitted[:2]
    assert ids(await world.claim(10)) == submitted[2:]
    assert await world.claim(1) == []


async def test_priority_is_a_head_start_in_seconds(world: World) -> None:
    first = await world.submit()
    world.clock.advance(10)
    behind = await world.submit(priority=9)
    ahead = await world.submit(priority=11)
    late = await world.submit(priority=-5)
    assert ids(await world.claim(4)) == [ahead, first, behind, late]


async def test_lanes_are_served_by_weight(world: World) -> None:
    for _ in range(45):
        await asyncio.gather(world.submit(), world.submit(lane="batch"))
    hand = await world.worker({"interactive": 8, "batch": 1})
    lanes: Counter[str] = Counter()
    for slots in (1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 18):
        lanes.update(claimed.lane for claimed in await world.claim(slots, by=hand))
    assert lanes == {"interactive": 32, "batch": 4}
    # With nothing left in one lane the other has all.
    rest = await world.claim(100, by=hand)
    assert Counter(claimed.lane for claimed in rest) == {"interactive": 13, "batch": 41}


async def test_a_lanes_weight_is_changed_while_its_workers_run(world: World) -> None:
    for _ in range(20):
        await asyncio.gather(world.submit(), world.submit(lane="batch"))
    hand = await world.worker({"interactive": 3, "batch": 1})
    before = await world.claim(8, by=hand)
    assert Counter(claimed.lane for claimed in before) == {"interactive": 6, "batch": 2}
    await world.store.rules.put(Rule(RuleKind.LANE, "batch", weight=3))
    equal = await world.claim(8, by=hand)
    assert Counter(claimed.lane for claimed in equal) == {"interactive": 4, "batch": 4}
    await world.store.rules.put(Rule(RuleKind.LANE, "batch"))
    after = await world.claim(8, by=hand)
    assert Counter(claimed.lane for claimed in after) == {"interactive": 6, "batch": 2}


async def test_only_lanes_and_types_of_the_worker_are_taken(world: World) -> None:
    mine = await world.submit(type="review", lane="batch")
    await world.submit(type="translate", lane="batch")
    await world.submit(type="review", lane="interactive")
    hand = await world.worker({"batch": 1}, types=["review", "scan"])
    assert ids(await world.claim(9, by=hand)) == [mine]
    nobody = await world.worker({"batch": 1}, types=[])
    assert await world.claim(9, by=nobody) == []


async def test_a_task_is_claimed_once_however_many_ask(world: World) -> None:
    submitted = await asyncio.gather(*(world.submit() for _ in range(60)))
    hands = [await world.worker() for _ in range(6)]
    claims = await asyncio.gather(*(world.claim(15, by=hand) for hand in hands))
    taken = [task_id for claimed in claims for task_id in ids(claimed)]
    assert sorted(taken) == sorted(submitted)
    leases = {claimed.lease for many in claims for claimed in many}
    assert len(leases) == 60


async def test_an_unknown_worker_gets_nothing(world: World) -> None:
    task_id = await world.submit()
    hand = await world.worker()
    await world.store.retire(hand.id)
    assert await world.claim(by=hand) == []
    assert await world.status(task_id) is Status.QUEUED


async def test_a_claim_that_finds_only_late_tasks_looks_behind_them(world: World) -> None:
    soon = world.clock.now() + 1_000
    late = [await world.submit(deadline=soon) for _ in range(5)]
    in_time = await world.submit()
    world.clock.advance(1)
    (claimed,) = await world.claim(1)
    assert claimed.task_id == in_time
    for task_id in late:
        assert await world.kinds(task_id) == ["queued", "failed"]


async def test_late_tasks_do_not_change_the_order_of_those_claimed_with_them(world: World) -> None:
    # The turns are acme's, the other lane's and bolt's; each lane hands over by score.
    soon = world.clock.now() + 1_000
    await world.submit(tenant="bolt", priority=5, deadline=soon)
    second = await world.submit(tenant="acme")
    other_lane = await world.submit(tenant="acme", lane="batch")
    world.clock.advance(1)
    assert ids(await world.claim(3)) == [other_lane, second]


# Claims that wait


@pytest.mark.parametrize(
    "cause", ["submit", "due", "drained", "redrive", "rescue", "retire", "retry"]
)
async def test_a_waiting_claim_is_served_at_once(world: World, cause: str) -> None:
    causes = Causes(world)
    await causes.prepare(cause)
    hand = await world.worker()
    waiting = await standing(world.claim(3, by=hand, wait=60.0))
    task_id = await causes.bring(cause, hand)
    async with asyncio.timeout(PATIENCE):
        claimed = await waiting
    assert ids(claimed) == [task_id]
    kinds = await world.kinds(task_id)
    assert kinds[-2:] == ["redriven" if cause == "redrive" else "queued", "started"]


class Causes:
    """What brings a task into the pool."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.claimed: Claimed
        self.task_id = ""

    async def prepare(self, cause: str) -> None:
        match cause:
            case "due":
                self.task_id = await self.world.submit(delay=1.0)
            case "redrive":
                self.task_id = await self.world.settled(failed(None))
            case "retry":
                self.task_id = await self.world.settled(failed(1.0))
            case "drained" | "rescue" | "retire":
                self.claimed = await self.world.running()
                self.task_id = self.claimed.task_id

    async def bring(self, cause: str, living: Hand) -> str:
        world = self.world
        match cause:
            case "submit":
                return await world.submit()
            case "due" | "retry":
                world.clock.advance(1)
                assert await world.store.release_due(10) == 1
            case "redrive":
                await world.redrive(self.task_id)
            case "drained":
                await world.store.settle(self.claimed.lease, Drained())
            case "rescue":
                await world.store.checkpoint(self.claimed.lease, checkpoint())
                world.clock.advance(60)
                await world.store.beat(living.id, "running")
                await world.store.rescue(older_than=15)
            case "retire":
                await world.store.retire((await world.hand()).id)
        return self.task_id


async def test_a_waiting_claim_ends_empty(world: World) -> None:
    async with asyncio.timeout(PATIENCE):
        assert await world.claim(wait=0.05) == []


async def test_each_waiting_claim_has_its_own_patience(world: World) -> None:
    patient = await standing(world.claim(by=await world.worker(), wait=60.0))
    async with asyncio.timeout(PATIENCE):
        assert await world.claim(wait=0.05) == []
    assert not patient.done()
    task_id = await world.submit()
    assert ids(await patient) == [task_id]


async def test_waiting_claims_are_served_in_their_order(world: World) -> None:
    first = await standing(world.claim(2, wait=60.0))
    second = await standing(world.claim(2, by=await world.worker(), wait=60.0))
    one = await world.submit()
    assert ids(await first) == [one]
    other = await world.submit()
    assert ids(await second) == [other]


async def test_a_waiting_claim_of_other_lanes_sleeps_on(world: World) -> None:
    other = await standing(world.claim(by=await world.worker({"batch": 1}), wait=60.0))
    await world.submit()
    assert ids(await world.claim(1)) != []
    assert not other.done()
    expected = await world.submit(lane="batch")
    assert ids(await other) == [expected]


async def test_a_waiting_claim_of_a_worker_that_is_given_up_takes_nothing(world: World) -> None:
    waiting = await standing(world.claim(wait=0.3))
    await world.lose()
    task_id = await world.submit()
    async with asyncio.timeout(PATIENCE):
        assert await waiting == []
    assert await world.status(task_id) is Status.QUEUED


# Callers that go


async def gone(call: "asyncio.Task[object]") -> None:
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call


async def test_a_waiting_claim_whose_caller_has_gone_takes_nothing(world: World) -> None:
    await gone(await standing(world.claim(wait=60.0)))
    task_id = await world.submit()
    assert await world.kinds(task_id) == ["queued"]
    assert ids(await world.claim()) == [task_id]


async def test_what_was_claimed_for_a_caller_that_has_gone_is_never_lost(world: World) -> None:
    await world.hand()
    submitted = [await world.submit() for _ in range(40)]
    # Cancelled at different moments: before the intent is taken, while it is written, and after.
    calls: list[asyncio.Task[object]] = []
    for number in range(20):
        call: asyncio.Task[object] = asyncio.create_task(world.claim(2))
        calls.append(call)
        for _ in range(number % 5):
            await asyncio.sleep(0)
        if number % 3 == 0:
            await asyncio.sleep(0.0005)
        call.cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    kept = [claimed for answer in answers if isinstance(answer, list) for claimed in answer]
    left: list[Claimed] = []
    # A claim that nobody waits for any more may still be on its way there and back.
    async with asyncio.timeout(PATIENCE):
        while len(kept) + len(left) < 40:
            left += await world.claim(100, wait=0.05)
    assert sorted(ids(kept) + ids(left)) == sorted(submitted)
    for task_id in submitted:
        task = await world.task(task_id)
        assert (task.status, task.attempt, task.lost_claims) == (Status.RUNNING, 1, 0)


async def until_settled(world: World, queued: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while (await world.store.lanes(["interactive"]))[0].queued < queued:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_a_claim_whose_caller_is_cancelled_as_it_is_handed_over_is_given_back(
    world: World,
) -> None:
    task_id = await world.submit()
    call: Any = asyncio.create_task(world.store.claim(demand(await world.hand(), 5), wait=60.0))

    def handed_over() -> bool:
        # Done, and the caller has not been called yet.
        return call._fut_waiter is not None and call._fut_waiter.done()

    async with asyncio.timeout(PATIENCE):
        while not handed_over():  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until_settled(world, 1)
    assert ids(await world.claim()) == [task_id]
    assert (await world.task(task_id)).attempt == 1


@pytest.mark.parametrize("cancels", [True, False])
async def test_a_claim_from_a_loop_that_has_closed_is_given_back(
    world: World,
    cancels: bool,  # noqa: FBT001
) -> None:
    hand = await world.hand()
    loop = asyncio.new_event_loop()
    calls = []

    def leave() -> None:
        claim = world.store.claim(demand(hand, 5), wait=60.0)
        calls.append(loop.create_task(claim))
        loop.run_until_complete(asyncio.sleep(0.05))
        calls[0]._log_destroy_pending = False  # type: ignore[attr-defined]
        if cancels:
            calls[0].cancel()
        loop.close()

    await asyncio.to_thread(leave)
    task_id = await world.submit()
    await until_settled(world, 1)
    assert ids(await world.claim()) == [task_id]
    assert (await world.task(task_id)).attempt == 1


async def test_several_event_loops_use_one_store(world: World) -> None:
    done: list[str] = []

    async def produce_and_consume() -> None:
        hand = await world.worker({"interactive": 1}, name=threading.current_thread().name)
        submitted = await asyncio.gather(*(world.submit() for _ in range(25)))
        assert len(set(submitted)) == 25
        while len(done) < 100:
            for claimed in await world.claim(4, by=hand, wait=0.05):
                await world.store.settle(claimed.lease, succeeded())
                done.append(claimed.task_id)

    threads = [
        threading.Thread(target=lambda: asyncio.run(produce_and_consume())) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    await until(lambda: not any(thread.is_alive() for thread in threads))
    assert len(set(done)) == 100


async def test_turns_go_on_where_they_were(world: World) -> None:
    """One worker's turns are its own: another begins anew."""
    for _ in range(4):
        await asyncio.gather(world.submit(), world.submit(lane="batch"))
    one = await world.worker({"interactive": 1, "batch": 1})
    other = await world.worker({"interactive": 1, "batch": 1})
    taken = [(await world.claim(by=hand))[0].lane for hand in (one, other, one, other)]
    assert taken == ["interactive", "interactive", "batch", "batch"]
