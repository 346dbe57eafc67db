"""What a program does with tasks: submit, look, wait, cancel, redrive."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any, Final

import orjson
from uuid_utils import uuid7

from stagepost.blobs import Blobs
from stagepost.broker import Broker, Delivery
from stagepost.caller import LOCAL, Caller
from stagepost.erasing import erase
from stagepost.errors import Conflict, StoreUnavailable, UnknownLane
from stagepost.inputs import ids_in, input_text, signal_text
from stagepost.mass_client import MassClient
from stagepost.notifier import Notifier
from stagepost.options import Options, new_task
from stagepost.records import Resume, Scope, Submitted, TaskView, UploadRecord
from stagepost.registry import App
from stagepost.retention import Tombstone
from stagepost.scheduling import Scheduling
from stagepost.signals import Signal
from stagepost.store import Store
from stagepost.task import SETTLED, CancelRequest, Status, Task

_log = logging.getLogger("stagepost.client")

_MOST_PAGES: Final = 10_000  # of dead children that go back with their parent
_LOOK_EVERY: Final = 0.5  # seconds, where no doorbell rings


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
        self.schedules = Scheduling(app, store.schedules, lanes)
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
        Invalid, IdempotencyMismatch, IdempotencyInProgress, TenantFull, QueueFull,
        StoreUnavailable; and ValueError for options that contradict each other.
        """
        task_type = self._app.get(type)
        lane = options.lane or task_type.lane
        if lane not in self._lanes:
            raise UnknownLane(f'There is no lane "{lane}"; there are: {", ".join(self._lanes)}.')
        if options.debounce:
            options.check_debounce()
        text = input_text(task_type, input, uploads)
        new = new_task(task_type, lane, text, caller, options, uploads)
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

    async def discard_upload(self, upload: UploadRecord) -> None:
        """Remove a file that `upload` has just kept; unless a task names it, which keeps it.

        What can't be removed now goes after a day, as any that no task names.
        """
        try:
            gone = await self._store.retention.forget_blobs([upload.upload_id], older_than=0.0)
            for key in gone:
                await self._blobs.delete(key)
        except StoreUnavailable as error:
            _log.warning("the file %s is left to the sweeper: %s", upload.upload_id, error)

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

    async def signal(
        self,
        task_id: str,
        name: str,
        value: Any = None,
        *,
        caller: Caller = LOCAL,
        roles: Collection[str] = (),
        signal_id: str | None = None,
    ) -> Task:
        """Send JSON data to a task, which takes it with `ctx.wait_for(name)`, now or later.

        `roles` are the caller's, for waits that name approvers. A signal of the same
        `signal_id`, a UUID, is kept once. Raises NotFound; IdempotencyMismatch when one of that id
        had another name or value; Conflict when the task is over or has
        100 signals that it has not taken; NotAllowed when it waits for the signal from others;
        Invalid for a name that can't be one and a value that is no JSON or larger than 64 KiB.
        """
        body = signal_text(name, value)
        sent = Signal(signal_id or str(uuid7()), name, body, caller.user, tuple(roles))
        return await self._store.waits.send(task_id, caller.scope, sent)

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

        Its dead children are sent back first.

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
        for _ in range(_MOST_PAGES):
            task = await self._store.redrive(
                task_id, caller.scope, caller.user, resume, task_type.retry.attempts
            )
            if task.status is not Status.DEAD_LETTER:
                return task
        raise Conflict("The children of this task fail as fast as they are sent back.")

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
            earlier = await self._store.uploads(view.task.tenant, ids_in(input))
            named = tuple({each.upload_id: each for each in (*earlier, *uploads)}.values())
            text = input_text(task_type, input, named)
        return Resume(fresh=fresh, from_step=from_step, input=text, uploads=named)
