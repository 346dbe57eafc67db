"""Runs of schedules that a quota refuses: they wait, and the schedule says so."""

from dataclasses import replace

import pytest

from stagepost.firing import QUEUED_MOST
from stagepost.quota import Quota
from stagepost.records import Scope
from stagepost.schedule import Overlap, Skipped
from support.schedules import again, begin, look
from support.world import World

ACME = Scope("acme")
MINUTE = 60_000


async def full(world: World) -> str:
    """A task takes the only room that acme has; answers its id."""
    await world.store.quotas.set(Quota("acme", 1))
    return await world.submit(delay=3_600.0)


@pytest.mark.parametrize("overlap", Overlap)
async def test_a_run_that_the_quota_refuses_waits_and_says_so(
    world: World, overlap: Overlap
) -> None:
    schedule = await begin(world, overlap=overlap)
    other = await full(world)
    world.clock.advance(60)
    assert await look(world) == []
    since = world.clock.now()
    world.clock.advance(1)
    assert await look(world) == []
    now = await again(world, schedule)
    assert (now.waiting, now.held_at, now.skipped_at) == (1, since, None)
    assert now.held_why is not None
    assert "1 tasks that wait to start" in now.held_why
    await world.cancel(other)
    assert [run.planned_at for run in await look(world)] == [schedule.next_at]
    now = await again(world, schedule)
    assert (now.waiting, now.held_at, now.held_why, now.skipped_at) == (0, None, None, None)


async def test_an_instant_that_a_held_run_leaves_out_names_the_quota(world: World) -> None:
    schedule = await begin(world)
    other = await full(world)
    for _ in range(3):
        world.clock.advance(60)
        await look(world)
    now = await again(world, schedule)
    assert (now.waiting, now.skipped_at) == (1, world.clock.now())
    assert now.skipped_why == Skipped.QUOTA
    await world.cancel(other)
    assert [run.planned_at for run in await look(world)] == [schedule.next_at]
    world.clock.advance(60)
    await look(world)
    now = await again(world, schedule)
    assert (now.skipped_why, now.held_at) == (Skipped.OVERLAP, None)


async def test_a_queue_that_is_held_leaves_out_for_the_quota(world: World) -> None:
    schedule = await begin(world, overlap=Overlap.QUEUE)
    await full(world)
    for _ in range(QUEUED_MOST + 1):
        world.clock.advance(60)
        await look(world)
    now = await again(world, schedule)
    assert (now.waiting, now.skipped_why) == (QUEUED_MOST, Skipped.QUOTA)


async def test_a_newer_run_that_takes_a_held_ones_place_is_told(world: World) -> None:
    schedule = await begin(world, overlap=Overlap.CANCEL_OLD)
    other = await full(world)
    for _ in range(2):
        world.clock.advance(60)
        await look(world)
    now = await again(world, schedule)
    assert (now.waiting, now.skipped_at) == (1, schedule.next_at)
    assert now.skipped_why == Skipped.QUOTA
    await world.cancel(other)
    assert [run.planned_at for run in await look(world)] == [world.clock.now()]


async def test_made_up_runs_are_held_as_well(world: World) -> None:
    schedule = await begin(world)
    other = await full(world)
    began = world.clock.now()
    await world.store.schedules.backfill(schedule.id, ACME, [began - MINUTE, began - 2 * MINUTE])
    assert await look(world) == []
    now = await again(world, schedule)
    assert (now.waiting, now.held_at) == (2, began)
    await world.cancel(other)
    assert len(await look(world)) == 1
    # The second one waits for the first, not for room.
    now = await again(world, schedule)
    assert (now.waiting, now.held_at) == (1, None)


async def test_of_a_tenants_that_are_held_one_is_tried(world: World) -> None:
    for _ in range(4):
        await begin(world)
    theirs = await begin(world, tenant="initech")
    await world.store.quotas.set(Quota("initech", 0))
    other = await full(world)
    world.clock.advance(60)
    assert await look(world) == []
    free = (await world.store.schedules.due(100)).free
    assert len(free) == 2
    assert theirs.id in free
    await world.cancel(other)
    await world.store.quotas.set(Quota("acme", 3))
    # One more at each look, until there is no room again.
    assert [len(await look(world)) for _ in range(5)] == [1, 1, 1, 0, 0]
    await world.claim(1)
    assert len(await look(world)) == 1


async def test_a_paused_schedule_is_held_by_nothing_else(world: World) -> None:
    schedule = await begin(world)
    await full(world)
    world.clock.advance(60)
    await look(world)
    for paused in (True, False):
        before = (await again(world, schedule)).plan
        after = replace(before, paused=paused)
        await world.store.schedules.change(schedule.id, ACME, before, after)
        assert (await again(world, schedule)).held_at is None
        assert await look(world) == []
        assert ((await again(world, schedule)).held_at is None) == paused
