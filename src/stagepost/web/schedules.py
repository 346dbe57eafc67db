"""Schedules: begin, look, change, end, preview, backfill."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Self

from fastapi import Query
from pydantic import ConfigDict, Field, StrictBool, StrictInt, field_validator, model_validator
from starlette.requests import Request
from starlette.responses import Response

from stagepost.errors import Invalid, NotFound
from stagepost.event import rfc3339
from stagepost.records import Scope
from stagepost.schedule import Misfire, Overlap, Schedule
from stagepost.scheduling import LONGEST_INTERVAL, LONGEST_JITTER, Wish, preview, wish_of
from stagepost.timing import LATEST
from stagepost.web import shapes
from stagepost.web.answers import (
    Instant,
    Operation,
    Page,
    Strict,
    answer,
    identity_of,
    reads,
    validated,
)
from stagepost.web.limits import read_json
from stagepost.web.options import parse_instant
from stagepost.web.parts import Parts
from stagepost.web.problems import invalid
from stagepost.web.schedule_shapes import Backfilled, LastRun, ScheduleItem, schedule_item
from stagepost.web.schemas import Listed
from stagepost.web.status import StatusReader

_PATH: Final = "/api/v1/schedules"
_ONE: Final = f"{_PATH}/{{schedule_id}}"
_LONGEST_CRON: Final = 200
_TIMINGS: Final = ("cron", "every", "at")
_FIELDS: Final[Mapping[str, str]] = {"every_seconds": "every", "jitter_seconds": "jitter"}

Name = Annotated[str, Field(min_length=1, max_length=100)]
TypeName = Annotated[str, Field(min_length=1, max_length=63)]
CronText = Annotated[str, Field(min_length=1, max_length=_LONGEST_CRON)]
ZoneName = Annotated[str, Field(min_length=1, max_length=64)]
Seconds = Annotated[StrictInt, Field(ge=1, le=LONGEST_INTERVAL)]
Jitter = Annotated[StrictInt, Field(ge=0, le=LONGEST_JITTER)]


class ScheduleChange(Strict):
    """What is to be changed. One of `cron`, `everySeconds` and `at` takes the place of another."""

    name: Name | None = None
    type: TypeName | None = None
    input: Any = None
    cron: CronText | None = None
    every_seconds: Seconds | None = None
    at: Instant | None = None
    timezone: ZoneName | None = None
    lane: TypeName | None = None
    overlap: Overlap | None = None
    misfire: Misfire | None = None
    jitter_seconds: Jitter | None = None
    paused: StrictBool | None = None

    @field_validator("name")
    @classmethod
    def _printable(cls, value: str | None) -> str | None:
        if value is not None and not value.isprintable():
            raise ValueError("only printable characters")
        return value

    @model_validator(mode="after")
    def _one_timing(self) -> Self:
        if sum(value is not None for value in (self.cron, self.every_seconds, self.at)) > 1:
            raise ValueError("give exactly one of cron, everySeconds and at")
        return self

    def given(self) -> dict[str, Any]:
        """The fields of a Wish that it names."""
        named = {_FIELDS.get(name, name): getattr(self, name) for name in self.model_fields_set}
        # A null is as good as nothing.
        given = {name: value for name, value in named.items() if value is not None}
        if set(_TIMINGS) & set(given):
            given = {**dict.fromkeys(_TIMINGS), **given}
        return given


class NewSchedule(ScheduleChange):
    """A schedule: what is to be done, and when."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": [name]} for name in ("cron", "everySeconds", "at")]
        }
    )

    name: Name
    type: TypeName

    @model_validator(mode="after")
    def _a_timing(self) -> Self:
        if self.cron is None and self.every_seconds is None and self.at is None:
            raise ValueError("give exactly one of cron, everySeconds and at")
        return self


class Range(Strict):
    """From an instant on, and before another."""

    start: Instant = Field(alias="from")
    end: Instant = Field(alias="to")


class PreviewQuery(Page):
    """Which runs of a cron expression: those from `from` on (now) and before `to`."""

    cron: CronText
    timezone: ZoneName = "UTC"
    start: Instant | None = Field(default=None, alias="from")
    end: Instant | None = Field(default=None, alias="to")


class ScheduleRoutes:
    """The routes of schedules."""

    def __init__(self, parts: Parts, reader: StatusReader) -> None:
        self._parts = parts
        self._reader = reader
        self._schedules = parts.client.schedules

    def operations(self) -> Sequence[Operation]:
        """The routes; the preview before what would take its name for an id."""
        refusals = (400, 404, 409, 413, 415, 503)
        return [
            reads(_PATH, self.find, Listed[ScheduleItem]),
            reads(f"{_PATH}/preview", self.preview, Listed[str]),
            reads(_ONE, self.get, ScheduleItem, 404),
            Operation(
                method="POST",
                path=_PATH,
                endpoint=self.create,
                answers={201: ScheduleItem},
                problems=refusals,
                body=NewSchedule,
            ),
            Operation(
                method="PATCH",
                path=_ONE,
                endpoint=self.change,
                answers={200: ScheduleItem},
                problems=refusals,
                body=ScheduleChange,
            ),
            Operation(
                method="DELETE",
                path=_ONE,
                endpoint=self.remove,
                answers={204: None},
                problems=(404, 503),
            ),
            Operation(
                method="POST",
                path=f"{_ONE}/backfill",
                endpoint=self.backfill,
                answers={202: Backfilled},
                problems=refusals,
                body=Range,
            ),
        ]

    async def create(self, request: Request) -> Response:
        """Begin a schedule: its task is submitted at each planned instant."""
        body = validated(NewSchedule, await self._body(request))
        caller = identity_of(request).caller
        schedule = await self._schedules.create(Wish(**body.given()), caller=caller)
        location = {"Location": f"{_PATH}/{schedule.id}"}
        return answer(schedule_item(schedule, self._now()), 201, location)

    async def find(self, request: Request, query: Annotated[Page, Query()]) -> Response:
        """The schedules, oldest first."""
        found = await self._schedules.find(
            caller=identity_of(request).caller, after=query.after, limit=query.limit + 1
        )
        shown = found[: query.limit]
        after = shown[-1].id if len(found) > query.limit else None
        # Two thousand next runs take a moment, which no other request should wait.
        items = await asyncio.to_thread(_items, shown, self._now())
        return answer(shapes.page(items, after))

    async def get(self, request: Request, schedule_id: str) -> Response:
        """A schedule, its next ten runs, and what holds it up."""
        identity = identity_of(request)
        caller = replace(identity.caller, scope=identity.by_id)
        schedule = await self._schedules.get(schedule_id, caller=caller)
        return answer(await self._told(schedule, identity.by_id))

    async def change(self, request: Request, schedule_id: str) -> Response:
        """Change a schedule, pause it or let it go on. What stays away stays as it is.

        Another timing counts from now on, and so does one that goes on after a pause. 409 when
        somebody else has changed it in the same moment.
        """
        body = validated(ScheduleChange, await self._body(request))
        caller = identity_of(request).caller
        before = await self._schedules.get(schedule_id, caller=caller)
        wish = replace(wish_of(before), **body.given())
        schedule = await self._schedules.change(before, wish, caller=caller)
        return answer(await self._told(schedule, identity_of(request).by_id))

    async def remove(self, request: Request, schedule_id: str) -> Response:
        """End a schedule, and what waits of it. Tasks that it has submitted go on."""
        await self._schedules.remove(schedule_id, caller=identity_of(request).caller)
        return Response(status_code=204)

    async def backfill(self, request: Request, schedule_id: str) -> Response:
        """Make up the runs of a past range, one after the other.

        `matched` counts the planned instants that had no run; an instant never gets a second one.
        """
        body = validated(Range, await self._body(request))
        caller = identity_of(request).caller
        matched = await self._schedules.backfill(schedule_id, body.start, body.end, caller=caller)
        return answer(Backfilled(matched=matched), 202)

    async def preview(self, query: Annotated[PreviewQuery, Query()]) -> Response:
        """When a cron expression would run, as instants."""
        start = self._now() if query.start is None else query.start
        if query.after is not None:
            start = max(start, _instant_of(query.after) + 1)
        end = LATEST if query.end is None else query.end
        try:
            found = preview(query.cron, query.timezone, start, end, query.limit + 1)
        except Invalid as error:
            ((where, says),) = error.errors
            raise invalid(says, parameter=str(where[0])) from error
        shown = [rfc3339(instant) for instant in found[: query.limit]]
        return answer(shapes.page(shown, shown[-1] if len(found) > query.limit else None))

    async def _told(self, schedule: Schedule, scope: Scope) -> ScheduleItem:
        """A schedule, with how the task of its last run stands."""
        item = schedule_item(schedule, self._now())
        last = item["lastRun"]
        if last is None:
            return item
        try:
            view = await self._reader.view(last["taskId"], scope)
        except NotFound:
            return item
        status = await self._reader.status(view)
        told: LastRun = {
            **last, "status": status["status"], "waitingFor": status["waitingFor"],
        }  # fmt: skip
        return {**item, "lastRun": told}

    async def _body(self, request: Request) -> Any:
        return await read_json(request, self._parts.settings.limits)

    def _now(self) -> int:
        return self._parts.clock.now()


def _items(schedules: Sequence[Schedule], now: int) -> Sequence[ScheduleItem]:
    return [schedule_item(each, now) for each in schedules]


def _instant_of(after: str) -> int:
    try:
        return parse_instant(after)
    except (ValueError, OverflowError):
        raise invalid("after is the `next` of the page before.", parameter="after") from None
