"""The child's side: one connection, one piece of work at a time, no life without the parent."""

import asyncio
import inspect
import os
import pickle
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
)
from stagepost.child.remote_journal import RemoteJournal
from stagepost.context import Context
from stagepost.failure import classify
from stagepost.gate import Gate
from stagepost.lifeline import die_with
from stagepost.logs import LogLines
from stagepost.registry import describe
from stagepost.running import Stop, Why
from stagepost.scope import CURRENT, Scope
from stagepost.settings import LogStyle, log_style
from stagepost.upload import SOURCE


class _Here:
    """The runner within a child: everything runs here, and is killed as a whole."""

    async def in_thread(self, call: Callable[[], Any]) -> Any:
        """In a thread."""
        return await asyncio.to_thread(call)

    async def in_process(
        self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """In a thread of this process, which can be killed already."""
        return await asyncio.to_thread(fn, *args, **kwargs)


class _Worker:
    """What the child does."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._journal = RemoteJournal(pipe)
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
                    self._begin(self._run_handler(message, Gate()))
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
            value = await asyncio.to_thread(
                find(work.function, self._main), *work.args, **work.kwargs
            )
            done = Done(value=value)
        except Exception as error:  # noqa: BLE001  # it is raised again in the parent
            done = Done(error=_portable(error))
        await self._send(done)

    async def _run_handler(self, work: RunHandler, gate: Gate) -> None:
        self._gate = gate
        try:
            done = Done(value=await self._handle(work, gate))
        except BaseException as error:  # noqa: BLE001  # the parent decides what follows
            done = Done(unwound=True) if gate.unwinding else Done(failure=classify(error))
        finally:
            self._gate = None
        await self._send(done)

    async def _handle(self, work: RunHandler, gate: Gate) -> str:
        handler = find(work.handler, self._main)
        task_type = describe(work.type, handler)
        request = task_type.load(work.input)
        context = Context(work.facts, self._journal, gate, _Here())
        if inspect.iscoroutinefunction(handler):
            value = await context.call_handler(handler, request)
        else:
            CURRENT.set(Scope())
            SOURCE.set(self._journal)
            blocking = BlockingContext(context, asyncio.get_running_loop())
            value = await asyncio.to_thread(handler, blocking, request)
        return task_type.dump_result(value)

    async def _send(self, done: Done) -> None:
        try:
            await self._pipe.send(done)
        except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:
            text = f"The result can't be passed between processes: {error}"
            await self._pipe.send(Done(error=TypeError(text)))


def _portable(error: Exception) -> Exception:
    # Some exceptions can be pickled but not unpickled; the parent must get one in any case.
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # what we have just pickled ourselves
    except Exception:  # noqa: BLE001  # whatever it is, it can't travel
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


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
    lines = LogLines(_log_style())
    lines.start()
    asyncio.run(_main(int(sys.argv[1])))
    lines.close()
    # Threads may still run somebody's code; nothing waits for them any more.
    os._exit(0)
