"""Sync functions beside an event loop, in threads that nothing waits for at the process's end."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from typing import Any


class Threads:
    """Runs up to `most` functions at the same time; used from one event loop.

    A function can't be stopped: after a time-out its thread runs on, and holds its place until it
    ends by itself. The threads are daemons, so a function that hangs does not keep the process.
    """

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    async def run(self, call: Callable[[], Any], timeout: float | None = None) -> Any:
        """The function's result, with the context variables of the caller.

        `timeout` counts from when the function starts. Raises TimeoutError, and what it raises; an
        exception that would end a thread or a loop (SystemExit, ...) becomes a RuntimeError.
        """
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def deliver(value: Any, error: Exception | None) -> None:
            self._free.release()
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(value)

        def work() -> None:
            value, error = _outcome(call)
            # The loop may have closed meanwhile: then nobody is left there to be told.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(deliver, value, error)

        run = copy_context().run
        threading.Thread(target=run, args=(work,), name="stagepost-sync", daemon=True).start()
        async with asyncio.timeout(timeout):
            return await answer


class InThreads:
    """Runs all functions of steps in threads: where the process is killed as a whole, if at all."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    async def in_thread(self, call: Callable[[], Any], timeout: float | None) -> Any:
        """In a thread."""
        return await self._threads.run(call, timeout)

    async def in_process(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        timeout: float | None,
    ) -> Any:
        """In a thread of this process as well."""
        return await self._threads.run(lambda: fn(*args, **kwargs), timeout)


def _outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return call(), None
    except StopIteration as error:
        return None, _told("raised StopIteration", error)
    except Exception as error:  # noqa: BLE001  # it is raised again where it is awaited
        return None, error
    except BaseException as error:  # noqa: BLE001  # as above, but it must not end an event loop
        return None, _told(f"ended by {type(error).__name__}", error)


def _told(what: str, cause: BaseException) -> Exception:
    error = RuntimeError(f"A function {what}.")
    error.__cause__ = cause
    return error
