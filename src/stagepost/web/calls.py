"""A task's calls to models: all of them, and one with what was said in it."""

from collections.abc import Sequence
from typing import Annotated, Final
from uuid import UUID

from fastapi import Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from stagepost.calls import Body, Call
from stagepost.errors import BodyUnreadable, Conflict, NotFound
from stagepost.records import Scope
from stagepost.web import call_shapes, shapes
from stagepost.web.answers import Operation, Page, answer, identity_of, reads
from stagepost.web.call_schemas import CallItem, WholeCall
from stagepost.web.parts import Parts
from stagepost.web.roles import Role
from stagepost.web.schemas import Listed
from stagepost.web.status import TASK_ID, StatusReader

_CALLS: Final = "/api/v1/tasks/{task_id}/calls"

SHOWN_MOST: Final = 8 * 1024 * 1024
"""Bytes of a request or an answer that are shown."""


class CallPage(Page):
    """Which calls: those behind the call `after`, in the order in which they were begun."""

    after: str | None = Field(default=None, pattern=f"^{TASK_ID.pattern}$")


class CallRoutes:
    """The routes of calls."""

    def __init__(self, parts: Parts, reader: StatusReader) -> None:
        self._calls = parts.store.calls
        self._blobs = parts.blobs
        self._codec = parts.codec
        self._reader = reader

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            reads(_CALLS, self.find, Listed[CallItem], 404),
            reads(f"{_CALLS}/{{call_id}}", self.get, WholeCall, 404, 409),
        ]

    async def find(
        self, request: Request, task_id: str, query: Annotated[CallPage, Query()]
    ) -> Response:
        """A task's calls to models in the order in which they were begun, also unknown ones."""
        scope = await self._scope(request, task_id)
        calls = await self._calls.find(task_id, scope, query.after, query.limit + 1)
        shown = calls[: query.limit]
        after = shown[-1].id if len(calls) > query.limit else None
        messages = _sees_messages(request)
        items = [call_shapes.call_item(call, messages=messages) for call in shown]
        return answer(shapes.page(items, after))

    async def get(self, request: Request, task_id: str, call_id: str) -> Response:
        """One call with its request and its answer, for whoever may see the task's input."""
        scope = await self._scope(request, task_id)
        call = await self._one(task_id, call_id, scope)
        kept = await self._calls.bodies(task_id, call_id, scope)
        asked, said = await self._text(kept.request), await self._text(kept.answer)
        return answer(call_shapes.whole_call(call, asked, said, messages=_sees_messages(request)))

    async def _scope(self, request: Request, task_id: str) -> Scope:
        """What the caller may see of tasks by their ids; this one is among them, or NotFound."""
        scope = identity_of(request).by_id
        await self._reader.view(task_id, scope)
        return scope

    async def _one(self, task_id: str, call_id: str, scope: Scope) -> Call:
        if TASK_ID.fullmatch(call_id):
            # A page is of what lies behind an id: the one before this, as a number, is no call's.
            before = str(UUID(int=max(0, UUID(call_id).int - 1)))
            found = await self._calls.find(task_id, scope, before, 1)
            if found and found[0].id == call_id:
                return found[0]
        raise NotFound("The task has no such call.")

    async def _text(self, body: Body | None) -> str | None:
        if body is None or body.size > SHOWN_MOST:
            return None
        stored = body.text
        if body.blob is not None:
            stored = (await self._blobs.get(body.blob)).decode()
        try:
            return None if stored is None else self._codec.read(stored, body.sha256)
        except BodyUnreadable as error:
            raise Conflict(str(error)) from error


def _sees_messages(request: Request) -> bool:
    return identity_of(request).role >= Role.OPERATE
