"""Between rows of schedules and the domain's data, alike in every store."""

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import Any, Final

import orjson

from stagepost.errors import Conflict, NotFound
from stagepost.records import NewTask, Scope
from stagepost.schedule import WAITING_MOST, Misfire, Overlap, Plan, Schedule, filled
from stagepost.store.schedules import Run
from stagepost.stores.rows import json

SCHEDULE_FIELDS: Final = tuple(field.name for field in fields(Schedule))
"""Every field of a Schedule is a column of the same name; its plan is JSON."""

_PLAN: Final = SCHEDULE_FIELDS.index("plan")

TRIMMED_EVERY: Final = 256
"""Changes of a schedule after which runs that are too many are forgotten."""


def plan_text(plan: Plan) -> str:
    """A plan as it is kept."""
    return json(asdict(plan))


def schedule_of(row: Sequence[Any]) -> Schedule:
    """A Schedule from a row whose first columns are SCHEDULE_FIELDS."""
    values = dict(zip(SCHEDULE_FIELDS, row, strict=False))
    plan = orjson.loads(values["plan"])
    plan["overlap"], plan["misfire"] = Overlap(plan["overlap"]), Misfire(plan["misfire"])
    values["plan"] = Plan(**plan)
    values["id"] = str(values["id"])
    if values["last_task"] is not None:
        values["last_task"] = str(values["last_task"])
    return Schedule(**values)


def row_of_schedule(schedule: Schedule) -> list[Any]:
    """The values of SCHEDULE_FIELDS."""
    values = [getattr(schedule, name) for name in SCHEDULE_FIELDS]
    values[_PLAN] = plan_text(schedule.plan)
    return values


def task_of_run(schedule: Schedule, planned_at: int, task_id: str) -> NewTask:
    """The submit of a run: the tags name the schedule and the planned instant."""
    plan = schedule.plan
    return NewTask(
        task_id,
        schedule.tenant,
        schedule.user,
        plan.type,
        plan.lane,
        filled(plan.input, planned_at),
        plan.max_attempts,
        plan.ttl,
        task_id.replace("-", ""),
        tags=schedule.tags_at(planned_at),
    )


def started(schedule: Schedule, run: Run) -> Schedule:
    """The schedule, one of whose waiting runs was submitted."""
    return replace(
        schedule,
        waiting=schedule.waiting - 1,
        last_at=run.planned_at,
        last_task=run.task_id,
    )


def sees(scope: Scope, schedule: Schedule) -> bool:
    """Whether a schedule lies in a scope."""
    return scope.tenant in {None, schedule.tenant} and scope.user in {None, schedule.user}


def absent(schedule_id: str) -> NotFound:
    """The refusal for a schedule that the caller can't see."""
    return NotFound(f"There is no schedule {schedule_id}.")


def too_many(most: int) -> Conflict:
    """The refusal of one more schedule."""
    return Conflict(f"A tenant has at most {most} schedules; remove some.")


def moved_on() -> Conflict:
    """The refusal of a change of what somebody else has changed."""
    return Conflict("The schedule was changed meanwhile; look at it again.")


def check_backfill(schedule: Schedule, planned: Sequence[int], waiting: int) -> None:
    """Refuse what can't be made up while so many that are made up wait. Raises Conflict."""
    forgotten = schedule.forgotten_at
    if forgotten is not None and planned and min(planned) <= forgotten:
        raise Conflict(
            "The schedule does not remember its runs so far back, and would make some twice; "
            "begin the backfill later."
        )
    if waiting + len(planned) > WAITING_MOST:
        raise Conflict(
            f"At most {WAITING_MOST} runs of a schedule wait to be made up; let some of them go "
            "first, or backfill less."
        )
