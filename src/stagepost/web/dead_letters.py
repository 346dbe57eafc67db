"""Dead letters: what needs a person, sent back or given up."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Self

from fastapi import Query
from pydantic import Field, model_validator
from starlette.requests import Request
from starlette.responses import Response

from stagepost.errors import Conflict
from stagepost.mass_client import Pace, Which
from stagepost.records import Filter, Scope, UploadRecord
from stagepost.task import Status, Task
from stagepost.web import service_shapes, shapes
from stagepost.web.answers import Operation, Strict, answer, identity_of, reads, validated
from stagepost.web.chosen import Chosen, Conditions
from stagepost.web.dead_letter_schemas import DryRun, Group, Matched, Redriven
from stagepost.web.exchange import Identity
from stagepost.web.inputs import named_uploads
from stagepost.web.limits import read_json
from stagepost.web.parts import Parts
from stagepost.web.problems import invalid
from stagepost.web.schemas import DeadLetter, Listed
from stagepost.web.status import StatusReader

_PATH: Final = "/api/v1/dead-letters"


class DeadLetterList(Conditions):
    """Which dead letters, newest first; with `groupBy`, their counts instead."""

    after: str | None = Field(default=None, min_length=1, max_length=512)
    limit: int = Field(default=50, ge=1, le=200)
    group_by: str | None = Field(
        default=None,
        pattern=r"^(failureKind|type)(,(failureKind|type))?$",
        description="Count by failureKind, type, or failureKind,type.",
    )


class FromStep(Strict):
    """Go on before a step: it and all that was saved after it run again."""

    from_step: str = Field(min_length=1, max_length=512)


class RedriveBody(Chosen):
    """Which dead letters go back, and where they go on; a corrected `input` starts afresh."""

    resume: Literal["checkpoints", "fresh"] | FromStep = "checkpoints"
    input: Any = None
    per_minute: int | None = Field(default=None, ge=1, le=100_000)
    canary: int | None = Field(default=None, ge=1, le=100)
    dry_run: bool = False

    @model_validator(mode="after")
    def _input_fits(self) -> Self:
        if self.input is None:
            return self
        if self.task_ids is None or len(self.task_ids) != 1:
            raise ValueError("a corrected input goes with exactly one of taskIds")
        if isinstance(self.resume, FromStep):
            raise ValueError("a corrected input starts afresh; leave fromStep out")  # noqa: TRY004  # Pydantic reports only ValueError
        return self


class DiscardBody(Chosen):
    """Which dead letters are given up, and why."""

    reason: str = Field(default="", max_length=500)


class DeadLetterRoutes:
    """The routes of dead letters."""

    def __init__(self, parts: Parts, reader: StatusReader) -> None:
        self._parts = parts
        self._outlook = reader.outlook
        self._store = parts.store
        self._changes = parts.client.mass

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        refusals = (400, 404, 409, 413, 415, 503)
        return [
            reads(_PATH, self.find, Listed[DeadLetter] | Listed[Group]),
            Operation(
                method="POST",
                path=f"{_PATH}/redrive",
                endpoint=self.redrive,
                answers={202: Redriven, 200: DryRun},
                problems=refusals,
                body=RedriveBody,
            ),
            Operation(
                method="POST",
                path=f"{_PATH}/discard",
                endpoint=self.discard,
                answers={200: Matched, 202: Matched},
                problems=refusals,
                body=DiscardBody,
            ),
        ]

    async def find(self, request: Request, query: Annotated[DeadLetterList, Query()]) -> Response:
        """Dead letters, newest first; with `groupBy`, how many of each kind and since when."""
        scope = identity_of(request).caller.scope
        if query.group_by is not None:
            if query.after is not None:
                raise invalid("Counts are not paged; leave after out.", parameter="after")
            found = await self._store.dead_groups(scope, query.where(limit=1))
            history = await self._outlook.history()
            summed = service_shapes.groups(found, query.group_by.split(","), history)
            return answer(shapes.page(summed, None))
        where = query.where(limit=query.limit + 1, after=query.after)
        tasks = await self._store.find(scope, where)
        after = tasks[query.limit - 1].id if len(tasks) > query.limit else None
        items = [shapes.dead_letter(task) for task in tasks[: query.limit]]
        return answer(shapes.page(items, after))

    async def redrive(self, request: Request) -> Response:
        """Send dead letters back to their lanes, any number of them.

        At most 100 of them are on their way at once, or as `perMinute` says; `canary` go first and
        alone. It stops by itself when they fail again. A task of `taskIds` that is no dead letter
        any more is left out; 409 when none is one. With `dryRun` nothing is changed.
        """
        body = validated(RedriveBody, await read_json(request, self._parts.settings.limits))
        identity = identity_of(request)
        if body.dry_run:
            return answer(await self._dry_run(identity.caller.scope, body))
        begun = await self._changes.redrive(
            await self._which(identity.caller.scope, body),
            caller=identity.caller,
            fresh=body.resume == "fresh",
            from_step=body.resume.from_step if isinstance(body.resume, FromStep) else None,
            input=body.input,
            uploads=await self._files_of(body, identity),
            pace=Pace(per_minute=body.per_minute, canary=body.canary),
        )
        return answer(Redriven(redriveId=begun.id, matched=begun.progress.matched), 202)

    async def discard(self, request: Request) -> Response:
        """Give dead letters up: they become CANCELLED, with who and why in their history.

        200 when that is done; 202 when it goes on, page by page, after the answer.
        """
        body = validated(DiscardBody, await read_json(request, self._parts.settings.limits))
        caller = identity_of(request).caller
        which = await self._which(caller.scope, body)
        progress = (await self._changes.discard(which, caller=caller, reason=body.reason)).progress
        return answer(Matched(matched=progress.matched), 202 if progress.open else 200)

    async def _which(self, scope: Scope, body: Chosen) -> Which:
        if body.filter is not None:
            return Which(body.filter.where(limit=1))
        dead = await self._by_id(scope, list(dict.fromkeys(body.task_ids or ())))
        return Which(Filter(statuses=(Status.DEAD_LETTER,)), tuple(task.id for task in dead))

    async def _by_id(self, scope: Scope, task_ids: Sequence[str]) -> Sequence[Task]:
        # All are looked up before the first one is changed: an unknown id changes nothing.
        tasks = [(await self._store.get(task_id, scope)).task for task_id in task_ids]
        dead = [task for task in tasks if task.status is Status.DEAD_LETTER]
        if not dead:
            raise Conflict(
                "None of these tasks is a dead letter; `stagepost dead-letters`, or GET "
                "/api/v1/dead-letters, lists those that are."
            )
        return dead

    async def _dry_run(self, scope: Scope, body: RedriveBody) -> DryRun:
        history = await self._outlook.history()
        if body.filter is None:
            return service_shapes.dry_run(await self._by_id(scope, body.task_ids or ()), history)
        found = await self._store.dead_groups(scope, body.filter.where(limit=1))
        return service_shapes.dry_run_of(found, history)

    async def _files_of(self, body: RedriveBody, identity: Identity) -> Sequence[UploadRecord]:
        if body.input is None:
            return ()
        limits = self._parts.settings.limits
        return await named_uploads(body.input, self._store, identity.caller.tenant, limits)
