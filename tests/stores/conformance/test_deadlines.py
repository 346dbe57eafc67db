"""Deadlines: of tasks that wait, of tasks in the pool, of tasks that run."""

import pytest

from stagepost.outcome import Drained
from stagepost.task import Status, Task
from support.tasks import failed, succeeded, waiting
from support.world import DAY, World, checkpoint


async def dead_of_its_deadline(world: World, task_id: str) -> Task:
    task = await world.task(task_id)
    assert (task.status, task.failure_kind) == (Status.DEAD_LETTER, "DEADLINE")
    assert task.ended_at == world.clock.now()
    assert (await world.kinds(task_id))[-1] == "failed"
    assert (await world.last(task_id))["failureKind"] == "DEADLINE"
    assert await world.claim(5) == []
    return task


async def test_a_pooled_task_past_an_explicit_deadline(world: World) -> None:
    task_id = await world.submit(deadline=world.clock.now() + 5_000)
    assert await world.store.expire_queued(10) == 0
    world.clock.advance(5)
    assert await world.store.expire_queued(10) == 1
    await dead_of_its_deadline(world, task_id)
    assert await world.store.expire_queued(10) == 0


async def test_a_pooled_task_past_the_default_deadline(world: World) -> None:
    task_id = await world.submit()
    world.clock.advance(DAY)
    assert await world.store.expire_queued(10) == 1
    await dead_of_its_deadline(world, task_id)


async def test_a_claim_takes_nothing_past_its_deadline(world: World) -> None:
    task_id = await world.submit(deadline=world.clock.now() + 5_000)
    world.clock.advance(5)
    assert await world.claim() == []
    await dead_of_its_deadline(world, task_id)


async def test_expiry_takes_at_most_its_limit_and_only_what_is_late(world: World) -> None:
    for seconds in (1, 2, 3, 60):
        await world.submit(deadline=world.clock.now() + seconds * 1_000)
    in_time = await world.submit()
    world.clock.advance(10)
    assert [await world.store.expire_queued(2) for _ in range(3)] == [2, 1, 0]
    assert len(await world.claim(10)) == 2
    assert await world.status(in_time) is Status.RUNNING


@pytest.mark.parametrize("status", [Status.PENDING, Status.FAILED, Status.WAITING])
async def test_a_task_with_a_time_past_an_explicit_deadline(world: World, status: Status) -> None:
    deadline = world.clock.now() + 5_000
    match status:
        case Status.PENDING:
            task_id = await world.submit(deadline=deadline, delay=60.0)
        case Status.FAILED:
            task_id = await world.settled(failed(60.0), deadline=deadline)
        case _:
            task_id = await world.settled(waiting(60.0), deadline=deadline)
    assert await world.status(task_id) is status
    world.clock.advance(5)
    assert await world.store.release_due(10) == 1
    task = await dead_of_its_deadline(world, task_id)
    assert (task.wait, task.waiting_since, task.due_at) == (None, None, None)


async def test_a_retry_past_the_default_deadline(world: World) -> None:
    task_id = await world.settled(failed(2 * DAY))
    world.clock.advance(DAY)
    assert await world.store.release_due(10) == 1
    await dead_of_its_deadline(world, task_id)


async def test_waiting_does_not_count_against_the_default_deadline(world: World) -> None:
    claimed = await world.running()
    world.clock.advance(DAY - 60)
    await world.store.settle(claimed.lease, waiting(3 * DAY))
    world.clock.advance(3 * DAY + 10)
    assert await world.store.release_due(10) == 1
    again = await world.reclaim(claimed.task_id)
    assert again.time_left == 60_000
    await world.store.settle(again.lease, Drained())
    world.clock.advance(60)
    assert await world.claim() == []
    await dead_of_its_deadline(world, claimed.task_id)


async def test_waiting_counts_against_an_explicit_deadline(world: World) -> None:
    deadline = world.clock.now() + 10_000
    claimed = await world.running(deadline=deadline)
    await world.store.settle(claimed.lease, waiting(5.0))
    world.clock.advance(5)
    await world.store.release_due(10)
    assert (await world.reclaim(claimed.task_id)).time_left == 5_000
    assert (await world.task(claimed.task_id)).deadline == deadline


async def test_a_running_task_is_left_to_its_executor(world: World) -> None:
    claimed = await world.running(deadline=world.clock.now() + 1_000)
    world.clock.advance(60)
    assert await world.store.expire_queued(10) == 0
    assert await world.store.release_due(10) == 0
    await world.store.settle(claimed.lease, succeeded())
    assert await world.status(claimed.task_id) is Status.COMPLETED


@pytest.mark.parametrize("saved", [True, False])
async def test_a_lost_claim_past_its_deadline(world: World, saved: bool) -> None:  # noqa: FBT001
    claimed = await world.running(deadline=world.clock.now() + 1_000)
    if saved:
        await world.store.checkpoint(claimed.lease, checkpoint())
    world.clock.advance(1)
    await world.lose()
    await dead_of_its_deadline(world, claimed.task_id)
    (record,) = await world.store.failures(claimed.task_id)
    assert record.kind == "DEADLINE"


async def test_a_redrive_past_an_explicit_deadline_gets_the_default_one(world: World) -> None:
    task_id = await world.submit(deadline=world.clock.now() + 1_000)
    world.clock.advance(1)
    await world.store.expire_queued(1)
    task = await world.redrive(task_id)
    assert (task.deadline, task.hard_deadline) == (world.clock.now() + 86_400_000, False)
    await world.reclaim(task_id)
