"""The child's side: one connection, one piece of work at a time, no life without the parent."""

import asyncio
import inspect
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

from stagepost.child.blocking import BlockingContext
from stagepost.child.frames import (
    Answer,
    Done,
    End,
    Pipe,
    RunFunction,
    RunHandler,
    Start,
    find,
    read_main,
)
from stagepost.child.packing import Raised, pack, unpack
from stagepost.child.remote_journal import RemoteJournal
from stagepost.context import Context
from stagepost.environment import log_style
from stagepost.failure import classify
from stagepost.gate import Gate
from stagepost.lifeline import die_with
from stagepost.logs import write_directly
from stagepost.registry import describe
from stagepost.running import Stop, Why
from stagepost.settings import LogStyle
from stagepost.threads import InThreads, Threads

THREADS: Final = 1_000
"""Sync functions that run at the same time: as many as a map may start, since each may wait for
another one inside it."""


class _Worker:
    """What the child does."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._journal = RemoteJournal(pipe)
        self._threads = Threads(THREADS)
        self._gate: Gate | None = None
        self._asyncio_task: asyncio.Task[None] | None = None
        self._main: str | None = None

    async def run(self) -> None:
        """Do what the parent says until it is gone."""
        while (message := await self._pipe.receive()) is not None:
            match message:
                case Start(path=path, main=main):
                    sys.path[:] = path
                    self._main = main
                case RunFunction():
                    self._begin(self._run_function(message))
                case RunHandler():
                    # Set here, since the next message may be that the handler must end.
                    self._gate = gate = Gate()
                    gate.when_all_wait = self._unwind
                    self._begin(self._run_handler(message, gate))
                case Answer():
                    self._journal.answered(message)
                case End(stop=stop):
                    self._end(stop)
                case _:
                    raise TypeError(type(message).__name__)

    def _begin(self, work: Any) -> None:
        self._asyncio_task = asyncio.create_task(work, name="work")

    def _end(self, stop: Stop) -> None:
        if self._gate is not None:
            self._gate.close(self._unwind, patient=stop.why is Why.DRAIN)

    def _unwind(self) -> None:
        if self._gate is not None and self._asyncio_task is not None:
            self._gate.unwind()
            self._asyncio_task.cancel()

    async def _run_function(self, work: RunFunction) -> None:
        try:
            done = Done(returned=await self._threads.run(lambda: self._call(work)))
        except Exception as error:  # noqa: BLE001  # it is raised again in the parent
            done = Done(raised=Raised.of(error))
        await self._pipe.send(done)

    def _call(self, work: RunFunction) -> bytes:
        if b"__main__" in work.arguments:
            read_main(self._main)
        args, kwargs = unpack(work.arguments)
        return pack(find(work.function, self._main)(*args, **kwargs))

    async def _run_handler(self, work: RunHandler, gate: Gate) -> None:
        try:
            done = Done(result=await self._handle(work, gate))
        except BaseException as error:  # noqa: BLE001  # the parent decides what follows
            done = Done(failure=classify(error))
        if gate.unwinding:
            # Also where the handler has swallowed that: what it returned is not to be trusted.
            done = Done(unwound=True, parked=gate.parked)
        self._gate = None
        await self._pipe.send(done)

    async def _handle(self, work: RunHandler, gate: Gate) -> str:
        handler = find(work.handler, self._main)
        task_type = describe(work.type, handler)
        request = task_type.load(work.input)
        context = Context(work.facts, self._journal, gate, InThreads(self._threads))
        call = handler if inspect.iscoroutinefunction(handler) else self._blocking(handler)
        return task_type.dump_result(await context.call_handler(call, request))

    def _blocking(self, handler: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
        async def call(context: Context, request: Any) -> Any:
            blocking = BlockingContext(context, asyncio.get_running_loop())
            return await self._threads.run(lambda: blocking.run(handler, request))

        return call


async def _main(handle: int) -> None:
    connection = socket.socket(fileno=handle)
    reader, writer = await asyncio.open_connection(sock=connection)
    await _Worker(Pipe(reader, writer)).run()


def _log_style() -> LogStyle:
    try:
        return log_style()
    except ValueError:
        # The program that holds the engine may never have looked at these variables.
        return LogStyle()


if __name__ == "__main__":
    die_with(int(sys.argv[2]))
    # A terminal's Ctrl-C goes to the whole group; ending children is the worker's to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    write_directly(_log_style())
    asyncio.run(_main(int(sys.argv[1])))
    # Threads may still run somebody's code; nothing waits for them any more.
    os._exit(0)
