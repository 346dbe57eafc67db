"""A late writer is refused, whatever it writes."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from stagepost.errors import LeaseLost
from stagepost.task import Lease, Status
from support.fences import SCENARIOS, WRITES, Write, artifact
from support.tasks import succeeded
from support.world import World, checkpoint, new_id, note, refused


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_stale_writer_is_refused(
    world: World, scenario: Callable[[World, Write], Awaitable[None]], write: Write
) -> None:
    await scenario(world, write)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_task_that_never_was_is_refused(world: World, write: Write) -> None:
    await refused(write(world, Lease(new_id(), 1, new_id())), LeaseLost)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_stale_writer_harms_nobody_in_its_batch(world: World, write: Write) -> None:
    stale = await world.running()
    await world.store.checkpoint(stale.lease, checkpoint())
    await world.lose()
    await world.reclaim(stale.task_id)
    neighbours = [await world.running() for _ in range(3)]
    answers = await asyncio.gather(
        write(world, neighbours[0].lease),
        write(world, stale.lease),
        write(world, neighbours[1].lease),
        write(world, neighbours[2].lease),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [type(None), LeaseLost, type(None), type(None)]


async def test_of_two_ends_of_one_claim_in_one_batch_the_first_counts(world: World) -> None:
    claimed = await world.running()
    answers = await asyncio.gather(
        world.store.settle(claimed.lease, succeeded('"one"'), note(10, "one")),
        world.store.settle(claimed.lease, succeeded('"two"'), note(90, "two")),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [type(None), LeaseLost]
    view = await world.view(claimed.task_id)
    assert view.result == succeeded('"one"').result
    assert view.task.step == "one"
    assert await world.kinds(claimed.task_id) == ["queued", "started", "progress", "completed"]


async def test_what_was_begun_before_the_end_is_not_refused_for_it(world: World) -> None:
    claimed = await world.running()
    store, lease = world.store, claimed.lease
    await asyncio.gather(
        store.progress(lease, note(20)),
        store.checkpoint(lease, checkpoint()),
        store.attach(lease, artifact()),
        store.settle(lease, succeeded()),
    )
    assert await world.kinds(claimed.task_id) == [
        "queued", "started", "progress", "step", "completed",
    ]  # fmt: skip
    assert await world.status(claimed.task_id) is Status.COMPLETED
    assert len(await store.artifacts(claimed.task_id)) == 1


async def test_of_two_rescuers_with_one_snapshot_one_wins(world: World) -> None:
    claimed = await world.running()
    rescues = await asyncio.gather(*(world.store.rescue(older_than=0) for _ in range(5)))
    assert sorted(len(rescue.tasks) for rescue in rescues) == [0, 0, 0, 0, 1]
    assert await world.kinds(claimed.task_id) == ["queued", "started", "retrying"]
