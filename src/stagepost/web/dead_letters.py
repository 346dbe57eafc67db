"""Dead letters: what needs a person, sent back or given up."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final, Literal, Self

from fastapi import Query
from pydantic import ConfigDict, Field, StringConstraints, model_validator
from starlette.requests import Request
from starlette.responses import Response

from stagepost.errors import Conflict, NotFound
from stagepost.records import Filter, Scope, UploadRecord
from stagepost.task import Status, Task
from stagepost.web import service_shapes, shapes
from stagepost.web.answers import Instant, Operation, Strict, answer, identity_of, reads, validated
from stagepost.web.exchange import Identity
from stagepost.web.inputs import named_uploads
from stagepost.web.limits import read_json
from stagepost.web.parts import Parts
from stagepost.web.problems import invalid, pointer
from stagepost.web.schemas import (
    DeadLetter,
    Discarded,
    DryRun,
    Group,
    Listed,
    Redriven,
)

_PATH: Final = "/api/v1/dead-letters"
_MOST: Final = 1_000
"""Dead letters that one request sends back or gives up; each is a transaction of its own."""
_NOT_YET: Final = ("perMinute", "canary")

TaskId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]


class Conditions(Strict):
    """What dead letters have in common; at least one condition."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    type: str | None = Field(default=None, max_length=63)
    lane: str | None = Field(default=None, max_length=63)
    tag: str | None = Field(default=None, max_length=64)
    user: str | None = Field(default=None, max_length=128)
    failure_kind: str | None = Field(default=None, max_length=63)
    created_after: Instant | None = None
    created_before: Instant | None = None

    def where(self, *, limit: int, after: str | None = None) -> Filter:
        """The dead letters that meet them all."""
        return Filter(
            statuses=(Status.DEAD_LETTER,),
            type=self.type,
            lane=self.lane,
            tag=self.tag,
            user=self.user,
            failure_kind=self.failure_kind,
            created_after=self.created_after,
            created_before=self.created_before,
            after=after,
            limit=limit,
        )


class DeadLetterList(Conditions):
    """Which dead letters, newest first; with `groupBy`, their counts instead."""

    after: str | None = Field(default=None, min_length=1, max_length=512)
    limit: int = Field(default=50, ge=1, le=200)
    group_by: str | None = Field(
        default=None,
        pattern=r"^(failureKind|type)(,(failureKind|type))?$",
        description="Count by failureKind, type, or failureKind,type.",
    )


class Chosen(Strict):
    """Which dead letters: by id or by filter."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["taskIds"]}, {"required": ["filter"]}]}
    )

    task_ids: list[TaskId] | None = Field(default=None, min_length=1, max_length=_MOST)
    filter: Conditions | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.task_ids is None) == (self.filter is None):
            raise ValueError("give taskIds or filter")
        if self.filter is not None and not self.filter.model_dump(exclude_none=True):
            raise ValueError("an empty filter would mean all; name at least one condition")
        return self


class FromStep(Strict):
    """Go on before a step: it and all that was saved after it run again."""

    from_step: str = Field(min_length=1, max_length=512)


class RedriveBody(Chosen):
    """Which dead letters go back, and where they go on; a corrected `input` starts afresh."""

    resume: Literal["checkpoints", "fresh"] | FromStep = "checkpoints"
    input: Any = None
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

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._store = parts.store
        self._client = parts.client

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
                answers={200: Discarded},
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
            return answer(
                shapes.page(service_shapes.groups(found, query.group_by.split(",")), None)
            )
        where = query.where(limit=query.limit + 1, after=query.after)
        tasks = await self._store.find(scope, where)
        after = tasks[query.limit - 1].id if len(tasks) > query.limit else None
        items = [shapes.dead_letter(task) for task in tasks[: query.limit]]
        return answer(shapes.page(items, after))

    async def redrive(self, request: Request) -> Response:
        """Send dead letters back to their lanes, at once and at most a thousand.

        `matched` counts those that went back. A task of `taskIds` that is no dead letter any more
        is left out; 409 when none is one. With `dryRun` nothing is changed.
        """
        sent = await read_json(request, self._parts.settings.limits)
        for name in _NOT_YET:
            if isinstance(sent, dict) and name in sent:
                raise invalid(
                    f"{name} can't be given yet: a redrive goes out at once.",
                    pointer=pointer([name]),
                )
        body = validated(RedriveBody, sent)
        identity = identity_of(request)
        tasks = await self._chosen(identity.caller.scope, body)
        if body.dry_run:
            return answer(service_shapes.dry_run(tasks))
        uploads = await self._files_of(body, identity)

        async def send_back(task: Task) -> Task:
            return await self._client.redrive(
                task.id,
                caller=identity.caller,
                fresh=body.resume == "fresh",
                from_step=body.resume.from_step if isinstance(body.resume, FromStep) else None,
                input=body.input,
                uploads=uploads,
            )

        matched = await _each(tasks, send_back)
        return answer(Redriven(redriveId=None, matched=matched), 202)

    async def discard(self, request: Request) -> Response:
        """Give dead letters up: they become CANCELLED, with who and why in their history."""
        body = validated(DiscardBody, await read_json(request, self._parts.settings.limits))
        caller = identity_of(request).caller
        tasks = await self._chosen(caller.scope, body)

        async def give_up(task: Task) -> Task:
            return await self._client.discard(task.id, caller=caller, reason=body.reason)

        return answer(Discarded(matched=await _each(tasks, give_up)))

    async def _chosen(self, scope: Scope, body: Chosen) -> Sequence[Task]:
        if body.task_ids is not None:
            return await self._by_id(scope, list(dict.fromkeys(body.task_ids)))
        assert body.filter is not None
        tasks = await self._store.find(scope, body.filter.where(limit=_MOST + 1))
        if len(tasks) > _MOST:
            raise invalid(
                f"The filter finds more than {_MOST} dead letters; narrow it, for example by type "
                "or createdBefore, and go on with the rest after.",
                pointer="#/filter",
            )
        return tasks

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

    async def _files_of(self, body: RedriveBody, identity: Identity) -> Sequence[UploadRecord]:
        if body.input is None:
            return ()
        limits = self._parts.settings.limits
        return await named_uploads(body.input, self._store, identity.caller.tenant, limits)


async def _each(tasks: Sequence[Task], change: Callable[[Task], Awaitable[Task]]) -> int:
    """Change one after the other; how many were changed.

    Somebody else may have been quicker with some, or a step may be missing in some; only when that
    is so for all is it an error.
    """
    changed, refusal = 0, None
    for task in tasks:
        try:
            await change(task)
            changed += 1
        except (Conflict, NotFound) as error:
            refusal = error
    if not changed and refusal is not None:
        raise refusal
    return changed
