"""A task's status: one answer, long polls, and the wait of `Prefer: wait`."""

import re
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from typing import Annotated, Any, Final

import orjson
from fastapi import Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from stagepost.clock import Clock
from stagepost.errors import NotFound
from stagepost.event import Event
from stagepost.notifier import Watch
from stagepost.records import Scope, TaskView
from stagepost.task import Task
from stagepost.web import shapes
from stagepost.web.answers import Operation, Strict, answer, identity_of
from stagepost.web.exchange import exchange_of
from stagepost.web.outlook import Outlook
from stagepost.web.parts import Parts
from stagepost.web.schemas import TaskItem, TaskStatus

TASK_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LOOK: Final = 2.0
"""Seconds between two looks of a long poll: for what moves without an event, and for its client."""

Gone = Callable[[], Awaitable[bool]]
"""Whether the client has gone."""


def checked_id(task_id: str) -> str:
    """A text that can be a task's id. Raises NotFound."""
    if not TASK_ID.fullmatch(task_id):
        raise NotFound("There is no such task; a task's id is a UUID.")
    return task_id


class StatusReader:
    """Makes status bodies."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.store
        self.outlook = Outlook(parts)

    async def view(self, task_id: str, scope: Scope) -> TaskView:
        """A task in a scope. Raises NotFound, also for what can't be an id, and Gone."""
        return await self._store.get(checked_id(task_id), scope)

    async def status(self, view: TaskView) -> TaskStatus:
        """The wire form of a task's status."""
        return shapes.task_status(view, await self.outlook.of(view))

    async def item(self, task: Task) -> TaskItem:
        """The wire form of a task in a list."""
        return shapes.task_item(task, await self.outlook.of_listed(task))


class StatusParameters(Strict):
    """How to ask for a status."""

    wait: int = Field(
        default=0,
        ge=0,
        le=30,
        description="Seconds to wait at most: until the ETag differs from If-None-Match, or, "
        "without that header, until the task is final.",
    )


class StatusRoutes:
    """GET .../status."""

    def __init__(self, parts: Parts, reader: StatusReader) -> None:
        self._parts = parts
        self._reader = reader

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            Operation(
                method="GET",
                path="/api/v1/tasks/{task_id}/status",
                endpoint=self.get,
                answers={200: TaskStatus, 304: None},
                problems=(404,),
                headers={"ETag": "Moves with the task, not with its place in the queue."},
            )
        ]

    async def get(
        self, request: Request, task_id: str, query: Annotated[StatusParameters, Query()]
    ) -> Response:
        """Where a task stands.

        `final` says that nothing happens any more by itself; FAILED is not final, a retry is
        coming.
        """
        known = exchange_of(request.scope).text(b"if-none-match")
        view = await self._reader.view(task_id, identity_of(request).by_id)

        def enough(status: TaskStatus, tag: str) -> bool:
            return status["final"] if known is None else not _matches(known, tag)

        status, tag = await self.until(
            view, identity_of(request).by_id, enough, query.wait, request.is_disconnected
        )
        if known is not None and _matches(known, tag):
            return Response(status_code=304, headers={"ETag": tag})
        return answer(status, headers={"ETag": tag})

    async def until(
        self,
        view: TaskView,
        scope: Scope,
        enough: Callable[[TaskStatus, str], bool],
        seconds: float,
        gone: Gone,
    ) -> tuple[TaskStatus, str]:
        """The status and its tag once `enough` is true of them, or as they are after `seconds`.

        Returns early when the client has gone or the process drains.
        """
        status = await self._reader.status(view)
        tag = _tag(status)
        if seconds <= 0 or enough(status, tag):
            return status, tag
        clock, end = self._parts.clock, self._parts.clock.monotonic() + seconds
        async with self._parts.notifier.watch(view.task.id, view.task.seq) as watch:
            while (left := end - clock.monotonic()) > 0 and not self._parts.draining.is_set():
                moved = await _moved(watch, clock, min(left, _LOOK))
                if not moved and await gone():
                    break
                view = await self._reader.view(view.task.id, scope)
                status = await self._reader.status(view)
                tag = _tag(status)
                if enough(status, tag):
                    break
        return status, tag


async def _moved(watch: Watch, clock: Clock, seconds: float) -> bool:
    """Whether an event came in time; a handler's streaming text moves no status."""
    end = clock.monotonic() + seconds
    while (left := end - clock.monotonic()) > 0:
        news = await watch.next(left)
        if any(isinstance(item, Event) for item in news):
            return True
        if watch.cut:
            await clock.sleep(left)
    return False


def _tag(status: TaskStatus) -> str:
    """The entity tag: of everything but what moves while the task itself stands still."""
    still: dict[str, Any] = {**status, "queuePosition": None, "estimatedSeconds": None}
    return f'"{blake2b(orjson.dumps(still), digest_size=12).hexdigest()}"'


def _matches(if_none_match: str, tag: str) -> bool:
    given = [part.strip().removeprefix("W/") for part in if_none_match.split(",")]
    return "*" in given or tag in given
