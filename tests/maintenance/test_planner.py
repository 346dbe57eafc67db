"""The planner: fires what is due on time, and no schedule keeps another back."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine_kit.contexts import settle_down
from stagepost.errors import StoreUnavailable, Unwritable
from stagepost.firing import Firing
from stagepost.maintenance.planner import Planner
from stagepost.schedule import Schedule, begun
from stagepost.store.schedules import Due, Run
from stagepost.testing import FakeClock
from support.schedules import begin, finish_all, plan, tasks_of
from support.world import World, a_world, open_sqlite


class Books:
    """The part of a store that a planner uses."""

    def __init__(self, schedules: list[Schedule]) -> None:
        self.all = {schedule.id: schedule for schedule in schedules}
        self.fired: list[Firing] = []
        self.up = True
        self.leads = True
        self.bad = ""
        self.now = 0

    @property
    def schedules(self) -> "Books":
        return self

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        return self.leads

    async def due(self, limit: int) -> Due:
        found = [each for each in self.all.values() if each.due_at and each.due_at <= self.now]
        return Due(self.now, found[:limit], [])

    async def proceed(self, schedule_id: str) -> list[Run]:
        raise AssertionError("nothing waits")

    async def fire(self, firing: Firing) -> list[Run]:
        if not self.up:
            raise StoreUnavailable("away")
        if firing.schedule_id == self.bad:
            raise Unwritable("no")
        self.fired.append(firing)
        before = self.all[firing.schedule_id]
        self.all[firing.schedule_id] = replace(before, next_at=firing.next_at, due_at=firing.due_at)
        return []


def books(count: int, **changes: Any) -> Books:
    return Books([begun(f"id {n}", "acme", "ada", plan(**changes), 0) for n in range(count)])


def planner_of(store: Books) -> Planner:
    made: Any = store
    return Planner(made, FakeClock())


async def test_only_the_leader_fires() -> None:
    store = books(2)
    store.now, store.leads = 60_000, False
    planner = planner_of(store)
    assert not await planner.look()
    assert store.fired == []


async def test_all_that_are_due_are_fired() -> None:
    store = books(250)
    store.now = 60_000
    planner = planner_of(store)
    assert [await planner.look() for _ in range(3)] == [True, True, False]
    assert {each.schedule_id for each in store.fired} == set(store.all)
    assert all(each.live == 60_000 for each in store.fired)


async def test_one_that_is_not_understood_any_more_stands_still_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = books(3)
    broken = replace(store.all["id 1"].plan, every=None, cron="0 0 * * *", timezone="Gone/Zone")
    store.all["id 1"] = replace(store.all["id 1"], plan=broken)
    store.now = 60_000
    with caplog.at_level(logging.WARNING):
        await planner_of(store).look()
    assert [each.live for each in store.fired] == [60_000, None, 60_000]
    assert store.all["id 1"].due_at is None
    assert "id 1 is understood no more" in caplog.text


async def test_one_that_is_refused_keeps_no_other_back(caplog: pytest.LogCaptureFixture) -> None:
    store = books(3)
    store.bad, store.now = "id 0", 60_000
    await planner_of(store).look()
    assert [each.schedule_id for each in store.fired] == ["id 1", "id 2"]
    assert "could not be fired: no" in caplog.text


async def test_it_outlives_a_store_that_is_away() -> None:
    store, clock = books(1), FakeClock()
    made: Any = store
    store.now, store.up = 60_000, False
    running = asyncio.create_task(Planner(made, clock).run())
    await until_asleep(clock)
    assert store.fired == []
    store.up = True
    clock.advance(2.0)
    await until_asleep(clock)
    assert len(store.fired) == 1
    running.cancel()


async def until_asleep(clock: FakeClock) -> None:
    for _ in range(200):
        await settle_down()
        if clock.sleepers:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the loop does not rest")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


async def test_two_that_lead_for_a_moment_make_each_run_once(world: World) -> None:
    schedules = [await begin(world) for _ in range(20)]
    one, other = Planner(world.store, world.clock), Planner(world.store, world.clock)
    for _ in range(5):
        world.clock.advance(60)
        await asyncio.gather(one.look(), other.look(), one.look())
        await finish_all(world)
    for schedule in schedules:
        assert len(await tasks_of(world, schedule)) == 5
