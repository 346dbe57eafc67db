"""A made-up stream of tasks with a clock of its own, and what the estimates say of each.

Eight slots serve one lane. Tasks of five kinds arrive at random, with a rush of 150 in the middle,
and the engine's own functions guess at each, from what those before it took. Nothing is run and
nothing read from outside: the same numbers come out each time.
"""

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from stagepost import estimates

SLOTS: Final = 8
_LOAD: Final = 0.75  # of the slots, on average
_LANE: Final = estimates.of_lane("mix")
_RUSH: Final = 150
_KIB: Final = 1024


@dataclass(slots=True)
class Guessed:
    """One task in milliseconds: what was said of it, and what then was so."""

    kind: str
    size: int
    took: int
    arrived: int
    number: int
    started: int = 0
    seed: int = 0
    typical: int = 0
    with_queue: int = 0
    halfway: int = 0
    halfway_by_progress: int = 0

    @property
    def ended(self) -> int:
        """The instant of its completion."""
        return self.started + self.took

    @property
    def queued(self) -> bool:
        """Whether it had to wait for a slot."""
        return self.started > self.arrived


def _spread(chance: random.Random, median: float, sigma: float) -> float:
    return chance.lognormvariate(math.log(median), sigma)


def _by_size(chance: random.Random, size: int, _share: float) -> float:
    return (3_000 + 4_000 * size / (100 * _KIB)) * _spread(chance, 1, 0.3)


def _two_ways(chance: random.Random, _size: int, _share: float) -> float:
    return _spread(chance, 2_000 if chance.random() < 0.8 else 60_000, 0.15)


def _slower(chance: random.Random, _size: int, share: float) -> float:
    return _spread(chance, 20_000 if share < 0.5 else 60_000, 0.2)


KINDS: Final[Mapping[str, Callable[[random.Random, int, float], float]]] = {
    "steady": lambda chance, _size, _share: _spread(chance, 5_000, 0.2),
    "by the file's size": _by_size,
    "one of five is slow": _two_ways,
    "long tail": lambda chance, _size, _share: _spread(chance, 10_000, 1.0),
    "three times slower from the middle on": _slower,
}
"""How long a task of each kind takes in ms, by its file's size and how far the stream is."""


def arrivals(count: int) -> Iterator[Guessed]:
    """The tasks in the order of their arrival."""
    chance = random.Random(7)  # the same each time
    names = list(KINDS)
    tasks: list[tuple[str, int, int]] = []
    for number in range(count):
        kind = names[number % len(names)]
        size = round(min(4 * 1024 * _KIB, _spread(chance, 250 * _KIB, 1.2)))
        tasks.append((kind, size, max(1, round(KINDS[kind](chance, size, number / count)))))
    apart = sum(took for _, _, took in tasks) / count / SLOTS / _LOAD
    now, rush = 0.0, range(count // 3, count // 3 + min(_RUSH, count // 4))
    for number, (kind, size, took) in enumerate(tasks):
        now += 0 if number in rush else chance.expovariate(1 / apart)
        yield Guessed(kind, size, took, round(now), number)


@dataclass(slots=True)
class _Lane:
    """What an engine knows of the lane while the stream goes through it."""

    history: dict[str, dict[int, deque[int]]] = field(default_factory=dict)
    held: deque[int] = field(default_factory=lambda: deque(maxlen=estimates.KEPT))
    waiting: deque[Guessed] = field(default_factory=deque)
    running: list[tuple[int, int, Guessed]] = field(default_factory=list)
    ended: deque[int] = field(default_factory=deque)

    def pass_to(self, now: int) -> None:
        """Let end what ends up to an instant; each slot takes the next at once."""
        while self.running and self.running[0][0] <= now:
            instant, _, done = heapq.heappop(self.running)
            self.ended.append(instant)
            place = estimates.size_class(done.size)
            kinds = self.history.setdefault(done.kind, {})
            kinds.setdefault(place, deque(maxlen=estimates.KEPT)).append(done.took)
            self.held.append(done.took)
            if self.waiting:
                self.start(self.waiting.popleft(), instant)

    def take(self, task: Guessed) -> None:
        """A task arrives: guess, then let it run or wait."""
        now = task.arrived
        while self.ended and self.ended[0] <= now - 60_000:
            self.ended.popleft()
        durations = self._durations(task)
        task.seed = estimates.seed(task.size)
        task.typical = estimates.typical(durations, task.size, 0)
        oldest = self.waiting[0].arrived if self.waiting else now
        task.with_queue = task.typical + estimates.queue_wait(
            ahead=len(self.waiting),
            free=SLOTS - len(self.running),
            slots=SLOTS,
            pace=len(self.ended),
            busy_for=now - oldest,
            each=estimates.slot_time({_LANE: {0: tuple(self.held)}}, "mix", task.typical),
        )
        if len(self.running) < SLOTS:
            self.start(task, now)
        else:
            self.waiting.append(task)

    def start(self, task: Guessed, now: int) -> None:
        """It runs; what would be said of it halfway is what is known now."""
        task.started = now
        times = estimates.comparable(self._durations(task), task.size) or [task.seed]
        task.halfway = estimates.left(times, task.took // 2, 0)
        task.halfway_by_progress = estimates.left(times, task.took // 2, 50)
        heapq.heappush(self.running, (task.ended, task.number, task))

    def _durations(self, task: Guessed) -> estimates.Durations:
        kept = self.history.get(task.kind, {})
        return {place: tuple(times) for place, times in kept.items()}


def stream(count: int) -> list[Guessed]:
    """All tasks, guessed at and done."""
    lane, tasks = _Lane(), list(arrivals(count))
    for task in tasks:
        lane.pass_to(task.arrived)
        lane.take(task)
    lane.pass_to(tasks[-1].arrived + 10**12)
    return tasks
