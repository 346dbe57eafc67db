"""What one look makes of a schedule that is due. Pure.

Instants are milliseconds since 1970-01-01 UTC.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile
from typing import Final

from stagepost.schedule import Misfire, Overlap, Schedule, Skipped, due_at, due_of
from stagepost.timing import Timing

MISFIRE_AFTER: Final = 10_000
"""Milliseconds: a run that starts later than this has missed its instant.

Another process takes the lead, and one that died is started again, in less.
"""
MADE_UP_MOST: Final = 100
"""Missed instants that are made up at once; of more, the latest."""
_ON_TIME_MOST: Final = MISFIRE_AFTER // 1000 + 1  # of a schedule each second
QUEUED_MOST: Final = 100
"""Live runs that wait for the one before; of more, the newest are skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """What one look makes of a schedule that is due; counts only for that `version` of it.

    `live` is the instant that is taken now, `made_up` those that follow one another beside it.
    """

    schedule_id: str
    version: int
    live: int | None = None
    made_up: tuple[int, ...] = ()
    next_at: int | None = None
    due_at: int | None = None
    skipped_at: int | None = None
    skipped_why: Skipped | None = None


def firing(schedule: Schedule, now: int) -> Firing:
    """What is to be done for a schedule that is due. May take a while: not in an event loop.

    An instant is on time unless it is late by more than MISFIRE_AFTER. Of several that are, the
    first is taken now; the next look finds the others still due.
    """
    assert schedule.next_at is not None
    jitter = schedule.plan.jitter
    found = _latest(schedule.timing, schedule.next_at, now)
    due = [*takewhile(lambda each: due_of(schedule.id, each, jitter) <= now, found)]
    if not due:
        return _moved(schedule, schedule.next_at)
    missed = [*takewhile(lambda each: _is_late(schedule, each, now), due)]
    live = due[len(missed)] if len(missed) < len(due) else None
    last = missed[-1] if live is None else live
    made = _moved(schedule, next(schedule.timing.instants(last), None))
    match schedule.plan.misfire:
        case Misfire.ONCE:
            return replace(made, live=last)
        case Misfire.ALL:
            return replace(made, live=live, made_up=tuple(missed[-MADE_UP_MOST:]))
        case Misfire.SKIP:
            if not missed:
                return replace(made, live=live)
            return replace(made, live=live, skipped_at=missed[-1], skipped_why=Skipped.MISFIRE)


def _is_late(schedule: Schedule, planned: int, now: int) -> bool:
    return now - due_of(schedule.id, planned, schedule.plan.jitter) > MISFIRE_AFTER


def unusable(schedule: Schedule) -> Firing:
    """A schedule whose timing is not understood any more: it stands still until it is changed."""
    return Firing(
        schedule_id=schedule.id,
        version=schedule.version,
        skipped_at=schedule.next_at,
        skipped_why=Skipped.UNUSABLE,
    )


def _moved(schedule: Schedule, next_at: int | None) -> Firing:
    return Firing(
        schedule_id=schedule.id,
        version=schedule.version,
        next_at=next_at,
        due_at=due_at(schedule, next_at),
    )


def _latest(timing: Timing, first: int, until: int) -> Sequence[int]:
    """The last instants from `first` to `until`: MADE_UP_MOST at most, and those on time.

    Looks back in strides that grow, so that a year that was missed takes no longer than a day.
    """
    most = MADE_UP_MOST + _ON_TIME_MOST
    stride = most * timing.shortest
    while True:
        after = max(first - 1, until - stride)
        instants = takewhile(lambda each: each <= until, timing.instants(after))
        found = deque(instants, maxlen=most)
        if len(found) == most or after < first:
            return list(found)
        stride *= 4


class Verdict(StrEnum):
    """What the overlap policy makes of a live instant."""

    TAKE = "take"
    CANCEL = "cancel"
    SKIP = "skip"
    FULL = "full"


def verdict(overlap: Overlap, running: int, waiting: int) -> Verdict:
    """Whether a live instant is taken: `running` runs of its stream go on, `waiting` wait."""
    if not running and not waiting:
        return Verdict.TAKE
    match overlap:
        case Overlap.SKIP:
            return Verdict.SKIP
        case Overlap.QUEUE:
            return Verdict.TAKE if waiting < QUEUED_MOST else Verdict.FULL
        case Overlap.CANCEL_OLD:
            return Verdict.CANCEL


def without(schedule: Schedule, dropped: Sequence[int], running: int) -> Schedule:
    """The schedule once a newer live run has taken the place of those planned for `dropped`.

    `running` runs went on then.
    """
    if not dropped:
        return schedule
    return replace(
        schedule,
        waiting=schedule.waiting - len(dropped),
        skipped_at=max(dropped),
        skipped_why=why_left_out(schedule, Verdict.CANCEL, running),
    )


def why_left_out(schedule: Schedule, made: Verdict, running: int) -> Skipped:
    """Why the policy leaves out a live instant, while `running` runs of its stream go on.

    Where none does, the run before waits itself; and the reason is what refuses that one.
    """
    if not running and schedule.held_at is not None:
        return Skipped.QUOTA
    return Skipped.FULL if made is Verdict.FULL else Skipped.OVERLAP
