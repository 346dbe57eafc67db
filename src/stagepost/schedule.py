"""A schedule: a task that is submitted again and again, at instants that are planned. Pure.

Terms
    *planned instant*   when a run is meant to start; with the schedule it names the run, so that
                        no two processes, restarts or backfills make two runs of one.
    *due*               the planned instant and its jitter, which is the same whenever it is asked.
    *misfire*           an instant that was not seen in time, since no process was there.
    *run*               a planned instant that was taken: a task, or one that waits to be submitted.
    *stream*            runs that follow one another, never two at once: the LIVE ones, and those
                        that are MADE_UP afterwards (backfills, and misfires that are all wanted).

Instants are milliseconds since 1970-01-01 UTC.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final

from stagepost.event import rfc3339
from stagepost.timing import Cron, Every, Once, Timing

WAITING_MOST: Final = 1_000
"""Runs of one stream of a schedule that wait to be submitted, and instants of one backfill."""
PLANNED_AT: Final = "{plannedAt}"
"""Where an input holds this text alone, a run's input holds its planned instant."""
REMEMBERED: Final = 10_000
"""Runs of one schedule that are remembered, so that none is made twice."""


def filled(text: str, planned: int) -> str:
    """A JSON input as the run of a planned instant has it: see PLANNED_AT."""
    return text.replace(f'"{PLANNED_AT}"', f'"{rfc3339(planned)}"')


class Overlap(StrEnum):
    """What becomes of an instant that comes while the run before still goes on."""

    SKIP = "skip"
    QUEUE = "queue"
    CANCEL_OLD = "cancelOld"


class Misfire(StrEnum):
    """What becomes of the instants that were missed: none, one for all, or all is made up."""

    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


class Stream(StrEnum):
    """Which runs a run follows."""

    LIVE = "live"
    MADE_UP = "made-up"


class Skipped(StrEnum):
    """Why an instant has no run."""

    OVERLAP = "overlap"
    QUOTA = "quota"
    MISFIRE = "misfire"
    FULL = "full"
    UNUSABLE = "unusable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done, and when: exactly one of `cron`, `every` (seconds) and `at`.

    `input` is JSON text, see `filled`; `jitter` is seconds. `ttl` (seconds) and `max_attempts` are
    the type's.
    """

    name: str
    type: str
    input: str
    lane: str
    cron: str | None = None
    every: int | None = None
    at: int | None = None
    timezone: str = "UTC"
    overlap: Overlap = Overlap.SKIP
    misfire: Misfire = Misfire.SKIP
    jitter: int = 0
    paused: bool = False
    max_attempts: int
    ttl: float

    def timing(self, anchor: int) -> Timing:
        """When it runs; an interval counts from the anchor. Raises ValueError."""
        if self.cron is not None:
            return Cron(self.cron, self.timezone)
        if self.every is not None:
            return Every(self.every, anchor)
        assert self.at is not None
        return Once(self.at)

    @property
    def when(self) -> tuple[str | int | None, ...]:
        """What the planned instants depend on."""
        return (self.cron, self.every, self.at, self.timezone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A plan, whose it is, and how far it has come.

    `next_at` is the next planned instant, `due_at` when it is due; both are None when none comes,
    `due_at` also while it is paused. `version` rises with each change. `waiting` counts runs that
    are not submitted yet. `forgotten_at` is the latest instant whose run is remembered no more.
    `held_at` is since when a run that could start is refused, as its tenant has no room, and
    `held_why` the refusal; it is tried again at each look.
    """

    id: str
    tenant: str
    user: str
    plan: Plan
    created_at: int
    anchor: int
    next_at: int | None
    due_at: int | None
    version: int = 1
    waiting: int = 0
    last_at: int | None = None
    last_task: str | None = None
    skipped_at: int | None = None
    skipped_why: str | None = None
    forgotten_at: int | None = None
    held_at: int | None = None
    held_why: str | None = None

    @property
    def timing(self) -> Timing:
        """When it runs."""
        return self.plan.timing(self.anchor)

    def tags_at(self, planned: int) -> tuple[str, str]:
        """By which the task of a run is found."""
        return (f"schedule:{self.id}", f"planned:{rfc3339(planned)}")


def begun(schedule_id: str, tenant: str, user: str, plan: Plan, now: int) -> Schedule:
    """A new schedule. Raises ValueError for a timing that can't be understood."""
    schedule = Schedule(
        id=schedule_id,
        tenant=tenant,
        user=user,
        plan=plan,
        created_at=now,
        anchor=now,
        next_at=None,
        due_at=None,
    )
    return _from(schedule, now)


def changed(schedule: Schedule, plan: Plan, now: int) -> Schedule:
    """The schedule with another plan. What was missed while it was paused stays undone."""
    moved = plan.when != schedule.plan.when
    after = replace(
        schedule,
        plan=plan,
        version=schedule.version + 1,
        anchor=now if moved else schedule.anchor,
    )
    if plan.paused:
        # Nothing of it is tried now.
        after = held(after, None, now)
    if moved or plan.paused != schedule.plan.paused:
        return _from(after, now)
    return replace(after, due_at=due_at(after, schedule.next_at))


def held(schedule: Schedule, refusal: str | None, now: int) -> Schedule:
    """The schedule after its waiting runs were tried: one was refused, or None was."""
    if refusal is None:
        return replace(schedule, held_at=None, held_why=None)
    since = now if schedule.held_at is None else schedule.held_at
    return replace(schedule, held_at=since, held_why=refusal)


def _from(schedule: Schedule, now: int) -> Schedule:
    next_at = next(schedule.timing.instants(now), None)
    return replace(schedule, next_at=next_at, due_at=due_at(schedule, next_at))


def due_at(schedule: Schedule, planned: int | None) -> int | None:
    """When a schedule's planned instant is due; None while it is paused."""
    if planned is None or schedule.plan.paused:
        return None
    return due_of(schedule.id, planned, schedule.plan.jitter)


def due_of(schedule_id: str, planned: int, jitter: int) -> int:
    """When a planned instant is due: up to `jitter` seconds later, the same in every process."""
    if not jitter:
        return planned
    drawn = hashlib.sha256(f"{schedule_id}/{planned}".encode()).digest()
    return planned + int.from_bytes(drawn[:8]) % (jitter * 1000 + 1)


def upcoming(schedule: Schedule, now: int, count: int) -> Sequence[int]:
    """The next planned instants; of a paused schedule those that it would have."""
    if schedule.next_at is None:
        return ()
    after = max(schedule.next_at - 1, now) if schedule.plan.paused else schedule.next_at - 1
    return [*islice(schedule.timing.instants(after), count)]
