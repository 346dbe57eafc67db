"""POST /api/v1/tasks/cancel: all tasks that a filter finds."""

from collections.abc import Sequence
from typing import Final, Literal, Self, get_args

from pydantic import ConfigDict, Field, model_validator
from starlette.requests import Request
from starlette.responses import Response

from stagepost.mass_client import Which
from stagepost.records import Filter
from stagepost.task import Status
from stagepost.web.answers import Instant, Operation, Strict, answer, identity_of, validated
from stagepost.web.dead_letter_schemas import Matched
from stagepost.web.limits import read_json
from stagepost.web.parts import Parts

OpenStatus = Literal["PENDING", "QUEUED", "RUNNING", "WAITING", "FAILED"]
_OPEN: Final = get_args(OpenStatus)


class OpenTasks(Strict):
    """Tasks that are not over, with something in common; at least one condition."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    status: list[OpenStatus] | None = Field(default=None, min_length=1, max_length=5)
    type: str | None = Field(default=None, max_length=63)
    lane: str | None = Field(default=None, max_length=63)
    tag: str | None = Field(default=None, max_length=64)
    user: str | None = Field(default=None, max_length=128)
    created_after: Instant | None = None
    created_before: Instant | None = None

    def where(self) -> Filter:
        """Those that meet all conditions."""
        return Filter(
            statuses=tuple(map(Status, self.status or _OPEN)),
            type=self.type,
            lane=self.lane,
            tag=self.tag,
            user=self.user,
            created_after=self.created_after,
            created_before=self.created_before,
        )


class CancelManyBody(Strict):
    """Which tasks are cancelled, and why."""

    filter: OpenTasks
    reason: str = Field(default="", max_length=500)

    @model_validator(mode="after")
    def _not_all(self) -> Self:
        if not self.filter.model_dump(exclude_none=True):
            raise ValueError("an empty filter would mean all; name at least one condition")
        return self


class CancelRoutes:
    """The route of cancels by filter."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._changes = parts.client.mass

    def operations(self) -> Sequence[Operation]:
        """The route."""
        return [
            Operation(
                method="POST",
                path="/api/v1/tasks/cancel",
                endpoint=self.cancel,
                answers={202: Matched},
                problems=(400, 409, 413, 415, 503),
                body=CancelManyBody,
            )
        ]

    async def cancel(self, request: Request) -> Response:
        """Cancel all tasks that a filter finds; those that run are asked to stop.

        `matched` are those that it finds now. The first page is done before the answer, the others
        after it.
        """
        body = validated(CancelManyBody, await read_json(request, self._parts.settings.limits))
        begun = await self._changes.cancel(
            Which(body.filter.where()), caller=identity_of(request).caller, reason=body.reason
        )
        return answer(Matched(matched=begun.progress.matched), 202)
