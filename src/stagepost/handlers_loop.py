"""The thread and event loop in which handlers run, apart from the API's.

A handler that blocks its loop blocks other handlers, but neither the API nor the heartbeats. How
long the loop has been silent can be seen from outside, and what blocks it.
"""

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import uvloop

Answer = TypeVar("Answer")

_STOP: Final = 5.0  # seconds that the loop may take to end


class HandlersLoop:
    """Starts with `start`, ends with `stop`; in between it is used from other threads."""

    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="stagepost-handlers", daemon=True)
        self._asked_at: float | None = None

    def start(self) -> None:
        """Let it run."""
        self._thread.start()

    def stop(self) -> None:
        """End it; a handler that blocks it is left behind with its thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_STOP)

    @property
    def alive(self) -> bool:
        """False once the thread has ended."""
        return self._thread.is_alive()

    def submit(self, coroutine: Coroutine[Any, Any, Answer]) -> "Future[Answer]":
        """Run a coroutine there."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call(self, callback: Callable[..., None], *arguments: object) -> None:
        """Call a function there soon."""
        self._loop.call_soon_threadsafe(callback, *arguments)

    def silent_for(self) -> float:
        """Seconds for which the loop has not answered; asks it again once it has."""
        asked_at = self._asked_at
        if asked_at is not None:
            return time.monotonic() - asked_at
        self._asked_at = time.monotonic()
        self._loop.call_soon_threadsafe(self._answer)
        return 0.0

    def busy_with(self) -> "asyncio.Task[Any] | None":
        """The asyncio task that the loop executes at this moment."""
        return asyncio.current_task(self._loop)

    def stack(self) -> str:
        """Where the loop's thread is."""
        frame = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001  # the only way
        return "".join(traceback.format_stack(frame)) if frame is not None else "no stack"

    def _answer(self) -> None:
        self._asked_at = None

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()
