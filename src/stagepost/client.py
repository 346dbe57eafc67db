"""What a program does with tasks: submit, look, wait, cancel, redrive."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from uuid_utils import uuid7

from stagepost.blobs import Blobs
from stagepost.broker import Broker, Delivery
from stagepost.caller import LOCAL, Caller
from stagepost.erasing import erase
from stagepost.errors import Conflict, Invalid, UnknownLane
from stagepost.inputs import ids_in, input_text
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
from stagepost.scheduling import Scheduling
from stagepost.signals import MOST_BYTES, NAME, Signal
from stagepost.store import Store
from stagepost.task import SETTLED, CancelRequest, Status, Task

__all__ = ["LOCAL", "Caller", "Client", "Options"]

_MOST_PAGES: Final = 10_000  # of dead children that go back with their parent
_LOOK_EVERY: Final = 0.5  # seconds, where no doorbell rings


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a task is run. Instants are ms since 1970, `delay` is seconds.

    `priority` is seconds of head start over the tenant's other tasks in the lane. Of its tasks with
    one `concurrency_key` one runs at a time, or as many as the tenant's rule says.

    Of a tenant, type and `unique_key` there is one task at a time that is not over: a second submit
    is answered with it. `debounce`, in seconds, needs one, and is in the place of `run_at` and
    `delay`: the task starts so long after the last of such submits, with the input of that.
    """

    lane: str | None = None
    priority: int = 0
    run_at: int | None = None
    delay: float = 0.0
    deadline: int | None = None
    tags: tuple[str, ...] = ()
    trace_id: str | None = None
    idempotency: Idempotency | None = None
    concurrency_key: str | None = None
    unique_key: str | None = None
    debounce: float = 0.0


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
            _check_debounce(options)
        text = input_text(task_type, input, uploads)
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
        `signal_id`, a UUID, is kept once. Raises NotFound; Conflict when the task is over or has
        100 signals that it has not taken; NotAllowed when it waits for the signal from others;
        Invalid for a name that can't be one and a value that is no JSON or larger than 64 KiB.
        """
        body = _signal_text(name, value)
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


def _check_debounce(options: Options) -> None:
    if options.debounce < 0 or options.unique_key is None:
        raise ValueError("debounce is a number of seconds, and needs a unique_key.")
    if options.run_at is not None or options.delay:
        raise ValueError("debounce says when the task starts; leave out run_at and delay.")


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
        options.debounce or options.delay,
        options.deadline,
        options.tags,
        tuple(uploads),
        options.idempotency,
        options.concurrency_key,
        None,
        options.unique_key,
        options.debounce > 0,
    )


def _signal_text(name: str, value: Any) -> str:
    if not NAME.fullmatch(name):
        told = "A signal's name has 1 to 64 letters, digits, dots, dashes and underscores."
        raise Invalid(told, [(("name",), told)])
    try:
        text = orjson.dumps(value)
    except TypeError as error:
        raise Invalid("A signal is JSON data.", [((), str(error))]) from error
    if len(text) > MOST_BYTES:
        raise Invalid("A signal has at most 64 KiB of JSON.", [((), "larger than 64 KiB")])
    return text.decode()
