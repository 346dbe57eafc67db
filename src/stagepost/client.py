"""What a program does with tasks: submit, look, wait, cancel, redrive."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from pydantic import BaseModel
from uuid_utils import uuid7

from stagepost.blobs import Blobs
from stagepost.broker import Broker, Delivery
from stagepost.erasing import erase
from stagepost.errors import Invalid, UnknownLane
from stagepost.mass_client import MassClient
from stagepost.notifier import Notifier
from stagepost.records import (
    Idempotency,
    NewTask,
    Resume,
    Scope,
    Submitted,
    TaskView,
    UploadRecord,
)
from stagepost.registry import App, TaskType
from stagepost.retention import Tombstone
from stagepost.store import Store
from stagepost.task import SETTLED, CancelRequest, Task

_LONGEST_INPUT: Final = 1024 * 1024  # bytes of JSON
_MOST_IDS: Final = 1_000  # texts of an input that are looked up as uploads
_ID_LENGTH: Final = 36
_LOOK_EVERY: Final = 0.5  # seconds, where no doorbell rings


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a tenant and a user of it; `scope` is what may be seen."""

    tenant: str = "local"
    user: str = "local"
    scope: Scope = field(default_factory=lambda: Scope("local"))


LOCAL: Final = Caller()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a task is run. Instants are ms since 1970, `delay` is seconds.

    `priority` is seconds of head start over the tasks of the lane that came at the same moment.
    """

    lane: str | None = None
    priority: int = 0
    run_at: int | None = None
    delay: float = 0.0
    deadline: int | None = None
    tags: tuple[str, ...] = ()
    trace_id: str | None = None
    idempotency: Idempotency | None = None


_PLAIN: Final = Options()


class Client:
    """Every verb that callers have, on the store and the notifier of this process."""

    def __init__(
        self,
        *,
        app: App,
        store: Store,
        broker: Broker,
        blobs: Blobs,
        notifier: Notifier,
        lanes: Collection[str],
    ) -> None:
        self._app = app
        self._store = store
        self._broker = broker
        self._blobs = blobs
        self._notifier = notifier
        self._lanes = lanes
        self.mass = MassClient(app, store, self._resume)
        """Changes of many tasks at once."""

    async def submit(
        self,
        type: str,  # noqa: A002  # the word that users know
        input: Any = None,  # noqa: A002
        *,
        caller: Caller = LOCAL,
        options: Options = _PLAIN,
        uploads: Sequence[UploadRecord] = (),
    ) -> Submitted:
        """Accept a task; when this returns, no crash loses it.

        `input` is the type's model or what validates as it. Raises UnknownType, UnknownLane,
        Invalid, IdempotencyMismatch, QueueFull, StoreUnavailable.
        """
        task_type = self._app.get(type)
        lane = options.lane or task_type.lane
        if lane not in self._lanes:
            raise UnknownLane(f'There is no lane "{lane}"; there are: {", ".join(self._lanes)}.')
        text = self._input_text(task_type, input, uploads)
        new = _new_task(task_type, lane, text, caller, options, uploads)
        submitted = await self._store.submit(new)
        if not self._broker.direct and not submitted.replayed:
            await self._broker.publish([Delivery(submitted.task_id, lane, 1)])
        return submitted

    async def upload(
        self,
        name: str,
        media_type: str,
        chunks: AsyncIterator[bytes],
        *,
        caller: Caller = LOCAL,
        limit: int,
    ) -> UploadRecord:
        """Keep a file of at most `limit` bytes for a task that is submitted next.

        Raises ValueError when more comes, StoreUnavailable.
        """
        upload_id = str(uuid7())
        await self._store.stage(upload_id)
        stored = await self._blobs.put(upload_id, chunks, limit=limit)
        return UploadRecord(upload_id, caller.tenant, name, media_type, stored.size, stored.sha256)

    async def get(self, task_id: str, *, caller: Caller = LOCAL) -> TaskView:
        """A task as it stands. Raises NotFound."""
        return await self._store.get(task_id, caller.scope)

    async def wait(self, task_id: str, *, timeout: float, caller: Caller = LOCAL) -> TaskView:
        """The task once it is COMPLETED, CANCELLED or in DEAD_LETTER, or as it is after `timeout`.

        Seconds. Raises NotFound.
        """
        view = await self._store.get(task_id, caller.scope)
        try:
            async with (
                asyncio.timeout(timeout),
                self._notifier.watch(task_id, view.task.seq) as watch,
            ):
                while view.task.status not in SETTLED:
                    await watch.next(timeout)
                    if watch.cut:
                        # Nothing more will come, and asking without a pause would keep others off.
                        await asyncio.sleep(_LOOK_EVERY)
                    view = await self._store.get(task_id, caller.scope)
        except TimeoutError:
            view = await self._store.get(task_id, caller.scope)
        return view

    async def result(self, view: TaskView) -> Any:
        """The result of a completed task, as plain JSON data; None when there is none."""
        if view.result is None:
            return None
        if view.result.blob is None:
            return orjson.loads(view.result.text or "null")
        return orjson.loads(await self._blobs.get(view.result.blob))

    async def cancel(self, task_id: str, *, caller: Caller = LOCAL, reason: str = "") -> Task:
        """Cancel a task, or ask its worker to stop. Raises NotFound, Conflict."""
        request = CancelRequest(caller.user, reason)
        return await self._store.cancel(task_id, caller.scope, request)

    async def discard(self, task_id: str, *, caller: Caller = LOCAL, reason: str = "") -> Task:
        """Give up a dead letter. Raises NotFound, Conflict."""
        request = CancelRequest(caller.user, reason)
        return await self._store.discard(task_id, caller.scope, request)

    async def erase(self, task_id: str, *, caller: Caller = LOCAL) -> Tombstone:
        """Erase a task that is settled, with all that it holds; its hashes stay.

        Raises NotFound, Gone, Conflict; see `stagepost.erasing`.
        """
        return await erase(self._store, self._blobs, task_id, caller.scope, caller.user)

    async def redrive(
        self,
        task_id: str,
        *,
        caller: Caller = LOCAL,
        fresh: bool = False,
        from_step: str | None = None,
        input: Any = None,  # noqa: A002  # the word that users know
        uploads: Sequence[UploadRecord] = (),
    ) -> Task:
        """Send a dead letter back, at its checkpoints unless told otherwise.

        A corrected `input` is validated first and implies a fresh start; it may name the tenant's
        earlier uploads and `uploads`. Raises NotFound, Conflict, Invalid, UnknownType.
        """
        view = await self._store.get(task_id, caller.scope)
        task_type = self._app.get(view.task.type)
        resume = await self._resume(
            task_id,
            scope=caller.scope,
            fresh=fresh,
            from_step=from_step,
            input=input,
            uploads=uploads,
        )
        return await self._store.redrive(
            task_id, caller.scope, caller.user, resume, task_type.retry.attempts
        )

    async def _resume(
        self,
        task_id: str,
        *,
        scope: Scope,
        fresh: bool,
        from_step: str | None,
        input: Any,  # noqa: A002
        uploads: Sequence[UploadRecord],
    ) -> Resume:
        view = await self._store.get(task_id, scope)
        task_type = self._app.get(view.task.type)
        text: str | None = None
        named: tuple[UploadRecord, ...] = ()
        if input is not None:
            earlier = await self._store.uploads(view.task.tenant, _ids_in(input))
            named = tuple({each.upload_id: each for each in (*earlier, *uploads)}.values())
            text = self._input_text(task_type, input, named)
        return Resume(fresh=fresh, from_step=from_step, input=text, uploads=named)

    def _input_text(self, task_type: TaskType, value: Any, uploads: Sequence[UploadRecord]) -> str:
        known = {upload.upload_id: upload for upload in uploads}.get if uploads else None
        return _bounded(task_type, task_type.dump(task_type.parse(value, known)))


def _new_task(
    task_type: TaskType,
    lane: str,
    text: str,
    caller: Caller,
    options: Options,
    uploads: Sequence[UploadRecord],
) -> NewTask:
    task_id = str(uuid7())
    return NewTask(
        task_id,
        caller.tenant,
        caller.user,
        task_type.name,
        lane,
        text,
        task_type.retry.attempts,
        task_type.ttl,
        # A UUID is 32 hexadecimal digits, as a W3C trace id is.
        options.trace_id or task_id.replace("-", ""),
        options.priority,
        options.run_at,
        options.delay,
        options.deadline,
        options.tags,
        tuple(uploads),
        options.idempotency,
    )


def _bounded(task_type: TaskType, text: str) -> str:
    size = len(text) if text.isascii() else len(text.encode())
    if size > _LONGEST_INPUT:
        raise Invalid(
            f"The input of {task_type.name} is larger than 1 MiB; send large content as a file.",
            [((), "larger than 1 MiB")],
        )
    return text


def _ids_in(value: Any) -> list[str]:
    # What may be an upload's id; the store knows which of them are the tenant's.
    found: list[str] = []
    pending = [value.model_dump() if isinstance(value, BaseModel) else value]
    while pending and len(found) < _MOST_IDS:
        match pending.pop():
            case dict() as item:
                pending.extend(item.values())
            case list() as item:
                pending.extend(item)
            case str() as item if len(item) == _ID_LENGTH:
                found.append(item)
    return found
