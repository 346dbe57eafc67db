"""What a program does with schedules: begin, look, change, backfill, end."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any, Final

import orjson
from pydantic import BaseModel
from uuid_utils import uuid7

from stagepost.caller import LOCAL, Caller
from stagepost.errors import Conflict, Invalid, UnknownType
from stagepost.registry import App
from stagepost.schedule import WAITING_MOST, Misfire, Overlap, Plan, Schedule, filled
from stagepost.store.schedules import Schedules
from stagepost.timing import EARLIEST, LATEST, Cron, Timing, zone_of

MOST: Final = 1_000
"""Schedules of one tenant."""
LONGEST_INTERVAL: Final = 366 * 86_400  # seconds
LONGEST_JITTER: Final = 3_600  # seconds
_AHEAD: Final = 366 * 86_400_000
_LONGEST_INPUT: Final = 64 * 1024  # bytes of JSON; a page of schedules has two hundred
_NO_FILES: Final = "The input of a schedule can't name files."
_TIMINGS: Final[Mapping[str, str]] = {"cron": "cron", "every": "everySeconds", "at": "at"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A schedule as a caller describes it: exactly one of `cron`, `every` and `at`.

    `every` and `jitter` are seconds, `at` is ms since 1970. Without a lane it is the type's.
    """

    name: str
    type: str
    input: Any = None
    cron: str | None = None
    every: int | None = None
    at: int | None = None
    timezone: str = "UTC"
    lane: str | None = None
    overlap: Overlap = Overlap.SKIP
    misfire: Misfire = Misfire.SKIP
    jitter: int = 0
    paused: bool = False


def wish_of(schedule: Schedule) -> Wish:
    """What a caller would describe as the schedule that is there."""
    plan = schedule.plan
    return Wish(
        name=plan.name,
        type=plan.type,
        input=orjson.loads(plan.input),
        cron=plan.cron,
        every=plan.every,
        at=plan.at,
        timezone=plan.timezone,
        lane=plan.lane,
        overlap=plan.overlap,
        misfire=plan.misfire,
        jitter=plan.jitter,
        paused=plan.paused,
    )


class Scheduling:
    """Every verb that callers have for schedules.

    Raises Invalid, whose locations are those of the HTTP body; NotFound for what is another's;
    Conflict for what is full or was changed meanwhile.
    """

    def __init__(self, app: App, schedules: Schedules, lanes: Collection[str]) -> None:
        self._app = app
        self._schedules = schedules
        self._lanes = lanes

    async def create(self, wish: Wish, *, caller: Caller = LOCAL) -> Schedule:
        """Begin a schedule; an interval counts from now."""
        plan = self._plan(wish, await self._schedules.now())
        return await self._schedules.add(str(uuid7()), caller.tenant, caller.user, plan, MOST)

    async def get(self, schedule_id: str, *, caller: Caller = LOCAL) -> Schedule:
        """A schedule as it stands."""
        return await self._schedules.get(schedule_id, caller.scope)

    async def find(
        self, *, caller: Caller = LOCAL, after: str | None = None, limit: int = 50
    ) -> Sequence[Schedule]:
        """The caller's schedules, oldest first, a page behind the id `after`."""
        return await self._schedules.find(caller.scope, after, limit)

    async def change(self, before: Schedule, wish: Wish, *, caller: Caller = LOCAL) -> Schedule:
        """Give a schedule another plan; what stays as it was is not checked again."""
        plan = self._plan(wish, await self._schedules.now(), before.plan)
        return await self._schedules.change(before.id, caller.scope, before.plan, plan)

    async def remove(self, schedule_id: str, *, caller: Caller = LOCAL) -> None:
        """End a schedule; the tasks that it has submitted go on."""
        await self._schedules.remove(schedule_id, caller.scope)

    async def backfill(
        self, schedule_id: str, start: int, end: int, *, caller: Caller = LOCAL
    ) -> int:
        """Make up, one after the other, the planned instants from `start` on and before `end`.

        The range lies in the past. Answers how many had no run yet.
        """
        if end > await self._schedules.now():
            raise _invalid("to", "The range of a backfill must lie in the past.")
        schedule = await self._schedules.get(schedule_id, caller.scope)
        try:
            timing = schedule.timing
        except ValueError as error:
            raise Conflict(f"The schedule stands still: {error}") from error
        planned = _range(timing, start, end, WAITING_MOST + 1)
        if len(planned) > WAITING_MOST:
            raise _invalid("from", f"A backfill has at most {WAITING_MOST} runs; shorten it.")
        return await self._schedules.backfill(schedule_id, caller.scope, planned)

    def _plan(self, wish: Wish, now: int, before: Plan | None = None) -> Plan:
        try:
            task_type = self._app.get(wish.type)
        except UnknownType as error:
            raise _invalid("type", str(error)) from error
        plan = Plan(
            name=wish.name,
            type=wish.type,
            input=self._input(wish, before),
            lane=wish.lane or task_type.lane,
            cron=wish.cron,
            every=wish.every,
            at=wish.at,
            timezone=wish.timezone,
            overlap=wish.overlap,
            misfire=wish.misfire,
            jitter=wish.jitter,
            paused=wish.paused,
            max_attempts=task_type.retry.attempts,
            ttl=task_type.ttl,
        )
        if plan.lane not in self._lanes:
            there = ", ".join(self._lanes)
            raise _invalid("lane", f'There is no lane "{plan.lane}"; there are: {there}.')
        _check_timing(plan)
        if before is None or plan.when != before.when:
            _check_to_come(plan, now)
        _check_jitter(plan)
        return plan

    def _input(self, wish: Wish, before: Plan | None) -> str:
        raw = _json(wish.input)
        if before is not None and (before.type, before.input) == (wish.type, raw):
            return raw
        task_type = self._app.get(wish.type)
        sample = filled(raw, EARLIEST)
        try:
            text = task_type.dump(task_type.parse(orjson.loads(sample)))
        except Invalid as error:
            files = task_type.file_names()
            faults = [
                (("input", *where), _NO_FILES if where and where[0] in files else says)
                for where, says in error.errors
            ]
            raise Invalid(str(error), faults) from error
        # An input with the planned instant in it is completed at each run.
        text = text if sample == raw else raw
        if len(text.encode()) > _LONGEST_INPUT:
            raise _invalid("input", "The input of a schedule has at most 64 KiB.")
        return text


def preview(cron: str, timezone: str, start: int, end: int, most: int) -> Sequence[int]:
    """The first planned instants from `start` on and before `end`. Raises Invalid."""
    try:
        zone_of(timezone)
    except ValueError as error:
        raise _invalid("timezone", str(error)) from error
    try:
        return _range(Cron(cron, timezone), start, end, most)
    except ValueError as error:
        raise _invalid("cron", str(error)) from error


def _range(timing: Timing, start: int, end: int, most: int) -> Sequence[int]:
    if not EARLIEST <= start < end <= LATEST:
        raise _invalid("from", "The range begins after 1999, and before it ends.")
    return [*islice(takewhile(lambda each: each < end, timing.instants(start - 1)), most)]


def _check_timing(plan: Plan) -> None:
    given = [name for name in _TIMINGS if getattr(plan, name) is not None]
    if len(given) != 1:
        raise _invalid("cron", "Give exactly one of cron, everySeconds and at.")
    if plan.every is not None and not 1 <= plan.every <= LONGEST_INTERVAL:
        raise _invalid("everySeconds", f"An interval has 1 to {LONGEST_INTERVAL} seconds.")
    try:
        zone_of(plan.timezone)
    except ValueError as error:
        raise _invalid("timezone", str(error)) from error
    try:
        plan.timing(anchor=0)
    except ValueError as error:
        raise _invalid("cron", str(error)) from error


def _check_to_come(plan: Plan, now: int) -> None:
    if plan.at is not None and not now < plan.at <= now + _AHEAD:
        raise _invalid("at", "The instant must lie in the future, at most a year ahead.")
    if next(plan.timing(now).instants(now), None) is None:
        raise _invalid("cron", f'"{plan.cron}" names a day that never comes.')


def _check_jitter(plan: Plan) -> None:
    if not 0 <= plan.jitter <= LONGEST_JITTER:
        raise _invalid("jitterSeconds", f"Jitter has 0 to {LONGEST_JITTER} seconds.")
    if plan.every is not None and plan.jitter >= plan.every:
        raise _invalid("jitterSeconds", "Jitter is shorter than the interval.")


def _json(value: Any) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json(by_alias=True)
    try:
        return orjson.dumps({} if value is None else value).decode()
    except TypeError as error:
        raise _invalid("input", f"The input is no JSON ({error}).") from error


def _invalid(field: str, says: str) -> Invalid:
    return Invalid(says, [((field,), says)])
