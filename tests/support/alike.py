"""A store and the model, brought to do the same and compared; crashes come around the calls."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

from stagepost.errors import Gone, StagepostError
from stagepost.records import Filter
from stagepost.store import Store
from stagepost.task import Status, Task
from support.crashes import Crash
from support.families import let_wake
from support.faults import Fault, When
from support.invariants import Heard
from support.model import Model
from support.waiting import PATIENCE
from support.world import EVERYBODY, LANES, World, refused

ALL = Filter(limit=10_000)


class Verb(NamedTuple):
    """The same verb of a store and of the model.

    Where the model's answers something, the store's answers the same; the refusals are the same in
    any case. Whoever has not heard the answer does `repeat`, or the same where it has none.
    """

    call: Callable[[Store], Awaitable[object]]
    told: Callable[[Model], object]
    repeat: "Verb | None" = None
    heard: Callable[[Heard, Any], object] | None = None
    """What a caller to whom the store has answered knows from then on."""


class Alike:
    """A world, and the model of it. `faults` are those that are to come."""

    def __init__(self, world: World, model: Model, crash: Crash) -> None:
        self.world = world
        self.model = model
        self.faults: list[Fault] = []
        self.hit = Counter[tuple[str, When]]()
        """How often a crash has come around which verb."""
        self.heard = Heard()
        self._crash = crash
        self._deaf = False
        self._unheard = Counter[str]()
        self._places: dict[str, int | None] = {}

    async def both(self, name: str, *verbs: Verb, again: bool = True) -> None:
        """The store's verbs at once and the model's one after the other: the same answers.

        Whoever has heard no answer calls `again`, unless that is of no use to him.
        """
        match self.take_fault(name):
            case None:
                await self._together(verbs)
            case Fault(_, When.BEFORE):
                await self.crash()
                await self._together(verbs)
            case Fault(_, When.AFTER):
                await self._together(verbs)
                await self.crash(deaf=True)
                if again:
                    await self._one_by_one([verb.repeat or verb for verb in verbs])
            case Fault(_, When.AMID, seconds):
                await self._amid(verbs[0], seconds, again=again)
                await self._one_by_one(verbs[1:])

    def take_fault(self, name: str) -> Fault | None:
        """The fault that hits this verb, if any does."""
        meant = [fault for fault in self.faults if fault.verb == name]
        self.faults = [
            replace(fault, passed=fault.passed - 1) if fault in meant else fault
            for fault in self.faults
            if fault not in meant or fault.passed
        ]
        hits = [fault for fault in meant if not fault.passed]
        for fault in hits[:1]:
            self.hit[name, fault.when] += 1
        return hits[0] if hits else None

    async def crash(self, *, deaf: bool = False) -> None:
        """Come to a sudden end; `deaf`: bells of what was just done may not have rung."""
        self._deaf = self._deaf or deaf
        await self._crash(self.world)

    async def _together(self, verbs: Sequence[Verb]) -> None:
        calls = [verb.call(self.world.store) for verb in verbs]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        for answer, verb in zip(answers, verbs, strict=True):
            check(answer, _answer(verb, self.model))
            if verb.heard is not None and not isinstance(answer, BaseException):
                verb.heard(self.heard, answer)

    async def _one_by_one(self, verbs: Sequence[Verb]) -> None:
        for verb in verbs:
            await self._together([verb])

    async def _amid(self, verb: Verb, seconds: float, *, again: bool) -> None:
        before = deepcopy(self.model)
        await self.crash_amid(verb.call(self.world.store), seconds)
        _answer(verb, self.model)
        self.model = await self.found(self.model, before)
        if self.model is before:
            await self._together([verb])
        elif again:
            await self._together([verb.repeat or verb])

    async def crash_amid(self, call: Awaitable[object], seconds: float) -> None:
        """Crash so many seconds after a call has begun; nobody hears its answer."""
        flight = asyncio.ensure_future(call)
        await asyncio.sleep(seconds)
        await self.crash(deaf=True)
        await asyncio.wait([flight], timeout=PATIENCE)
        if not flight.cancelled():
            flight.exception()

    async def found(self, *models: Model) -> Model:
        """The first of these models that the store is like; what it does later, it may yet do."""
        limit = time.monotonic() + PATIENCE
        while True:
            await let_wake(self.world)
            seen = await self._seen()
            for model in models:
                if seen == seen_of(model):
                    return model
            assert time.monotonic() < limit, f"{seen} is none of {[*map(seen_of, models)]}"
            await asyncio.sleep(0.01)

    async def _seen(self) -> object:
        store = self.world.store
        tasks = {task.id: task for task in await store.find(EVERYBODY, ALL)}
        news = await store.news(dict.fromkeys(tasks, 0), 10_000)
        workers = {worker.id: worker.beat_at for worker in await store.workers()}
        return tasks, {task_id: list(events) for task_id, events in news.items()}, workers

    async def let_families_know(self) -> None:
        """Let the notes of children be worked off; another loop may be at it, so wait for it."""
        if not self.model.families.stirred:
            return
        self.model.families.stirred = False
        limit = time.monotonic() + PATIENCE
        await let_wake(self.world)
        while time.monotonic() < limit:
            found = await self.world.store.find(EVERYBODY, ALL)
            if {task.id: task.seq for task in found} == {
                task.id: task.seq for task in self.model.tasks.values()
            }:
                return
            await asyncio.sleep(0.01)
            await let_wake(self.world)

    # What is compared

    async def compare(self) -> None:
        """Every field of every task, every event, each place in the queue, and the bells."""
        found, news, _ = await asyncio.gather(
            self.world.store.find(EVERYBODY, ALL),
            self.world.store.news(dict.fromkeys(self.model.tasks, 0), 10_000),
            self._compare_pool(),
        )
        assert {task.id: task for task in found} == self.model.tasks
        assert [task.id for task in found] == sorted(self.model.tasks, reverse=True)
        assert {task_id: list(events) for task_id, events in news.items()} == _events(self.model)
        self._compare_bells()

    async def _compare_pool(self) -> None:
        tasks = self.model.tasks.values()
        queued = [task.id for task in tasks if task.status is Status.QUEUED]
        places = {task_id: self.model.position(task_id) for task_id in queued}
        if places != self._places:
            # Each place is a statement of its own; all are looked at again in the end.
            views = await asyncio.gather(*map(self.world.view, queued))
            assert {view.task.id: view.position for view in views} == places
            self._places = places
        for lane in await self.world.store.lanes(list(LANES)):
            pool = self.model.pool(lane.name)
            in_lane = [task for task in tasks if task.lane == lane.name]
            assert lane.queued == sum(task.status is Status.QUEUED for task in in_lane)
            if all(task.priority >= 0 for task in pool):
                oldest = min((task.pooled_at or 0 for task in pool), default=None)
                assert lane.oldest_pooled_at == oldest

    def _compare_bells(self) -> None:
        if self._deaf:
            # What had rung when the crash came, and what had not, nobody can say.
            self.world.bells.clear()
            self._unheard = Counter(self.model.told)
            self._deaf = False
        rung = Counter(task_id for bell in self.world.bells for task_id in bell.events)
        assert rung == self.model.told - self._unheard

    async def compare_details(self) -> None:
        """What is read task by task."""
        await asyncio.gather(*map(self._compare_one, self.model.tasks.values()))
        for task_id in self.model.gone:
            await refused(self.world.view(task_id), Gone)
        workers = {worker.id: worker.beat_at for worker in await self.world.store.workers()}
        assert workers == self.model.beats

    async def _compare_one(self, task: Task) -> None:
        store, model = self.world.store, self.model
        view, steps, failures, known = await asyncio.gather(
            self.world.view(task.id),
            store.steps(task.id),
            store.failures(task.id),
            store.children.batches(task.id),
        )
        assert (view.task, view.input) == (task, model.inputs[task.id])
        assert view.result == model.results.get(task.id)
        assert view.position == model.position(task.id)
        assert list(steps) == model.steps.get(task.id, [])
        assert list(failures) == model.failures.get(task.id, [])
        assert list(known) == model.families.of(task.id)


def check(answer: object, told: object) -> None:
    """A store's answer, or refusal, is the model's."""
    if isinstance(answer, BaseException) or isinstance(told, type):
        assert type(answer) is told, (answer, told)
    else:
        assert told is None or answer == told, (answer, told)


def _answer(verb: Verb, model: Model) -> object:
    try:
        return verb.told(model)
    except StagepostError as refusal:
        return type(refusal)


def seen_of(model: Model) -> object:
    """All that one sees of a model at a glance."""
    return model.tasks, _events(model), model.beats


def _events(model: Model) -> object:
    return {task_id: events for task_id, events in model.events.items() if events}
