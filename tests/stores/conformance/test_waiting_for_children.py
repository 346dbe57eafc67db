"""Parents that wait for their children without a worker."""

import asyncio
import time

import pytest

from stagepost.outcome import Waiting
from stagepost.task import Status
from stagepost.waiting import ChildrenOver
from support.families import again, becomes, claim_children, let_wake, new_batch, page, spawned
from support.tasks import failed, succeeded
from support.world import World

OVER = ChildrenOver("page", "pages", stop=False)
STOP = ChildrenOver("page", "pages", stop=True)


async def test_a_parent_goes_on_once_all_its_children_have_settled(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 3)
    await world.store.settle(parent.lease, Waiting((OVER,)))
    claims = await claim_children(world, 3)
    for claim in claims[:2]:
        await world.store.settle(claim.lease, succeeded())
        await let_wake(world)
        assert await world.status(parent.task_id) is Status.WAITING
    await world.store.settle(claims[2].lease, failed(None))
    await becomes(world, parent.task_id, Status.QUEUED)
    assert await world.kinds(parent.task_id) == ["queued", "started", "waiting", "queued"]
    assert await world.last(parent.task_id) == {"reason": "woken"}


async def test_who_stops_at_a_failure_goes_on_at_the_first(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 3)
    await world.store.settle(parent.lease, Waiting((STOP,)))
    first, second, _ = await claim_children(world, 3)
    await world.store.settle(first.lease, succeeded())
    await let_wake(world)
    assert await world.status(parent.task_id) is Status.WAITING
    await world.cancel(second.task_id)
    await world.store.settle(second.lease, failed(None))
    await becomes(world, parent.task_id, Status.QUEUED)


async def test_a_wait_for_what_is_over_already_does_not_begin(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 1)
    (claim,) = await claim_children(world, 1)
    await world.store.settle(claim.lease, succeeded())
    await world.store.settle(parent.lease, Waiting((OVER,)))
    assert await world.status(parent.task_id) is Status.QUEUED
    assert await world.kinds(parent.task_id) == ["queued", "started", "queued"]


@pytest.mark.parametrize("key", [None, "k"])
async def test_a_claim_that_finds_the_last_child_too_late_lets_the_parent_go_on(
    world: World, key: str | None
) -> None:
    parent = await world.running(concurrency_key=key)
    await spawned(world, parent.lease, 1, type="review", ttl=60.0)
    await world.store.settle(parent.lease, Waiting((OVER,)))
    world.clock.advance(60)
    # It waits for a task, and the parent is the only one that can come.
    (claimed,) = await world.claim(wait=20.0)
    assert claimed.task_id == parent.task_id


async def test_a_batch_that_is_not_all_made_is_not_over(world: World) -> None:
    parent = await world.running()
    batch = new_batch()
    await world.store.children.spawn(parent.lease, page(batch, 1, last=False))
    (claim,) = await claim_children(world, 1)
    await world.store.settle(claim.lease, succeeded())
    await world.store.settle(parent.lease, Waiting((OVER,)))
    await let_wake(world)
    assert await world.status(parent.task_id) is Status.WAITING


async def test_children_that_end_while_their_parent_begins_to_wait_wake_it(world: World) -> None:
    hand = await world.worker()
    for _ in range(30):
        parent = await world.running(by=hand)
        await spawned(world, parent.lease, 4)
        claims = await claim_children(world, 4)
        *early, last = [world.store.settle(claim.lease, succeeded()) for claim in claims]
        await asyncio.gather(*early, world.store.settle(parent.lease, Waiting((OVER,))), last)
        await becomes(world, parent.task_id, Status.QUEUED)
        (woken,) = await world.claim(by=hand)
        assert woken.task_id == parent.task_id
        await world.store.settle(woken.lease, succeeded())


async def test_children_that_end_together_wake_their_parent_once(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 200)
    await world.store.settle(parent.lease, Waiting((OVER,)))
    claims = await claim_children(world, 200)
    await asyncio.gather(*(world.store.settle(claim.lease, succeeded()) for claim in claims))
    await becomes(world, parent.task_id, Status.QUEUED)
    assert await world.kinds(parent.task_id) == ["queued", "started", "waiting", "queued"]


async def test_a_child_of_a_child_wakes_its_own_parent_alone(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 1)
    await world.store.settle(parent.lease, Waiting((OVER,)))
    (child,) = await claim_children(world, 1)
    await spawned(world, child.lease, 1, type="line")
    await world.store.settle(child.lease, Waiting((OVER,)))
    (line,) = await claim_children(world, 1, "line")
    await world.store.settle(line.lease, succeeded())
    await becomes(world, child.task_id, Status.QUEUED)
    assert await world.status(parent.task_id) is Status.WAITING


async def test_a_parents_progress_is_the_share_of_its_children_that_have_settled(
    world: World,
) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 4, low=10, high=90, message="{n} of {total} pages")
    await world.store.settle(parent.lease, Waiting((OVER,)))
    claims = await claim_children(world, 4)
    for number, claim in enumerate(claims[:3], 1):
        await world.store.settle(claim.lease, succeeded())
        await reaches(world, parent.task_id, 10 + 20 * number)
        world.clock.advance(0.3)
    task = await world.task(parent.task_id)
    assert task.step == "3 of 4 pages"
    kinds = await world.kinds(parent.task_id)
    assert kinds == ["queued", "started", "waiting", "progress", "progress", "progress"]


async def test_a_parents_progress_is_told_four_times_a_second_at_most(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 50, low=0, high=100)
    await world.store.settle(parent.lease, Waiting((OVER,)))
    for claim in (await claim_children(world, 50))[:49]:
        await world.store.settle(claim.lease, succeeded())
        await let_wake(world)
    assert (await world.kinds(parent.task_id)).count("progress") <= 1
    world.clock.advance(0.3)
    # What was held back is told a moment later.
    await reaches(world, parent.task_id, 98)
    assert (await world.kinds(parent.task_id)).count("progress") <= 2


async def reaches(world: World, task_id: str, percent: int) -> None:
    """Wait, at most 10 s, until a task is so far."""
    limit = time.monotonic() + 10
    await let_wake(world)
    while (await world.task(task_id)).progress < percent:
        assert time.monotonic() < limit, f"the task has not reached {percent} %"
        await asyncio.sleep(0.02)
        await let_wake(world)
    assert (await world.task(task_id)).progress == percent


@pytest.mark.parametrize("end", ["cancel", "deadline"])
async def test_a_waiting_parent_that_ends_otherwise_is_woken_no_more(
    world: World, end: str
) -> None:
    deadline = world.clock.now() + 5_000
    parent = await world.running(deadline=deadline)
    await spawned(world, parent.lease, 1, detached=True)
    await world.store.settle(parent.lease, Waiting((OVER,)))
    (child,) = await claim_children(world, 1)
    if end == "cancel":
        await world.cancel(parent.task_id)
    else:
        world.clock.advance(6)
        await world.store.release_due(10)
    kinds = await world.kinds(parent.task_id)
    await world.store.settle(child.lease, succeeded())
    await let_wake(world)
    assert await world.kinds(parent.task_id) == kinds
    batch = await again(world, "pages", parent.task_id)
    assert batch.left == 0


async def test_a_redriven_parent_waits_for_its_redriven_children(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 1)
    (child,) = await claim_children(world, 1)
    await world.store.settle(child.lease, failed(None))
    await world.store.settle(parent.lease, failed(None))
    await world.redrive(parent.task_id)
    claim = await world.reclaim(parent.task_id)
    await world.store.settle(claim.lease, Waiting((STOP,)))
    assert await world.status(parent.task_id) is Status.WAITING
    (child,) = await claim_children(world, 1)
    await world.store.settle(child.lease, succeeded())
    await becomes(world, parent.task_id, Status.QUEUED)


async def test_notes_survive_a_restart(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 1)
    await world.store.settle(parent.lease, Waiting((OVER,)))
    (child,) = await claim_children(world, 1)
    await world.store.settle(child.lease, succeeded())
    await world.reopen()
    await becomes(world, parent.task_id, Status.QUEUED)
