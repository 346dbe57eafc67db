"""The thread and event loop in which handlers run, apart from the API's.

A handler that blocks its loop blocks other handlers, but neither the API nor the heartbeats. How
long the loop has been silent can be seen from outside, and what blocks it.
"""

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, TypeVar

import uvloop

Answer = TypeVar("Answer")

_log = logging.getLogger("stagepost.worker")

_STOP: Final = 5.0  # seconds that the loop may take to end
_LAST: Final = 1.0  # seconds of these for what still runs in it


class HandlersLoop:
    """Starts with `start`, ends with `stop`; in between it is used from other threads."""

    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        self._loop.set_task_factory(_remembering)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="stagepost-handlers", daemon=True)
        self._asked_at: float | None = None

    def start(self) -> None:
        """Let it run."""
        self._thread.start()

    def stop(self) -> None:
        """End it; a handler that blocks it is left behind with its thread."""
        self._stopping = True
        if self._thread.is_alive():
            self.call(self._loop.stop)
            self._thread.join(_STOP)

    @property
    def alive(self) -> bool:
        """False once the thread has ended."""
        return self._thread.is_alive()

    def submit(self, coroutine: Coroutine[Any, Any, Answer]) -> "Future[Answer]":
        """Run a coroutine there. Raises RuntimeError once the loop has ended."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call(self, callback: Callable[..., None], *arguments: object) -> None:
        """Call a function there soon; a loop that has ended is told nothing."""
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            _log.warning("the handlers' event loop has ended")

    def silent_for(self) -> float:
        """Seconds for which the loop has not answered; asks it again once it has."""
        asked_at = self._asked_at
        if asked_at is not None:
            return time.monotonic() - asked_at
        self._asked_at = time.monotonic()
        self.call(self._answer)
        return 0.0

    @property
    def busy(self) -> "asyncio.Task[Any] | None":
        """The asyncio task that the loop executes at this moment."""
        return asyncio.current_task(self._loop)

    def busy_with(self, variable: ContextVar[Answer]) -> Answer | None:
        """What a context variable says in the asyncio task that the loop executes at this moment.

        Every branch of a handler carries the handler's own context variables. Known of asyncio
        tasks that were made by `asyncio.create_task` or a group.
        """
        busy = self.busy
        return busy.context.get(variable) if isinstance(busy, _Remembering) else None

    def stack(self) -> str:
        """Where the loop's thread is."""
        frame = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001  # the only way
        return "".join(traceback.format_stack(frame)) if frame is not None else "no stack"

    def _answer(self) -> None:
        self._asked_at = None

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            while not self._stopping:
                self._run_on()
            self._loop.run_until_complete(self._end_all())
        finally:
            self._loop.close()

    def _run_on(self) -> None:
        try:
            self._loop.run_forever()
        except (SystemExit, KeyboardInterrupt) as error:
            # A branch of a handler wanted to end the process. Its own asyncio task has got that as
            # its result; the loop goes on, because others live in it.
            _log.error("a handler raised %r; it ends the handler alone", error)

    async def _end_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for other in others:
            other.cancel()
        if others:
            await asyncio.wait(others, timeout=_LAST)


class _Remembering(asyncio.Task[Any]):
    """An asyncio task whose context can be seen from outside (in Python 3.12 they all can)."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, Any],
        context: Context | None = None,
        **options: Any,
    ) -> None:
        self.context = copy_context() if context is None else context
        super().__init__(coroutine, loop=loop, context=self.context, **options)


def _remembering(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> _Remembering:
    return _Remembering(loop, coroutine, **options)
