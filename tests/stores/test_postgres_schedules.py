"""Schedules on one database: several planners, lost answers, killed connections."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from stagepost.errors import NotFound
from stagepost.firing import firing
from stagepost.maintenance.planner import Planner
from stagepost.records import Scope
from stagepost.schedule import Misfire, Overlap
from stagepost.store import Store
from support.lost_answers import Scene
from support.postgres_worlds import PostgresWorlds
from support.schedules import MOST, again, begin, finish_all, look, plan, tasks_of
from support.world import World, a_world, new_id, refused

ACME = Scope("acme")
MINUTE = 60_000


@pytest.fixture
async def world(postgres_worlds: PostgresWorlds, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(postgres_worlds.open, tmp_path / "data") as world:
        yield world


async def all_look(stores: list[Store]) -> None:
    """Each looks as if it led, all at once."""

    async def look_at(store: Store) -> None:
        due = await store.schedules.due(100)
        for each in due.schedules:
            await store.schedules.fire(firing(each, due.now))
        for schedule_id in due.free:
            await store.schedules.proceed(schedule_id)

    await asyncio.gather(*map(look_at, stores))


@pytest.mark.parametrize("overlap", list(Overlap))
async def test_planners_that_all_lead_make_each_run_once(
    world: World, others: list[Store], overlap: Overlap
) -> None:
    stores = [world.store, *others]
    schedules = [await begin(world, overlap=overlap, misfire=Misfire.ALL) for _ in range(6)]
    rng = random.Random(7)
    for _ in range(8):
        world.clock.advance(rng.choice([60, 60, 150]))
        await all_look(stores)
        if rng.random() < 0.6:
            await finish_all(world)
    for _ in range(40):
        await finish_all(world)
        await all_look(stores)
    for schedule in schedules:
        planned = Counter(
            [(await world.view(task.id)).tags[0] for task in await tasks_of(world, schedule)]
        )
        assert set(planned.values()) == {1}
        now = await again(world, schedule)
        assert now.waiting == 0
        if overlap is Overlap.QUEUE:
            assert now.next_at is not None
            assert len(planned) == (now.next_at - schedule.created_at) // MINUTE - 1


async def test_one_of_two_planners_leads(world: World, others: list[Store]) -> None:
    schedule = await begin(world)
    world.clock.advance(60)
    planners = [Planner(store, world.clock) for store in (world.store, *others)]
    for planner in planners:
        await planner.look()
    assert len(await tasks_of(world, schedule)) == 1


async def test_cuts_in_the_middle_make_no_run_twice_and_lose_none(
    world: World, postgres_worlds: PostgresWorlds
) -> None:
    schedule = await begin(world, overlap=Overlap.QUEUE, misfire=Misfire.ALL)

    async def cut(after: float) -> None:
        await asyncio.sleep(after)
        await postgres_worlds.cut(world.folder)

    rng = random.Random(11)
    for _ in range(12):
        world.clock.advance(60)
        # What a cut has refused, the next look finds again.
        await asyncio.gather(look(world), cut(rng.random() / 50), return_exceptions=True)
        await finish_all(world)
    for _ in range(30):
        await look(world)
        await finish_all(world)
    tasks = await tasks_of(world, schedule)
    planned = Counter([(await world.view(task.id)).tags[0] for task in tasks])
    assert (set(planned.values()), len(planned)) == ({1}, 12)


# The answer to a commit is lost


async def test_a_schedule_is_begun_once(scene: Scene) -> None:
    schedules = scene.world.store.schedules
    schedule_id = new_id()
    made = await scene.losing(schedules.add(schedule_id, "acme", "ada", plan(), MOST))
    assert made.id == schedule_id
    assert await schedules.find(ACME, None, 10) == [made]


async def test_a_run_is_made_once(scene: Scene) -> None:
    world = scene.world
    schedule = await begin(world)
    world.clock.advance(60)
    due = await world.store.schedules.due(10)
    await scene.losing(world.store.schedules.fire(firing(due.schedules[0], due.now)))
    (task,) = await tasks_of(world, schedule)
    now = await again(world, schedule)
    assert (now.last_task, now.waiting) == (task.id, 0)
    assert await look(world) == []


async def test_a_change_is_made_and_an_end_is_one(scene: Scene) -> None:
    world = scene.world
    schedule = await begin(world)
    other = replace(schedule.plan, name="other")
    change = world.store.schedules.change(schedule.id, ACME, schedule.plan, other)
    assert (await scene.losing(change)).plan == other
    await scene.losing(world.store.schedules.remove(schedule.id, ACME))
    await refused(world.store.schedules.get(schedule.id, ACME), NotFound)


async def test_a_backfill_is_counted_once(scene: Scene) -> None:
    world = scene.world
    schedule = await begin(world)
    planned = [schedule.created_at - number * MINUTE for number in (2, 1)]
    assert await scene.losing(world.store.schedules.backfill(schedule.id, ACME, planned)) == 2
    assert (await again(world, schedule)).waiting == 2
