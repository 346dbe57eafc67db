"""Tasks: list them, look at one from all sides, cancel it."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from stagepost.errors import Conflict
from stagepost.records import Filter, TaskView
from stagepost.task import Status
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
from stagepost.web.downloads import BlobResponse
from stagepost.web.limits import read_json
from stagepost.web.parts import Parts
from stagepost.web.roles import Role
from stagepost.web.schemas import (
    AnyJson,
    Listed,
    StatusName,
    Step,
    TaskEvent,
    TaskItem,
    TaskStatus,
    WholeTask,
)
from stagepost.web.status import StatusReader
from stagepost.web.step_costs import step_costs

_ONE: Final = "/api/v1/tasks/{task_id}"


class TaskList(Page):
    """Which tasks, newest first. `after` is the `next` of the page before."""

    status: list[StatusName] = Field(default=[], max_length=8)
    type: str | None = Field(default=None, max_length=63)
    lane: str | None = Field(default=None, max_length=63)
    tag: str | None = Field(default=None, max_length=64)
    user: str | None = Field(default=None, max_length=128)
    created_after: Instant | None = None
    created_before: Instant | None = None


class EventPage(Page):
    """Which events: those with a `seq` above `after`."""

    after: int | None = Field(default=None, ge=0, le=10**15)  # type: ignore[assignment]


class CancelBody(Strict):
    """Why a task is cancelled; shown in its history."""

    reason: str = Field(default="", max_length=500)


class TaskRoutes:
    """The routes of tasks, but for submit, status and streams."""

    def __init__(self, parts: Parts, reader: StatusReader) -> None:
        self._parts = parts
        self._store = parts.store
        self._reader = reader

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            reads("/api/v1/tasks", self.find, Listed[TaskItem]),
            reads(_ONE, self.get, WholeTask, 404),
            reads(f"{_ONE}/result", self.result, AnyJson, 404, 409),
            reads(f"{_ONE}/events", self.events, Listed[TaskEvent], 404),
            reads(f"{_ONE}/steps", self.steps, Listed[Step], 404),
            Operation(
                method="POST",
                path=f"{_ONE}/cancel",
                endpoint=self.cancel,
                answers={202: TaskStatus, 200: TaskStatus},
                problems=(400, 404, 409, 413, 415, 503),
                body=CancelBody,
                body_required=False,
            ),
        ]

    async def find(self, request: Request, query: Annotated[TaskList, Query()]) -> Response:
        """Tasks of the caller's tenant, newest first."""
        where = Filter(
            statuses=tuple(map(Status, query.status)),
            type=query.type,
            lane=query.lane,
            tag=query.tag,
            user=query.user,
            created_after=query.created_after,
            created_before=query.created_before,
            after=query.after,
            limit=query.limit + 1,
        )
        tasks = await self._store.find(identity_of(request).caller.scope, where)
        after = tasks[query.limit - 1].id if len(tasks) > query.limit else None
        items = [await self._reader.item(task) for task in tasks[: query.limit]]
        return answer(shapes.page(items, after))

    async def get(self, request: Request, task_id: str) -> Response:
        """All of a task: its status, input, options and failed attempts."""
        view = await self._view(request, task_id)
        failures = await self._store.failures(task_id)
        spent = await self._store.calls.spent(task_id, identity_of(request).by_id)
        traces = identity_of(request).role >= Role.OPERATE
        status = await self._reader.status(view)
        return answer(shapes.whole_task(view, status, failures, spent, traces=traces))

    async def result(self, request: Request, task_id: str) -> Response:
        """A completed task's result alone, however large. 409 while there is none."""
        view = await self._view(request, task_id)
        if view.task.status is not Status.COMPLETED or view.result is None:
            raise Conflict(f"The task is {view.task.status}; only a completed one has a result.")
        if view.result.blob is None:
            return Response(view.result.text or "null", media_type="application/json")
        return BlobResponse(
            self._parts.blobs, view.result.blob, view.result.size, "application/json"
        )

    async def events(
        self, request: Request, task_id: str, query: Annotated[EventPage, Query()]
    ) -> Response:
        """A task's history: its numbered events in order."""
        view = await self._view(request, task_id)
        events = await self._store.events(task_id, query.after or 0, query.limit + 1)
        shown = events[: query.limit]
        after = str(shown[-1].seq) if len(events) > query.limit else None
        items = [shapes.task_event(task_id, event, view.result) for event in shown]
        return answer(shapes.page(items, after))

    async def steps(
        self, request: Request, task_id: str, query: Annotated[Page, Query()]
    ) -> Response:
        """A task's saved steps in the order in which they were saved."""
        await self._view(request, task_id)
        scope = identity_of(request).by_id
        saved = await self._store.timeline(task_id, query.after, query.limit + 1)
        shown = saved[: query.limit]
        after = shown[-1].path if len(saved) > query.limit else None
        costs = await step_costs(self._store.calls, task_id, scope, [step.path for step in shown])
        items = [shapes.step(step, costs.get(step.path, 0)) for step in shown]
        return answer(shapes.page(items, after))

    async def cancel(self, request: Request, task_id: str) -> Response:
        """Cancel a task.

        200 when it is cancelled, or had been asked to stop before; 202 when its worker has now been
        asked; 409 when it is over.
        """
        sent = await read_json(request, self._parts.settings.limits)
        body = validated(CancelBody, {} if sent is None else sent)
        caller = identity_of(request).caller
        before = await self._reader.view(task_id, caller.scope)
        task = await self._parts.client.cancel(task_id, caller=caller, reason=body.reason)
        asked = task.status is Status.RUNNING and before.task.cancel is None
        view = await self._reader.view(task_id, caller.scope)
        return answer(await self._reader.status(view), 202 if asked else 200)

    async def _view(self, request: Request, task_id: str) -> TaskView:
        return await self._reader.view(task_id, identity_of(request).by_id)
