"""Schedules on the wire."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import orjson
from typing_extensions import TypedDict

from stagepost.event import rfc3339
from stagepost.schedule import Schedule, Skipped, upcoming
from stagepost.web.schemas import StatusName, WaitingFor

_SHOWN = 10
"""Next runs that are shown."""

_DETAILS: Final[Mapping[Skipped, str]] = {
    Skipped.OVERLAP: "The run before had not ended.",
    Skipped.QUOTA: "The run before still waited for room in its tenant's quota (maxQueued).",
    Skipped.MISFIRE: "No process was there to start it in time.",
    Skipped.FULL: "As many runs waited as may wait.",
    Skipped.UNUSABLE: "Its time zone or cron expression is known no more; change the schedule.",
}


class LastRun(TypedDict):
    """The run that was submitted last.

    Where one schedule is asked for, `status` is its task's, and `waitingFor` what holds that up;
    they are null in lists, and once the task is not kept any more.
    """

    plannedAt: str
    taskId: str
    status: StatusName | None
    waitingFor: WaitingFor | None


class LastSkipped(TypedDict):
    """The last planned instant that has no run, and why; `detail` says it in a sentence."""

    plannedAt: str
    reason: Literal["overlap", "quota", "misfire", "full", "unusable"]
    detail: str


class Held(TypedDict):
    """Since when the next waiting run is refused, and why; it is tried again until it is taken."""

    since: str
    reason: Literal["quota"]
    detail: str


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
    held: Held | None
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
        "held": _held(schedule),
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
    return {
        "plannedAt": rfc3339(schedule.last_at),
        "taskId": schedule.last_task,
        "status": None,
        "waitingFor": None,
    }


def _held(schedule: Schedule) -> Held | None:
    if schedule.held_at is None or schedule.held_why is None:
        return None
    return {"since": rfc3339(schedule.held_at), "reason": "quota", "detail": schedule.held_why}


def _last_skipped(schedule: Schedule) -> LastSkipped | None:
    if schedule.skipped_at is None or schedule.skipped_why is None:
        return None
    reason: Any = schedule.skipped_why
    detail = _DETAILS[Skipped(reason)]
    return {"plannedAt": rfc3339(schedule.skipped_at), "reason": reason, "detail": detail}
