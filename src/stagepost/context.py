"""What a handler receives."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, overload

from stagepost import codec
from stagepost.children import Children, OnFailure, Plan
from stagepost.flight import Flight
from stagepost.gate import Gate
from stagepost.handler_waits import HandlerWaits
from stagepost.items import Ticks, labelled, side_by_side
from stagepost.journal import Journal
from stagepost.model_calls import ModelCalls
from stagepost.outputs import artifact, clean, noted
from stagepost.permit import Permit, forgive
from stagepost.records import Claimed
from stagepost.scope import CURRENT, Scope, escape
from stagepost.steps import Call, Runner, Steps, how_to
from stagepost.upload import SOURCE

Item = TypeVar("Item")
Result = TypeVar("Result")

_log = logging.getLogger("stagepost.task")


class Facts(NamedTuple):
    """What a handler may know about its task; a Claimed tells it as well."""

    task_id: str
    tenant: str
    user: str
    type: str
    attempt: int
    trace_id: str
    waits: int = 0
    code_version: int = 1


class Context:
    """One claim's hand in the engine. Every method is awaited."""

    def __init__(
        self, facts: Facts | Claimed, journal: Journal, gate: Gate, runner: Runner
    ) -> None:
        self._facts = facts
        self._journal = journal
        self._gate = gate
        self._runner = runner

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self._facts.task_id

    @property
    def tenant(self) -> str:
        """Whose task it is."""
        return self._facts.tenant

    @property
    def user(self) -> str:
        """Which of the tenant's users submitted it."""
        return self._facts.user

    @property
    def attempt(self) -> int:
        """The number of this try, from 1."""
        return self._facts.attempt

    @property
    def version(self) -> int:
        """The version of the handler with which the task was begun.

        A handler that accepts older versions looks here before it does what those did otherwise.
        """
        return self._facts.code_version

    @property
    def log(self) -> "logging.LoggerAdapter[logging.Logger]":
        """A logger whose lines carry the task's and the trace's id."""
        extra = {"taskId": self._facts.task_id, "traceId": self._facts.trace_id}
        return logging.LoggerAdapter(_log, extra)

    @overload
    async def step(
        self,
        name: str,
        fn: Callable[..., Awaitable[Result]],
        *args: Any,
        key: str | None = None,
        timeout: float | str | None = None,
        cpu: bool = False,
        progress: int | None = None,
        message: str | None = None,
        **kwargs: Any,
    ) -> Result: ...

    @overload
    async def step(
        self,
        name: str,
        fn: Callable[..., Result],
        *args: Any,
        key: str | None = None,
        timeout: float | str | None = None,
        cpu: bool = False,
        progress: int | None = None,
        message: str | None = None,
        **kwargs: Any,
    ) -> Result: ...

    async def step(
        self,
        name: str,
        fn: Callable[..., Any],
        *args: Any,
        key: str | None = None,
        timeout: float | str | None = None,
        cpu: bool = False,
        progress: int | None = None,
        message: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run `fn(*args, **kwargs)` once in the task's life and return its result.

        The result is saved; on a later attempt the saved one is returned and nothing runs. A step
        that raised is not saved, and runs anew on a later attempt. `key` tells apart steps of one
        name that run at the same time. `cpu=True` runs a sync function of a module's top level in a
        process of its own. Raises TypeError when arguments or result do not serialise, ValueError
        for a result over 16 MiB, CodeChanged when the saved step had other arguments,
        AmbiguousStep, TimeoutError, and what `fn` raises, but for RateLimited: then the step waits
        for the limit, without a worker once nothing else goes on, and runs anew.
        """
        how = how_to(fn, timeout, cpu=cpu)
        start = None if progress is None else noted(progress, message or "", name)
        with CURRENT.get().enter(name, key) as path:
            call = Call(path, name, fn, args, kwargs, codec.digest(args, kwargs))
            try:
                return await self._steps().run(call, how, start)
            finally:
                forgive()

    async def map(
        self,
        name: str,
        fn: Callable[..., Any],
        items: Iterable[Item],
        *args: Any,
        concurrency: int = 8,
        key: Callable[[Item], str] | None = None,
        timeout: float | str | None = None,
        cpu: bool = False,
        progress: tuple[int, int] | None = None,
        message: str = "{n} of {total}",
        **kwargs: Any,
    ) -> list[Any]:
        """Run `fn(item, *args, **kwargs)` for every item, each a step of its own.

        Results come in input order. At most `concurrency` run at once. When one raises, no new one
        starts, those in flight are finished and saved, and the first error is raised. `progress`
        goes from its first to its second number as items are saved. `key` names an item by its
        content, so that a changed order still finds what is saved. At most 10,000 items.
        """
        work = labelled(list(items), key)
        if not 1 <= concurrency <= 1000:
            raise ValueError("concurrency lies between 1 and 1000.")
        how = how_to(fn, timeout, cpu=cpu)
        ticks = Ticks(partial(self._note, step=name), len(work), progress, message)
        common, steps = codec.digest(args, kwargs), self._steps()
        with CURRENT.get().enter(name, None) as base:

            async def one(label: str, item: Item) -> Any:
                path, digest = f"{base}[{escape(label)}]", codec.digest([item, common], {})
                call = Call(path, name, fn, (item, *args), kwargs, digest)
                result = await steps.run(call, how)
                await ticks.tick()
                return result

            try:
                return await side_by_side(one, work, concurrency)
            finally:
                forgive()

    def limit(self, name: str | Mapping[str, int], units: int = 1) -> Permit:
        """Take units of a limit that the whole fleet shares, or of several together.

        `await ctx.limit("pages", units=12)` is for the step that follows, or inside a step for that
        step. `async with ctx.limit("gpu"):` is for the block, and frees at its end what counts at
        once; an awaited one does so when the step ends that it stands in. Several limits are taken
        all or none: `ctx.limit({"requests": 1, "tokens": 900})`.

        A wait of more than about five seconds holds no worker, if nothing else of the handler
        runs. On a replay a saved step takes nothing. Awaiting raises UnknownLimit, and NeverFits
        for more units than the limit has.
        """
        wants = {name: units} if isinstance(name, str) else dict(name)
        return Permit(wants, CURRENT.get(), self._journal, self._gate)

    async def sleep(self, duration: float | str, *, key: str | None = None) -> None:
        """Return after so long: seconds, or text such as "90s", "12h" or "30d"; at most ten years.

        When it ends is fixed by the first call, and kept whatever happens meanwhile. A long sleep
        holds no worker: the handler is unwound once nothing else goes on in it, and replays at the
        end. `key` tells apart sleeps that run at the same time.
        """
        self._gate.used()
        await self._waits().sleep(duration, key)

    async def wait_for(
        self,
        name: str,
        *,
        timeout: float | str | None = None,
        approvers: Sequence[str] | None = None,
        key: str | None = None,
    ) -> Any:
        """The JSON of the next signal of this name that was sent to this task, also before.

        Holds no worker, like `sleep`. Signals of one name are taken in the order of their sending,
        each by one wait; a replay gets the same one. Raises TimeoutError when none has come after
        `timeout`. `approvers` are the users and roles who may send it (a role's word is always the
        role); others are refused.
        """
        self._gate.used()
        return await self._waits().wait_for(name, timeout, approvers, key)

    async def child(
        self,
        type: str,  # noqa: A002  # the word that users know
        input: Any,  # noqa: A002
        *,
        lane: str | None = None,
        key: str | None = None,
        detached: bool = False,
    ) -> Any:
        """Start a task of another type and wait for its result, plain JSON data, without a worker.

        It is started once in the task's life: a later attempt waits for the same child. `key` tells
        apart children of one type that are waited for at the same time. A cancel of this task
        reaches it, unless it is `detached`. Raises ChildFailed when it is in dead letter or was
        cancelled, UnknownType, UnknownLane, Invalid, CodeChanged, AmbiguousStep.
        """
        return await self._children().child(Plan(type, lane, detached), input, key)

    async def spawn(
        self,
        type: str,  # noqa: A002
        input: Any,  # noqa: A002
        *,
        lane: str | None = None,
        key: str | None = None,
        detached: bool = False,
    ) -> str:
        """Start a task as `child` does, and do not wait for it; answers its id."""
        return await self._children().spawn(Plan(type, lane, detached), input, key)

    async def batch(
        self,
        type: str,  # noqa: A002
        inputs: Iterable[Any],
        *,
        on_failure: OnFailure = "stop",
        lane: str | None = None,
        key: str | None = None,
        detached: bool = False,
        results: bool = True,
        progress: tuple[int, int] | None = None,
        message: str = "{n} of {total}",
    ) -> list[Any]:
        """Start a task for each input and wait for all of them without a worker.

        They are made in pages of 1,000, of which each is made once; at most 1,000,000. `stop`
        answers their results in input order, and raises ChildFailed as soon as one has failed: no
        further ones are made then, and those that run go on. `collect` answers a ChildResult for
        each. With `results=False` their results are left where they are, and are None here.
        """
        plan = Plan(type, lane, detached, progress, message)
        return await self._children().batch(plan, inputs, on_failure, key, texts=results)

    @property
    def llm(self) -> ModelCalls:
        """Models: `await ctx.llm.chat("best", "...")`; see there."""
        return ModelCalls(self._journal, self._gate)

    async def progress(self, percent: float, message: str = "") -> None:
        """Say how far the task is, from 0 to 100; what watchers see never goes down."""
        await self._note(percent, message, CURRENT.get().name or None)

    async def emit(self, text: str) -> None:
        """Send a piece of text, such as a model's tokens, to whoever watches now."""
        self._gate.used()
        scope = CURRENT.get()
        await self._gate.through(self._journal.emit, scope.path or "main", clean(text))

    async def save_artifact(self, name: str, content: bytes | str | Path, media_type: str) -> None:
        """Keep a file with the task, for its user to fetch; one of the same name is replaced.

        Text is kept as UTF-8; a Path is a local file, whose bytes are kept.
        """
        self._gate.used()
        content = artifact(name, content)
        if CURRENT.get().flight is not None:
            # A step in flight runs to its end, and this is a part of it.
            await self._gate.through(self._journal.attach, name, media_type, content)
            return
        async with Flight(self._gate, None):
            await self._gate.through(self._journal.attach, name, media_type, content)

    async def call_handler(
        self,
        handler: Callable[..., Any],
        request: Any,
        asyncio_task: "asyncio.Task[Any] | None" = None,
    ) -> Any:
        """Run a handler in this context, and end it with the handler. For the engine.

        It is `asyncio_task` that runs now, if that is known.
        When a handler raises, the steps that it has left in flight are finished and saved first.
        """
        self._gate.is_handler(asyncio_task)
        # Not reset: what the handler starts keeps them, and its asyncio task ends with it.
        CURRENT.set(Scope())
        SOURCE.set(self._journal)
        try:
            return await handler(self, request)
        except Exception:
            await self._gate.landing()
            raise
        finally:
            self._gate.end()

    def is_handler(self) -> None:
        """What runs now is the handler's own asyncio task, or acts for it. For the engine."""
        self._gate.is_handler()

    # Made when they are needed: many handlers have no steps, most never wait or start children.

    def _steps(self) -> Steps:
        return Steps(self._journal, self._gate, self._runner, self._facts.waits)

    def _waits(self) -> HandlerWaits:
        return HandlerWaits(self._journal, self._gate)

    def _children(self) -> Children:
        return Children(self._journal, self._gate)

    async def _note(self, percent: float, message: str, step: str | None) -> None:
        self._gate.used()
        await self._gate.through(self._journal.note, noted(percent, message, step))
