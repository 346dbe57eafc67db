"""Stores and a plain model of one schedule agree after every verb, in any order, over crashes.

`STAGEPOST_EXAMPLES=50` makes fifty times as many histories.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import note as note_it
from hypothesis import strategies as st

import stagepost.firing
from stagepost.errors import Conflict
from stagepost.firing import Firing, firing
from stagepost.outcome import Succeeded
from stagepost.records import Claimed
from stagepost.schedule import Misfire, Overlap, Plan, Schedule, Skipped, Stream, changed
from stagepost.stores import schedule_rows
from stagepost.stores.postgres import schedule_writes as postgres_writes
from stagepost.stores.sqlite import schedule_writes as sqlite_writes
from support.crashes import Crash, crash_postgres, crash_sqlite
from support.postgres_worlds import PostgresWorlds
from support.quick import quick_folder
from support.schedules import again, begin, tasks_of
from support.world import EVERYBODY, Opener, World, a_world, open_sqlite, payload

MINUTE = 60_000
MADE_UP, QUEUED = 5, 2
"""The runs of either stream that may wait: so few that the histories meet the bounds."""


@dataclass
class Model:
    """What a schedule must be, told as plainly as can be."""

    schedule: Schedule
    waiting: dict[int, Stream] = field(default_factory=dict)
    going_on: dict[int, Stream] = field(default_factory=dict)
    over: set[int] = field(default_factory=set)
    seen: Counter[str] = field(default_factory=Counter)

    def fire(self, made: Firing) -> list[int]:
        """The instants whose tasks are submitted."""
        if self.schedule.plan.paused or self.schedule.version != made.version:
            self.seen["stale"] += 1
            return []
        self.schedule = replace(
            self.schedule, next_at=made.next_at, due_at=made.due_at, version=made.version + 1
        )
        if made.skipped_at is not None:
            self._skip(made.skipped_at, Skipped.MISFIRE)
        self.make_up(made.made_up)
        if made.live is not None:
            self._take(made.live)
        return self.proceed()

    def _take(self, planned: int) -> None:
        waiting = self._of(Stream.LIVE, self.waiting)
        busy = waiting + self._of(Stream.LIVE, self.going_on)
        overlap = self.schedule.plan.overlap
        if busy and overlap is Overlap.SKIP:
            self._skip(planned, Skipped.OVERLAP)
        elif overlap is Overlap.QUEUE and len(waiting) >= QUEUED:
            self._skip(planned, Skipped.FULL)
            self.seen["queue full"] += 1
        elif planned in self._taken:
            self.seen["taken"] += 1
        else:
            if busy and overlap is Overlap.CANCEL_OLD:
                self._replace_all()
            self.waiting[planned] = Stream.LIVE

    def _replace_all(self) -> None:
        self.seen["replaced"] += 1
        waiting = self._of(Stream.LIVE, self.waiting)
        for planned in waiting:
            del self.waiting[planned]
        if waiting:
            self._skip(max(waiting), Skipped.OVERLAP)
        for planned in self._of(Stream.LIVE, self.going_on):
            del self.going_on[planned]
            self.over.add(planned)

    def backfill(self, planned: tuple[int, ...]) -> int | None:
        """How many of the instants are new; None if they are too many."""
        if len(self._of(Stream.MADE_UP, self.waiting)) + len(planned) > MADE_UP:
            self.seen["refused"] += 1
            return None
        return self.make_up(planned)

    def make_up(self, planned: tuple[int, ...]) -> int:
        """How many of the instants are new and have room; live runs take none of it."""
        new = [each for each in planned if each not in self._taken]
        room = MADE_UP - len(self._of(Stream.MADE_UP, self.waiting))
        self.waiting.update(dict.fromkeys(new[:room], Stream.MADE_UP))
        if len(new) > room:
            self._skip(new[room], Skipped.FULL)
        return len(new[:room])

    @property
    def _taken(self) -> set[int]:
        return {*self.waiting, *self.going_on, *self.over}

    @staticmethod
    def _of(stream: Stream, runs: dict[int, Stream]) -> list[int]:
        return [planned for planned, its in runs.items() if its is stream]

    def proceed(self) -> list[int]:
        """Of each stream in which nothing goes on the first that waits."""
        if self.schedule.plan.paused:
            return []
        started = []
        for stream in Stream:
            waits = [p for p, s in self.waiting.items() if s is stream]
            if waits and stream not in self.going_on.values():
                started.append(min(waits))
                self.going_on[min(waits)] = self.waiting.pop(min(waits))
        if started:
            self.schedule = replace(self.schedule, last_at=started[-1])
            self.seen["started"] += len(started)
        return started

    @property
    def free(self) -> bool:
        """Whether something waits with nothing before it."""
        return not self.schedule.plan.paused and any(
            stream not in self.going_on.values() for stream in self.waiting.values()
        )

    def _skip(self, planned: int, why: Skipped) -> None:
        self.seen[why] += 1
        self.schedule = replace(self.schedule, skipped_at=planned, skipped_why=why)


class Twins:
    """The causes; each goes to the store and to the model."""

    def __init__(self, world: World, model: Model, crash: Crash) -> None:
        self.world, self.model, self._crash = world, model, crash
        self._old: Firing | None = None
        self._claimed: list[Claimed] = []
        self._tags: dict[str, str] = {}

    @property
    def _schedules(self) -> Any:
        return self.world.store.schedules

    async def time_passes(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    async def look(self) -> None:
        due = await self._schedules.due(10)
        model = self.model
        is_due = model.schedule.due_at is not None and model.schedule.due_at <= due.now
        assert [each.id for each in due.schedules] == [model.schedule.id] * is_due
        assert list(due.free) == [model.schedule.id] * model.free
        for each in due.schedules:
            self._old = firing(each, due.now)
            await self._fire(self._old)
        for schedule_id in due.free:
            runs = await self._schedules.proceed(schedule_id)
            assert [run.planned_at for run in runs] == model.proceed()

    async def _fire(self, made: Firing) -> None:
        runs = await self._schedules.fire(made)
        assert [run.planned_at for run in runs] == self.model.fire(made)

    async def next_minute(self) -> None:
        await self.time_passes(60.0)
        await self.look()

    async def late_look(self) -> None:
        """Another, which thought that it led, does what it had seen before."""
        if self._old is not None:
            await self._fire(self._old)

    async def backfill(self, first: int, count: int) -> None:
        start = self.model.schedule.created_at + first * MINUTE
        planned = tuple(start + n * MINUTE for n in range(count))
        made: int | None
        try:
            made = await self._schedules.backfill(self.model.schedule.id, EVERYBODY, planned)
        except Conflict:
            made = None
        assert made == self.model.backfill(planned)

    async def claim(self) -> None:
        self._claimed += await self.world.claim(20)

    async def finish(self) -> None:
        await self.claim()
        for claimed in self._claimed:
            await self.world.store.settle(claimed.lease, Succeeded(payload()))
        self._claimed.clear()
        self.model.over |= set(self.model.going_on)
        self.model.going_on.clear()

    async def plan(self, changes: dict[str, Any]) -> None:
        before = self.model.schedule.plan
        plan: Plan = replace(before, **changes)
        now = max(self.world.clock.now(), 0)
        await self._schedules.change(self.model.schedule.id, EVERYBODY, before, plan)
        self.model.schedule = changed(self.model.schedule, plan, now)

    async def restart(self) -> None:
        await self.world.reopen()

    async def crash(self) -> None:
        await self._crash(self.world)

    async def compare(self) -> None:
        model, kept = self.model, await again(self.world, self.model.schedule)
        expected = replace(model.schedule, waiting=len(model.waiting), last_task=kept.last_task)
        assert kept == expected
        tasks = await tasks_of(self.world, kept)
        for task in tasks:
            if task.id not in self._tags:
                self._tags[task.id] = (await self.world.view(task.id)).tags[0]
        tags = [self._tags[task.id] for task in tasks]
        assert len(set(tags)) == len(tags), "an instant has one run"
        assert set(tags) == {kept.tags_at(planned)[1] for planned in {*model.going_on, *model.over}}


@dataclass(frozen=True)
class Cause:
    """A method of Twins and its arguments, as a failing example prints it."""

    name: str
    arguments: tuple[Any, ...] = ()


def _cause(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Cause]:
    return st.builds(Cause, st.just(name), st.tuples(*arguments))


_changes = st.fixed_dictionaries(
    {},
    optional={
        "paused": st.booleans(),
        "overlap": st.sampled_from(Overlap),
        "misfire": st.sampled_from(Misfire),
        "every": st.sampled_from([60, 45, 4]),
        "jitter": st.sampled_from([0, 20]),
    },
)
_weighted = [
    (6, _cause("next_minute")),
    (3, _cause("time_passes", st.sampled_from([1.0, 9.0, 30.0, 75.0, 400.0]))),
    (4, _cause("look")),
    (2, _cause("late_look")),
    (3, _cause("finish")),
    (2, _cause("claim")),
    (2, _cause("plan", _changes)),
    (1, _cause("plan", st.just({"paused": False, "overlap": Overlap.QUEUE}))),
    (1, _cause("backfill", st.integers(-5, 5), st.integers(1, 4))),
    (1, _cause("restart")),
    (1, _cause("crash")),
]
_causes = [cause for weight, cause in _weighted for _ in range(weight)]
causes = st.integers(0, len(_causes) - 1).flatmap(_causes.__getitem__)
histories = st.lists(causes, min_size=20, max_size=50)


def postgres_of(request: pytest.FixtureRequest) -> tuple[Opener, Crash]:
    worlds: PostgresWorlds = request.getfixturevalue("postgres_worlds")
    return worlds.open, crash_postgres(worlds)


STORES: dict[str, Callable[[pytest.FixtureRequest], tuple[Opener, Crash]]] = {
    "sqlite": lambda _: (open_sqlite, crash_sqlite),
    "postgres": postgres_of,
}


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("store", STORES)
def test_a_store_and_the_model_agree_after_every_verb(
    store: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (schedule_rows, sqlite_writes, postgres_writes):
        monkeypatch.setattr(module, "WAITING_MOST", MADE_UP)
    monkeypatch.setattr(stagepost.firing, "QUEUED_MOST", QUEUED)
    open_store, crash = STORES[store](request)
    seen = Counter[str]()

    async def live(overlap: Overlap, misfire: Misfire, history: list[Cause]) -> None:
        with quick_folder() as folder:
            async with a_world(open_store, folder / "data") as world:
                twins = Twins(
                    world, Model(await begin(world, overlap=overlap, misfire=misfire)), crash
                )
                for cause in history:
                    await getattr(twins, cause.name)(*cause.arguments)
                    await twins.compare()
        seen.update(twins.model.seen)

    @settings(max_examples=settings.get_profile("stagepost").max_examples)
    @given(st.sampled_from(Overlap), st.sampled_from(Misfire), histories)
    def run(overlap: Overlap, misfire: Misfire, history: list[Cause]) -> None:
        note_it(repr(history))
        asyncio.run(live(overlap, misfire, history))

    run()
    # The histories go everywhere, or the agreement means little.
    ways = (
        "started",
        "stale",
        "replaced",
        "refused",
        "queue full",
        Skipped.OVERLAP,
        Skipped.MISFIRE,
        Skipped.FULL,
    )
    assert min(seen[way] for way in ways) > 5, seen
