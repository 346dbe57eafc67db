"""How long a task will take, from how long others of its type took. Pure.

What is learnt is the time from a task's first start to its completion, whatever happened in
between, of the latest tasks of each type and class of input size. The guess is the median of those
that can be compared; of a task that runs, the median of what those that took longer than it has run
so far still had before them. Before there is any history the seed formula has to do, and where a
size has too few, its neighbours' times are taken in the formula's proportion.

Times are milliseconds, sizes bytes: a task's files and its input as JSON text.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from statistics import mean, median
from typing import Final, NamedTuple

from stagepost.task import Status, Task

Durations = Mapping[int, Sequence[int]]
"""By size class, how long the latest tasks of one type took."""

History = Mapping[str, Durations]
"""The same by type; and by `of_lane` how long the latest claims of a lane held a worker's slot."""

KEPT: Final = 64
"""Times kept of each type and size class: enough for a median, few enough to follow a change."""

_CLASSES: Final = 23
_ENOUGH: Final = 8  # times that make a neighbour's help unnecessary
_BUSY_FOR: Final = 60_000  # ms of backlog, after which the last minute's completions tell its pace


def of_lane(name: str) -> str:
    """Where the history has a lane's claims, all in size class 0; no type is called so."""
    return f"lane {name}"


def of_cost(type_name: str) -> str:
    """Where the history has what tasks of a type have cost, in millionths of a US dollar."""
    return f"cost {type_name}"


def of_tokens(type_name: str) -> str:
    """Where it has the tokens that they have sent and received."""
    return f"tokens {type_name}"


def size_class(size: int) -> int:
    """The class of an input: 0 below 1 KiB, then one more each time it doubles."""
    return min(_CLASSES - 1, (size >> 10).bit_length())


def seed(upload_bytes: int) -> int:
    """The time of a task of whose type nothing is known, by its files alone."""
    return ((upload_bytes // 102_400) * 5 + 10) * 1000


def comparable(durations: Durations, size: int) -> Sequence[int]:
    """Times of tasks like one of this size, in order; none when there is no history."""
    if not durations:
        return ()
    place = size_class(size)
    found = list(durations.get(place, ()))
    for away in range(1, _CLASSES):
        if len(found) >= _ENOUGH:
            break
        for neighbour in (place - away, place + away):
            scale = _proportion(place, neighbour)
            found += [round(each * scale) for each in durations.get(neighbour, ())]
    return sorted(found)


class Guess(NamedTuple):
    """What tasks usually take, what nine of ten stay below, and by how many that is known."""

    usual: int
    high: int
    by: int


def guessed(history: Durations, size: int) -> Guess | None:
    """What a task of this size will take, of whatever the history has; None where it has none."""
    found = comparable(history, size)
    if not found:
        return None
    return Guess(round(median(found)), found[ceil(len(found) * 0.9) - 1], len(found))


def on_average(history: Durations) -> float | None:
    """What many tasks of any size will take each; None where the history has none."""
    found = [each for latest in history.values() for each in latest]
    return mean(found) if found else None


def _proportion(place: int, neighbour: int) -> float:
    return seed(_middle(place)) / seed(_middle(neighbour))


def _middle(place: int) -> int:
    return 0 if place <= 0 else 3 << (place + 8)


def typical(durations: Durations, upload_bytes: int, input_bytes: int) -> int:
    """How long a task that begins now will take."""
    found = comparable(durations, upload_bytes + input_bytes)
    return round(median(found)) if found else seed(upload_bytes)


def slot_time(history: History, lane: str, otherwise: int) -> int:
    """How long a task of the lane holds a slot, on average of the latest."""
    held = history.get(of_lane(lane), {}).get(0)
    return round(mean(held)) if held else otherwise


def left(times: Sequence[int], elapsed: int, progress: int) -> int:
    """What a task has before it that has run for `elapsed` and says that it is so far, in percent.

    The further it is, the more its own pace counts. Once it has run longer than any other, only
    that is left to go by.
    """
    longer = [each for each in times if each > elapsed]
    usual = max(0.0, median(longer) - elapsed) if longer else 0.0
    if not 0 < progress < 100:
        return round(usual)
    at_its_pace = elapsed * (100 - progress) / progress
    share = progress / 100 if longer else 1.0
    return round((1 - share) * usual + share * at_its_pace)


def remaining(task: Task, durations: Durations, input_bytes: int, now: int, queue: int) -> int:
    """What a task that is not settled has before it; `queue` is its wait for a worker.

    What nobody knows, such as when a person will answer, is not in it.
    """
    times = comparable(durations, task.upload_bytes + input_bytes) or [seed(task.upload_bytes)]
    whole = round(median(times))
    match task.status:
        case Status.PENDING:
            return max(0, task.run_at - now) + queue + whole
        case Status.RUNNING:
            return left(times, _elapsed(task, now), task.progress)
        case Status.WAITING if task.wait is not None and task.wait.kind == "child":
            return left(times, _elapsed(task, now), task.progress)
    return _pause(task, now) + queue + round(whole * (100 - task.progress) / 100)


def _pause(task: Task, now: int) -> int:
    wait = task.wait
    if wait is not None and wait.kind == "signal":
        return 0  # `until` is when it is given up, not when it comes
    until = wait.until if wait is not None else task.due_at
    return max(0, until - now) if until is not None else 0


def _elapsed(task: Task, now: int) -> int:
    return max(0, now - task.started_at) if task.started_at is not None else 0


def queue_wait(*, ahead: int, free: int, slots: int, pace: int, busy_for: int, each: int) -> int:
    """How long a task waits for a worker that has so many queued tasks before it.

    `free` of the workers' `slots` have nothing to do. `pace` is how many tasks of the lane ended in
    the last minute: what it can do, if there was a backlog all the time (`busy_for`). Before that
    it can do at least as much; and as much as slots can whose tasks hold them for `each`. No time
    when there are no workers: how long that will be so, nobody knows.
    """
    waiting = ahead - free + 1
    if waiting <= 0 or slots <= 0:
        return 0
    by_pace = waiting * 60_000 // pace if pace > 0 else None
    if by_pace is not None and busy_for >= _BUSY_FOR:
        return by_pace
    by_slots = waiting * each // slots
    return by_slots if by_pace is None else min(by_pace, by_slots)
