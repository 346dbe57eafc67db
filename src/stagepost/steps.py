"""How a step runs: its saved result is returned, or it flies, is saved, and then returned.

A step is run where its function can be: a coroutine function on the handler's loop, any other in a
thread, and with `cpu` in a process of its own.
"""

import asyncio
import inspect
import random
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Protocol

from stagepost import codec
from stagepost.errors import CodeChanged, RateLimited
from stagepost.flight import Flight
from stagepost.gate import Gate
from stagepost.handler_waits import HandlerWaits
from stagepost.journal import Journal, NewStep
from stagepost.permit import OWED, pay
from stagepost.records import ProgressNote
from stagepost.retry import park_delay, seconds
from stagepost.scope import CURRENT, Scope


class Runner(Protocol):
    """Runs a step's function when that is no coroutine function.

    `timeout` is in seconds and counts from when the function starts; raises TimeoutError.
    """

    async def in_thread(self, call: Callable[[], Any], timeout: float | None) -> Any:
        """In a thread of this process, which runs on after a time-out."""
        ...

    async def in_process(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        timeout: float | None,
    ) -> Any:
        """In a process that is killed at a time-out, and when this is cancelled."""
        ...


class How(NamedTuple):
    """How a step's function runs: for at most so many seconds, and where."""

    timeout: float | None
    cpu: bool


class Call(NamedTuple):
    """One step to be run or replayed; `digest` is of its arguments."""

    path: str
    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    digest: str

    def run(self) -> Any:
        """Call the function."""
        return self.fn(*self.args, **self.kwargs)


class Steps:
    """The steps of one claim's handler, whose task had waited so often in a row for limits."""

    __slots__ = ("_gate", "_journal", "_runner", "_waits")

    def __init__(self, journal: Journal, gate: Gate, runner: Runner, waits: int) -> None:
        self._journal = journal
        self._gate = gate
        self._runner = runner
        self._waits = waits

    async def run(self, call: Call, how: How, start: ProgressNote | None = None) -> Any:
        """The step's result, saved or new; `start` is told when it takes off.

        Raises CodeChanged when the saved step had other arguments, TypeError, ValueError,
        TimeoutError, and what the function raises, but for RateLimited: then it runs anew, later.
        """
        self._gate.used()
        found = await self._gate.through(self._journal.find, call.path)
        if found is not None:
            if found.input_hash != call.digest:
                raise CodeChanged(
                    f'The saved step "{call.path}" had other arguments; the code has changed '
                    "since. Redrive the task fresh, or from that step."
                )
            return codec.decode(call.fn, found.text)
        if OWED.get():
            await pay(CURRENT.get().flight)
        for waits in count(self._waits):
            try:
                return await self._fly(call, how, start)
            except RateLimited as error:
                # Not raised, or it would end the branches beside this one.
                delay = park_delay(waits, error.retry_after, random.random())  # noqa: S311
                await HandlerWaits(self._journal, self._gate).limit(str(error), delay)
        raise AssertionError("unreachable")

    async def _fly(self, call: Call, how: How, start: ProgressNote | None) -> Any:
        # Before it takes off: a lease that was lost meanwhile finds the gate closed.
        await self._gate.through(self._journal.begin)
        async with Flight(self._gate, CURRENT.get().flight) as flight:
            if start is not None:
                await self._gate.through(self._journal.note, start)
            started = time.monotonic()
            value = await self._invoke(Scope(call.path, call.name, flight), call, how)
            text = codec.encode(call.fn, value)
            # Decoded before it is saved: what does not come back as it went is no result.
            value = codec.decode(call.fn, text)
            took = round((time.monotonic() - started) * 1000)
            step = NewStep(call.path, call.name, call.digest, text, took)
            await self._gate.through(self._journal.save, step)
        return value

    async def _invoke(self, scope: Scope, call: Call, how: How) -> Any:
        token = CURRENT.set(scope)
        try:
            if how.cpu:
                return await self._runner.in_process(call.fn, call.args, call.kwargs, how.timeout)
            if inspect.iscoroutinefunction(call.fn):
                async with asyncio.timeout(how.timeout):
                    return await call.fn(*call.args, **call.kwargs)
            value = await self._runner.in_thread(call.run, how.timeout)
            if inspect.isawaitable(value):
                async with asyncio.timeout(how.timeout):
                    return await value
            return value
        finally:
            CURRENT.reset(token)
            for permit in scope.permits:
                await permit.end()


def how_to(fn: Callable[..., Any], timeout: float | str | None, *, cpu: bool) -> How:
    """How a step was asked to run. Raises TypeError for a coroutine function with `cpu`."""
    if cpu and inspect.iscoroutinefunction(fn):
        raise TypeError(f"cpu=True takes a function without async, not {fn.__qualname__}.")
    return How(None if timeout is None else seconds(timeout), cpu)
