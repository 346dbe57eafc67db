"""Why a task waits, and how long it will take: what people ask while it is not done.

Everything that is needed beside the task itself is read once every few seconds, however many ask.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from stagepost import estimates
from stagepost.backlog import COUNTED, Backlog
from stagepost.clock import Clock
from stagepost.errors import Retryable
from stagepost.estimates import History, size_class
from stagepost.records import LaneRecord, TaskView, WorkerRecord
from stagepost.rules import NO_RULES, RuleKind, Rules
from stagepost.store import RuleBook
from stagepost.task import SETTLED, Status, Task, Wait
from stagepost.versions import takes
from stagepost.web import held
from stagepost.web.parts import Parts

Known = TypeVar("Known")

_log = logging.getLogger("stagepost.web")

_WORKERS_FRESH: Final = 2.0  # seconds
_RULES_FRESH: Final = 2.0
_LANES_FRESH: Final = 5.0
_HISTORY_FRESH: Final = 10.0
_BACKLOG_FRESH: Final = 10.0
_BACKLOG_STEP: Final = 1_000
_TOLD_FRESH: Final = 1.0
_MOST_TOLD: Final = 1_000  # kinds of submits in a second
_WARM: Final = 60.0  # seconds after which the lanes' rates are of a whole minute


@dataclass(frozen=True, slots=True)
class Foresight:
    """What holds a task up, if anything, the seconds until its completion, and its place."""

    waiting_for: Wait | None = None
    seconds: int | None = None
    position: int | None = None


class Outlook:
    """Looks ahead, by the store's workers, lanes and history."""

    def __init__(self, parts: Parts) -> None:
        store, clock = parts.store, parts.clock
        self._clock = clock
        self._store = store
        self._lease = parts.settings.lease
        self._born = clock.monotonic()
        names = list(parts.settings.lanes)
        self._workers = _Read(clock, _WORKERS_FRESH, store.workers)
        self._lanes = _Read(clock, _LANES_FRESH, lambda: store.lanes(names))
        self._history = _Read(clock, _HISTORY_FRESH, store.history.all)
        self._rules = _Read(clock, _RULES_FRESH, lambda: _rules_of(store.rules))
        self._backlogs: dict[str, _Read[Backlog]] = {}
        self._running = _Read(clock, _RULES_FRESH, store.rules.running)
        types = parts.app.types
        self._coded = {
            name: type_.concurrency for name, type_ in types.items() if type_.concurrency
        }
        self._told: dict[tuple[str, str, int, int], int] = {}
        self._told_until = 0.0
        self._newest: dict[str, int] = {}

    async def of(self, view: TaskView) -> Foresight:
        """A task's outlook; its place in the queue is known, or looked up in the backlog."""
        place = await self._place(view)
        return await self._of(view.task, place, len(view.input), blocked=view.blocked)

    async def of_listed(self, task: Task) -> Foresight:
        """A task's outlook; its place is guessed by its age, and who has its key is not asked."""
        return await self._of(task, None, 0)

    async def at_submit(self, type_name: str, lane: str, upload_bytes: int, size: int) -> int:
        """Seconds until completion of a task that has just been put at the end of its lane.

        Thousands a second ask; they are told the same for a second.
        """
        now = self._clock.monotonic()
        if now >= self._told_until or len(self._told) >= _MOST_TOLD:
            self._told.clear()
            self._told_until = now + _TOLD_FRESH
        kind = (type_name, lane, size_class(upload_bytes + size), upload_bytes // 102_400)
        told = self._told.get(kind)
        if told is None:
            told = self._told[kind] = await self._at_end(type_name, lane, upload_bytes, size)
        return told

    async def _at_end(self, type_name: str, lane: str, upload_bytes: int, size: int) -> int:
        history = await self.history()
        whole = estimates.typical(history.get(type_name, {}), upload_bytes, size)
        record = await self._lane(lane)
        behind = 0 if record is None else record.queued + 1
        each = estimates.slot_time(history, lane, whole)
        return _seconds(await self._queue(lane, behind, each) + whole)

    async def _of(
        self, task: Task, position: int | None, size: int, *, blocked: bool = False
    ) -> Foresight:
        if task.status in SETTLED:
            return Foresight()
        history = await self.history()
        durations = history.get(task.type, {})
        whole = estimates.typical(durations, task.upload_bytes, size)
        queue, now = 0, self._clock.now()
        if task.status is Status.QUEUED:
            place = position or await self._guessed_place(task)
            each = estimates.slot_time(history, task.lane, whole)
            queue = await self._queue(task.lane, place, each)
        left = estimates.remaining(task, durations, size, now, queue)
        waiting_for = await self._waiting_for(task, blocked=blocked)
        return Foresight(waiting_for, _seconds(left), position)

    async def history(self) -> History:
        """How long tasks took, and what they cost; some seconds old."""
        return await self._history.value() or {}

    async def _waiting_for(self, task: Task, *, blocked: bool) -> Wait | None:
        match task.status:
            case Status.FAILED:
                return Wait("retry", task.failure_kind or "", task.due_at)
            case Status.PENDING:
                return Wait("timer", "runAt", task.run_at)
            case Status.QUEUED:
                return await self._held_back(task, blocked=blocked)
        return task.wait

    async def _held_back(self, task: Task, *, blocked: bool) -> Wait | None:
        """What keeps it from being claimed: first what a person must do something about."""
        rules = await self._rules.value() or NO_RULES
        alive = await self._alive()
        found = held.paused(task, rules) or (None if alive is None else _missing(task, alive))
        if found is not None:
            return found
        if blocked:
            return Wait("limit", f"key {task.concurrency_key}")
        if not rules.limit and not self._coded:
            return None
        return held.full(task, rules, self._coded, await self._running.value() or ())

    async def _queue(self, lane: str, place: int, each: int) -> int:
        serving = [worker for worker in await self._alive() or () if lane in worker.lanes]
        record = await self._lane(lane)
        if not serving or record is None:
            return 0
        oldest = record.oldest_pooled_at
        warm = self._clock.monotonic() - self._born >= _WARM
        return estimates.queue_wait(
            ahead=place - 1,
            free=sum(max(0, worker.slots - worker.running) for worker in serving),
            slots=sum(worker.slots for worker in serving),
            pace=record.completions,
            busy_for=self._clock.now() - oldest if oldest is not None and warm else 0,
            each=each,
        )

    async def _place(self, view: TaskView) -> int | None:
        """Where the store counts it; further behind, where it was in the backlog's latest look.

        What has left since then makes it too large by what the lane does in those seconds, so that
        the estimate is late by no more than the look is old.
        """
        position, task = view.position, view.task
        if position is None or position <= COUNTED or task.pooled_at is None:
            return position
        backlog = await self._backlog(task.lane).value()
        if backlog is None:
            return position
        return max(position, backlog.place(task.tenant, task.pooled_at - task.priority * 1000))

    def _backlog(self, lane: str) -> "_Read[Backlog]":
        """Only lanes with more tasks than are counted get here, so there are few."""

        def read() -> Awaitable[Backlog]:
            return self._store.backlog(lane, _BACKLOG_STEP)

        return self._backlogs.setdefault(lane, _Read(self._clock, _BACKLOG_FRESH, read))

    async def _guessed_place(self, task: Task) -> int:
        """Between the oldest of its lane and the newest that was asked for, by its own age."""
        record = await self._lane(task.lane)
        if record is None or record.oldest_pooled_at is None or task.pooled_at is None:
            return 1
        newest = max(self._newest.get(task.lane, 0), task.pooled_at)
        self._newest[task.lane] = newest
        oldest = record.oldest_pooled_at
        behind = max(0, task.pooled_at - oldest) / max(1, newest - oldest)
        return 1 + round(behind * max(0, record.queued - 1))

    async def _lane(self, name: str) -> LaneRecord | None:
        lanes = await self._lanes.value() or ()
        return next((record for record in lanes if record.name == name), None)

    async def _alive(self) -> Sequence[WorkerRecord] | None:
        """The workers that claim: one that drains or hangs takes nothing any more."""
        silent = self._clock.now() - round(self._lease * 1000)
        workers = await self._workers.value()
        if workers is None:
            return None
        return [each for each in workers if each.beat_at > silent and each.state == "running"]


async def _rules_of(book: RuleBook) -> Rules:
    return Rules([rule for kind in RuleKind for rule in await book.find(kind)])


def _missing(task: Task, alive: Sequence[WorkerRecord]) -> Wait | None:
    """The worker that is missing: for the lane, for the type, or for the version of its code."""
    if any(takes(worker, task.lane, task.type, task.code_version) for worker in alive):
        return None
    if any(takes(worker, task.lane, task.type) for worker in alive):
        return Wait("worker", f"version {task.code_version} of {task.type}")
    known = any(task.lane in worker.lanes for worker in alive)
    return Wait("worker", f"type {task.type}" if known else f"lane {task.lane}")


def _seconds(milliseconds: int) -> int:
    return -(-milliseconds // 1000)


class _Read(Generic[Known]):
    """Something of the store, read anew when it is older than `fresh` seconds.

    While one asker reads, and while the store can't be asked, the others get what was known before:
    an outlook must cost no task its answer.
    """

    def __init__(self, clock: Clock, fresh: float, read: Callable[[], Awaitable[Known]]) -> None:
        self._clock = clock
        self._fresh = fresh
        self._read = read
        self._known: Known | None = None
        self._until = float("-inf")
        self._first = asyncio.Lock()

    async def value(self) -> Known | None:
        """The latest that is known; None before anything is."""
        if self._known is None:
            # There is nothing to go by yet: whoever else asks waits for the same look.
            async with self._first:
                await self._renew()
        else:
            await self._renew()
        return self._known

    async def _renew(self) -> None:
        now = self._clock.monotonic()
        if now < self._until:
            return
        self._until = now + self._fresh
        try:
            self._known = await self._read()
        except Retryable as error:
            _log.warning("what people ask is answered by what was known before: %s", error)
