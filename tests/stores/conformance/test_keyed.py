"""Tasks with a concurrency key: of a tenant one runs at once, or as many as its rule says."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from stagepost.failure import FailureKind
from stagepost.outcome import Drained
from stagepost.records import Claimed
from stagepost.rules import Rule, RuleKind
from stagepost.task import Status
from support.tasks import failed, succeeded, waiting
from support.waiting import PATIENCE
from support.world import World, standing


def ids(claims: list[Claimed]) -> list[str]:
    return [claimed.task_id for claimed in claims]


async def line(world: World, many: int, **changes: object) -> list[str]:
    """Tasks of one key, one after the other."""
    return [await world.submit(concurrency_key="doc-7", **changes) for _ in range(many)]


async def test_one_of_a_key_runs_at_once_in_their_order(world: World) -> None:
    submitted = await line(world, 4)
    for task_id in submitted:
        (claimed,) = await world.claim(9)
        assert claimed.task_id == task_id
        assert await world.claim(9) == []
        await world.store.settle(claimed.lease, succeeded())
    assert await world.claim(9) == []


async def test_keys_of_two_tenants_and_two_keys_of_one_are_apart(world: World) -> None:
    first = (await line(world, 2))[0]
    second = (await line(world, 2, tenant="bolt"))[0]
    third = await world.submit(concurrency_key="doc-8")
    fourth = await world.submit()
    assert sorted(ids(await world.claim(9))) == sorted([first, second, third, fourth])


async def test_a_key_goes_over_types_and_lanes(world: World) -> None:
    first = await world.submit(concurrency_key="k", type="translate", lane="batch")
    await world.submit(concurrency_key="k")
    hand = await world.worker(types=["review", "translate"])
    assert ids(await world.claim(9, by=hand)) == [first]


async def test_a_head_start_counts_among_the_blocked(world: World) -> None:
    claimed = await world.running(concurrency_key="k")
    await world.submit(concurrency_key="k")
    ahead = await world.submit(concurrency_key="k", priority=60)
    await world.store.settle(claimed.lease, succeeded())
    assert ids(await world.claim(9)) == [ahead]


@pytest.mark.parametrize("outcome", [succeeded(), failed(5.0), failed(None), waiting(60.0)])
async def test_every_end_hands_the_key_over(world: World, outcome: object) -> None:
    claimed = await world.running(concurrency_key="k")
    after = await world.submit(concurrency_key="k")
    await world.store.settle(claimed.lease, outcome)  # type: ignore[arg-type]
    assert ids(await world.claim(9)) == [after]


async def test_what_is_given_back_keeps_its_key(world: World) -> None:
    claimed = await world.running(concurrency_key="k")
    await world.submit(concurrency_key="k", priority=600)
    await world.store.settle(claimed.lease, Drained())
    assert ids(await world.claim(9)) == [claimed.task_id]


async def test_what_comes_back_waits_for_its_key(world: World) -> None:
    claimed = await world.running(concurrency_key="k")
    await world.store.settle(claimed.lease, failed(5.0))
    other = await world.running(concurrency_key="k")
    world.clock.advance(6)
    await world.store.release_due(10)
    assert await world.status(claimed.task_id) is Status.QUEUED
    assert await world.claim(9) == []
    await world.store.settle(other.lease, succeeded())
    assert ids(await world.claim(9)) == [claimed.task_id]


async def cancel(world: World, task_id: str) -> None:
    await world.cancel(task_id)


async def lose(world: World, task_id: str) -> None:
    await world.lose()


@pytest.mark.parametrize("leave", [cancel, lose])
async def test_a_holder_that_is_gone_hands_the_key_over(
    world: World, leave: Callable[[World, str], Awaitable[None]]
) -> None:
    first, second = await line(world, 2)
    if leave is lose:
        await world.claim(1)
    await leave(world, first)
    assert ids(await world.claim(9)) == [second]


async def test_a_blocked_task_can_be_cancelled(world: World) -> None:
    first, second, third = await line(world, 3)
    assert (await world.cancel(second)).status is Status.CANCELLED
    (claimed,) = await world.claim(9)
    await world.store.settle(claimed.lease, succeeded())
    assert (claimed.task_id, ids(await world.claim(9))) == (first, [third])


@pytest.mark.parametrize("explicit", [True, False])
async def test_a_blocked_task_has_its_deadline(world: World, explicit: bool) -> None:  # noqa: FBT001
    await world.running(concurrency_key="k")
    soon = {"deadline": world.clock.now() + 90_000} if explicit else {"ttl": 90.0}
    blocked = await world.submit(concurrency_key="k", **soon)
    world.clock.advance(91)
    assert await world.store.expire_queued(10) == 1
    task = await world.task(blocked)
    assert (task.status, task.failure_kind) == (Status.DEAD_LETTER, FailureKind.DEADLINE)


async def test_a_redriven_task_gets_in_line(world: World) -> None:
    dead = await world.settled(failed(None), concurrency_key="k")
    running = await world.running(concurrency_key="k")
    await world.redrive(dead)
    assert await world.claim(9) == []
    await world.store.settle(running.lease, succeeded())
    assert ids(await world.claim(9)) == [dead]


async def test_blocked_tasks_count_as_queued(world: World) -> None:
    await line(world, 3)
    (lane,) = await world.store.lanes(["interactive"])
    assert lane.queued == 3


async def test_a_blocked_task_says_so(world: World) -> None:
    first, second = await line(world, 2)
    free = await world.submit()

    async def blocked() -> list[bool]:
        return [(await world.view(task_id)).blocked for task_id in (first, second, free)]

    assert await blocked() == [False, True, False]
    (running, _) = await world.claim(9)
    assert await blocked() == [False, True, False]
    await world.store.settle(running.lease, succeeded())
    assert await blocked() == [False, False, False]


async def test_a_tenants_rule_lets_more_of_a_key_run(world: World) -> None:
    submitted = await line(world, 5)
    assert len(await world.claim(9)) == 1
    await world.store.rules.put(Rule(RuleKind.TENANT, "acme", key_concurrency=3))
    claims = await world.claim(9)
    assert ids(claims) == submitted[1:3]
    await world.store.rules.put(Rule(RuleKind.TENANT, "acme"))
    await world.store.settle(claims[0].lease, succeeded())
    assert await world.claim(9) == []


async def test_a_waiting_claim_is_served_when_a_key_is_free(world: World) -> None:
    claimed = await world.running(concurrency_key="k")
    after = await world.submit(concurrency_key="k")
    claim = await standing(world.claim(wait=60.0))
    await world.store.settle(claimed.lease, succeeded())
    async with asyncio.timeout(PATIENCE):
        assert ids(await claim) == [after]


async def test_a_restart_keeps_who_holds_what(world: World) -> None:
    first, second = await line(world, 2)
    (claimed,) = await world.claim(9)
    await world.reopen()
    assert await world.claim(9) == []
    await world.store.settle(claimed.lease, succeeded())
    assert (claimed.task_id, ids(await world.claim(9))) == (first, [second])


async def test_a_large_line_of_one_key_is_not_in_the_way(world: World) -> None:
    await asyncio.gather(*(world.submit(concurrency_key="k") for _ in range(500)))
    free = [await world.submit() for _ in range(5)]
    taken = ids(await world.claim(9))
    assert len(taken) == 6
    assert set(free) <= set(taken)


async def test_many_at_once_run_one_by_one(world: World) -> None:
    running: list[str] = []
    done: set[str] = set()

    async def work() -> None:
        hand = await world.worker()
        while len(done) < 40:
            for claim in await world.claim(5, by=hand):
                running.append(claim.task_id)
                assert len(running) == 1
                await asyncio.sleep(0)
                running.clear()
                await world.store.settle(claim.lease, succeeded())
                done.add(claim.task_id)
            await asyncio.sleep(0)

    async def submit() -> None:
        for _ in range(10):
            await line(world, 1)

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(submit() for _ in range(4)), *(work() for _ in range(4)))
