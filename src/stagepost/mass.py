"""A change of many tasks at once: redrive, cancel or discard, done page by page.

How fast it goes and when it ends is decided here, by pure functions; stores keep it and apply it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple

from stagepost.records import Filter, Resume, Scope
from stagepost.task import SETTLED, Status

PAGE: Final = 100
"""Tasks that are changed in one transaction."""

SCAN: Final = 10_000
"""Tasks that are looked at for one page: what a filter finds may be rare among many."""

WINDOW: Final = 100
"""Redriven tasks that may be on their way at once: how many a bad redrive spoils at most."""

RECENT: Final = 20
"""Ends that are remembered, to see whether one kind of failure repeats."""

REPEATS: Final = 5
"""So many of one kind among them, and more than half, stop a redrive."""

OVER: Final = SETTLED
"""The statuses in which a redriven task has ended."""

_BURST: Final = 2_000  # milliseconds of a paced redrive that may go out at once


class Kind(StrEnum):
    """What is done to each task."""

    REDRIVE = "redrive"
    CANCEL = "cancel"
    DISCARD = "discard"


class State(StrEnum):
    """Where a change of many stands."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class MassChange:
    """What is to be done to which tasks.

    Which: those of `task_ids`, or those that `where` finds; `statuses` of it are those in which a
    task is changed, and what came into them after the change began is not meant. `attempts` are the
    new tries of a redriven task by its type; tasks of other types are left alone. `canary` tasks go
    first and alone; `per_minute` is the pace, without which only the window bounds it. A corrected
    input in `resume` goes with `task_ids`, in the order of the ids.
    """

    id: str
    kind: Kind
    scope: Scope
    by: str
    where: Filter = field(default_factory=Filter)
    task_ids: tuple[str, ...] = ()
    reason: str = ""
    resume: Resume = field(default_factory=Resume)
    attempts: Mapping[str, int] = field(default_factory=dict)
    per_minute: int | None = None
    canary: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a change of many is.

    `sent` counts the tasks that were changed. Of redriven ones `completed` and `failed` count those
    that have ended since: a failed one is a dead letter again. `recent` are the last such ends: the
    failure kind, or "" for a completed one. `cursor` is the last task that was looked at; `next_at`
    the instant from which a paced redrive may send its next one. `open` is true while there is
    something left to do or to be counted.
    """

    state: State = State.RUNNING
    matched: int = 0
    sent: int = 0
    completed: int = 0
    failed: int = 0
    why: str | None = None
    cursor: str = ""
    next_at: int = 0
    recent: tuple[str, ...] = ()
    created_at: int = 0
    ended_at: int | None = None
    open: bool = True


class Advance(NamedTuple):
    """What one page has done; `refusal` is why the last of the tasks it left out was left out.

    After a `full` one the next may follow at once.
    """

    progress: Progress
    full: bool = False
    refusal: Exception | None = None


class Found(NamedTuple):
    """What a store found to be changed next: `ids`, and the `cursor` up to which it has looked.

    `exhausted`: there is none behind it.
    """

    ids: list[str]
    cursor: str
    exhausted: bool


NOTHING: Final = Found([], "", exhausted=False)
"""Where nothing was looked for."""


def chosen(change: MassChange, cursor: str, want: int) -> Found:
    """The next of the tasks that a change names."""
    left = [task_id for task_id in change.task_ids if task_id > cursor]
    ids = left[:want]
    return Found(ids, ids[-1] if ids else cursor, exhausted=len(ids) == len(left))


def looked(ids: list[str], bound: str | None, cursor: str, want: int) -> Found:
    """The next of those that a filter finds behind the cursor, up to a bound if there is one."""
    if len(ids) == want:
        return Found(ids, ids[-1], exhausted=False)
    last = ids[-1] if ids else cursor
    return Found(ids, bound or last, exhausted=bound is None)


def cut_short(found: Found, task_id: str, cursor: str) -> Found:
    """The same up to a task that could not be sent yet: the next look begins with that one."""
    before = found.ids[: found.ids.index(task_id)]
    return Found(before, before[-1] if before else cursor, exhausted=False)


class End(NamedTuple):
    """How a redriven task has ended; status None: it is not kept any more."""

    task_id: str
    status: Status | None
    failure_kind: str | None


def allowance(change: MassChange, progress: Progress, on_the_way: int, now: int) -> int:
    """How many tasks may be changed now, when so many redriven ones have not ended yet."""
    if progress.state is not State.RUNNING:
        return 0
    if change.kind is not Kind.REDRIVE:
        return PAGE
    room = WINDOW - on_the_way
    if change.canary is not None and progress.sent <= change.canary:
        left = change.canary - progress.sent
        room = min(room, left) if left or on_the_way else room
    if change.per_minute is not None:
        room = min(room, _paced(change.per_minute, progress.next_at, now))
    return max(0, min(room, PAGE))


def _paced(per_minute: int, next_at: int, now: int) -> int:
    if now < next_at:
        return 0
    # After a pause of the engine's own nothing is made up for but a moment's worth.
    return 1 + round(min(now - next_at, _BURST) * per_minute / 60_000)


def ended(progress: Progress, ends: Sequence[End]) -> Progress:
    """The same with these ends counted."""
    completed = sum(end.status is Status.COMPLETED for end in ends)
    failed = [end.failure_kind or "" for end in ends if end.status is Status.DEAD_LETTER]
    recent = (*progress.recent, *[""] * completed, *failed)[-RECENT:]
    return replace(
        progress,
        completed=progress.completed + completed,
        failed=progress.failed + len(failed),
        recent=recent,
    )


def sent(change: MassChange, progress: Progress, cursor: str, many: int, now: int) -> Progress:
    """The same with so many more changed, and all up to the cursor looked at."""
    next_at = progress.next_at
    if change.per_minute is not None and many:
        next_at = max(next_at, now - _BURST) + many * 60_000 // change.per_minute
    return replace(progress, sent=progress.sent + many, cursor=cursor, next_at=next_at)


def judged(
    change: MassChange, progress: Progress, on_the_way: int, now: int, *, exhausted: bool
) -> Progress:
    """The same, stopped if its tasks fail again, or done if there is none left."""
    if progress.state is State.RUNNING:
        why = _why_stop(change, progress)
        if why is not None:
            progress = stopped(progress, why, now)
        elif exhausted and not on_the_way:
            progress = replace(progress, state=State.DONE, ended_at=now)
    return replace(progress, open=progress.state is State.RUNNING or on_the_way > 0)


def stopped(progress: Progress, why: str, now: int) -> Progress:
    """The same, stopped; what is on its way is still counted. One that has ended stays as it is."""
    if progress.state is not State.RUNNING:
        return progress
    return replace(progress, state=State.STOPPED, why=why, ended_at=now)


def spent(change: MassChange, progress: Progress) -> MassChange:
    """The same without the corrected input of a redrive that sends no further task.

    What the tasks were given is theirs, and goes with them.
    """
    if change.resume.input is None:
        return change
    through = bool(change.task_ids) and progress.cursor >= change.task_ids[-1]
    if progress.state is State.RUNNING and not through:
        return change
    return replace(change, resume=Resume(fresh=True))


def awaits(change: MassChange, task_id: str) -> bool:
    """Whether a change has an input that was meant for a task, perhaps among others."""
    return change.resume.input is not None and task_id in change.task_ids


def bereft(progress: Progress, task_id: str, now: int) -> Progress:
    """The same when a task that its input was meant for is erased, and the input with it."""
    return stopped(progress, f"the task {task_id}, for which its input was, has been erased", now)


def _why_stop(change: MassChange, progress: Progress) -> str | None:
    kinds = Counter(kind for kind in progress.recent if kind)
    if not kinds:
        return None
    kind, many = kinds.most_common(1)[0]
    if change.canary is not None and progress.sent <= change.canary:
        return f"{progress.failed} of {progress.sent} canaries failed again, the last with {kind}"
    if many >= REPEATS and 2 * many > len(progress.recent):
        return f"{many} of the last {len(progress.recent)} failed again with {kind}"
    return None
