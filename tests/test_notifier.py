"""Watchers: every event once and in order, whatever the doorbells do."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from engine_kit.contexts import settle_down
from stagepost import notifier
from stagepost.bus import Committed, Token
from stagepost.buses.memory import MemoryBus
from stagepost.errors import StoreUnavailable
from stagepost.event import Event
from stagepost.notifier import BUFFER, Notifier, Watch


class History:
    """The part of a store that a notifier reads."""

    def __init__(self) -> None:
        self.events: dict[str, list[Event]] = {}
        self.reads = 0
        self.up = True
        self.slow = asyncio.Event()
        self.slow.set()

    def add(self, task_id: str, count: int = 1, text: str = "") -> None:
        events = self.events.setdefault(task_id, [])
        for _ in range(count):
            events.append(Event(len(events) + 1, "progress", {"message": text}, 0))

    async def news(self, after: Mapping[str, int], limit: int) -> Mapping[str, Sequence[Event]]:
        self.reads += 1
        if not self.up:
            raise StoreUnavailable("away")
        found = {
            task_id: self.events.get(task_id, [])[seq : seq + limit]
            for task_id, seq in after.items()
        }
        await self.slow.wait()
        return {task_id: events for task_id, events in found.items() if events}


class Scene:
    def __init__(self) -> None:
        self.store = History()
        self.bus = MemoryBus()
        made: Any = self.store
        self.notifier = Notifier(made, self.bus)

    def happen(self, task_id: str = "task-1", count: int = 1, *, ring: bool = True) -> None:
        self.store.add(task_id, count)
        if ring:
            self.bus.ring(Committed([task_id]))


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    scene = Scene()
    running = asyncio.create_task(scene.notifier.run())
    await settle_down()
    yield scene
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def seen(watch: Watch, count: int) -> list[int]:
    numbers: list[int] = []
    async with asyncio.timeout(20):
        while len(numbers) < count:
            numbers += [item.seq for item in await watch.next(5) if isinstance(item, Event)]
    return numbers


async def test_a_watcher_gets_what_it_missed_and_then_what_comes(scene: Scene) -> None:
    scene.happen(count=5)
    async with scene.notifier.watch("task-1", 2) as watch:
        assert await seen(watch, 3) == [3, 4, 5]
        scene.happen(count=2)
        assert await seen(watch, 2) == [6, 7]
        assert watch.seq == 7
    assert scene.notifier.watchers == 0


async def test_no_event_is_lost_or_comes_twice_under_load(scene: Scene) -> None:
    tasks = [f"task-{n}" for n in range(5)]

    async def act(task_id: str) -> None:
        for n in range(200):
            scene.happen(task_id)
            if n % 7 == 0:
                await asyncio.sleep(0)

    async def look(task_id: str, number: int) -> list[int]:
        await asyncio.sleep(number / 1000)
        async with scene.notifier.watch(task_id, 0) as watch:
            return await seen(watch, 200)

    acting = [asyncio.create_task(act(task_id)) for task_id in tasks]
    looks = await asyncio.gather(*(look(task_id, n) for task_id in tasks for n in range(4)))
    assert all(numbers == list(range(1, 201)) for numbers in looks)
    await asyncio.gather(*acting)


async def test_one_read_serves_all_watchers_of_a_moment(scene: Scene) -> None:
    watches = [scene.notifier.watch(f"task-{n}", 0) for n in range(100)]
    for watch in watches:
        await watch.__aenter__()
    await settle_down()
    before = scene.store.reads
    for n in range(100):
        scene.happen(f"task-{n}")
    await asyncio.gather(*(seen(watch, 1) for watch in watches))
    assert scene.store.reads - before <= 3
    for watch in watches:
        await watch.__aexit__(None, None, None)


async def test_a_bell_that_rings_during_a_read_is_not_lost(scene: Scene) -> None:
    async with scene.notifier.watch("task-1", 0) as watch:
        await settle_down()
        scene.store.slow.clear()
        scene.happen()
        await settle_down()
        scene.happen()
        scene.store.slow.set()
        assert await seen(watch, 2) == [1, 2]


async def test_a_lost_bell_costs_a_sweep_and_no_event(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "_SWEEP", 0.2)
    scene.notifier._swept_at = 0.0
    scene.notifier._wake.set()
    async with scene.notifier.watch("task-1", 0) as watch:
        await settle_down()
        scene.happen(ring=False)
        assert await seen(watch, 1) == [1]


async def test_bells_that_were_missed_cost_one_look_at_every_watched_task(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "_SWEEP", 1_000.0)
    async with scene.notifier.watch("task-1", 0) as one, scene.notifier.watch("task-2", 0) as two:
        await settle_down()
        scene.happen("task-1", ring=False)
        scene.happen("task-2", 2, ring=False)
        reads = scene.store.reads
        scene.notifier.missed()
        assert await seen(one, 1) == [1]
        assert await seen(two, 2) == [1, 2]
        assert scene.store.reads == reads + 1


async def test_the_sweep_comes_although_other_bells_ring_all_the_time(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "_SWEEP", 0.2)

    async def noise() -> None:
        while True:
            scene.happen("task-2")
            await asyncio.sleep(0)

    ringing = asyncio.create_task(noise())
    async with scene.notifier.watch("task-1", 0) as watch, scene.notifier.watch("task-2", 0):
        await settle_down()
        scene.happen(ring=False)
        assert await seen(watch, 1) == [1]
    ringing.cancel()


async def test_a_store_that_is_away_for_a_moment_loses_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "_RETRY", 0.05)
    monkeypatch.setattr(notifier, "_SWEEP", 3600)
    async with scene.notifier.watch("task-1", 0) as watch:
        await settle_down()
        scene.store.up = False
        scene.happen(count=3)
        assert await watch.next(0.2) == ()
        scene.store.up = True
        assert await seen(watch, 3) == [1, 2, 3]


async def test_more_than_one_read_takes_are_read_in_turns(scene: Scene) -> None:
    scene.happen(count=1_050)
    async with scene.notifier.watch("task-1", 0) as watch:
        assert await seen(watch, 1_050) == list(range(1, 1_051))


async def test_a_slow_watcher_is_cut_and_can_resume_by_its_number(scene: Scene) -> None:
    async with (
        scene.notifier.watch("task-1", 0) as slow,
        scene.notifier.watch("task-1", 0) as quick,
    ):
        total = 0
        while not slow.cut:
            scene.store.add("task-1", 50, text="x" * 2_000)
            scene.bus.ring(Committed(["task-1"]))
            total += 50
            assert await seen(quick, 50) == list(range(total - 49, total + 1))
        got = [item.seq for item in await slow.next(1) if isinstance(item, Event)]
        assert got == list(range(1, len(got) + 1))
        assert len(got) * 2_000 <= BUFFER
        assert await slow.next(0.01) == ()
        async with scene.notifier.watch("task-1", got[-1]) as again:
            rest = await seen(again, total - len(got))
            assert got + rest == list(range(1, total + 1))


async def test_text_goes_to_the_watchers_of_its_task_alone(scene: Scene) -> None:
    token = Token("talk", 1, 0, "hello")
    async with (
        scene.notifier.watch("task-1", 0) as watch,
        scene.notifier.watch("task-2", 0) as other,
    ):
        scene.bus.emit("task-1", token)
        assert await watch.next(5) == (token,)
        assert await other.next(0.05) == ()
