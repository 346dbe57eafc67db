"""Schedules on the wire."""

from typing import Any, Literal

import orjson
from typing_extensions import TypedDict

from stagepost.event import rfc3339
from stagepost.schedule import Schedule, upcoming

_SHOWN = 10
"""Next runs that are shown."""


class LastRun(TypedDict):
    """The run that was submitted last."""

    plannedAt: str
    taskId: str


class LastSkipped(TypedDict):
    """The last planned instant that has no run, and why."""

    plannedAt: str
    reason: Literal["overlap", "misfire", "full", "unusable"]


class ScheduleItem(TypedDict):
    """A schedule. One of `cron`, `everySeconds` and `at` is not null."""

    scheduleId: str
    name: str
    type: str
    input: Any
    cron: str | None
    everySeconds: int | None
    at: str | None
    timezone: str
    lane: str
    overlap: Literal["skip", "queue", "cancelOld"]
    misfire: Literal["skip", "once", "all"]
    jitterSeconds: int
    paused: bool
    tenant: str
    user: str
    createdAt: str
    nextRuns: list[str]
    waitingRuns: int
    lastRun: LastRun | None
    lastSkipped: LastSkipped | None


class Backfilled(TypedDict):
    """How many planned instants had no run yet, and get one."""

    matched: int


def schedule_item(schedule: Schedule, now: int) -> ScheduleItem:
    """One schedule."""
    plan = schedule.plan
    return {
        "scheduleId": schedule.id,
        "name": plan.name,
        "type": plan.type,
        "input": orjson.loads(plan.input),
        "cron": plan.cron,
        "everySeconds": plan.every,
        "at": None if plan.at is None else rfc3339(plan.at),
        "timezone": plan.timezone,
        "lane": plan.lane,
        "overlap": plan.overlap.value,
        "misfire": plan.misfire.value,
        "jitterSeconds": plan.jitter,
        "paused": plan.paused,
        "tenant": schedule.tenant,
        "user": schedule.user,
        "createdAt": rfc3339(schedule.created_at),
        "nextRuns": _next_runs(schedule, now),
        "waitingRuns": schedule.waiting,
        "lastRun": _last_run(schedule),
        "lastSkipped": _last_skipped(schedule),
    }


def _next_runs(schedule: Schedule, now: int) -> list[str]:
    try:
        return [rfc3339(instant) for instant in upcoming(schedule, now, _SHOWN)]
    except ValueError:
        # It is `unusable`: its time zone is known no more.
        return []


def _last_run(schedule: Schedule) -> LastRun | None:
    if schedule.last_at is None or schedule.last_task is None:
        return None
    return {"plannedAt": rfc3339(schedule.last_at), "taskId": schedule.last_task}


def _last_skipped(schedule: Schedule) -> LastSkipped | None:
    if schedule.skipped_at is None or schedule.skipped_why is None:
        return None
    reason: Any = schedule.skipped_why
    return {"plannedAt": rfc3339(schedule.skipped_at), "reason": reason}
