"""The context of a sync handler: the same methods, without `await`."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from stagepost.context import Context

Result = TypeVar("Result")

_AWAITED: Final = frozenset(
    {
        "step",
        "map",
        "progress",
        "emit",
        "save_artifact",
        "sleep",
        "wait_for",
        "child",
        "spawn",
        "batch",
    }
)


class BlockingContext:
    """Stands before a Context in another thread's event loop; each method blocks until it is done.

    Everything else (`task_id`, `log`, ...) is the context's own.
    """

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop
        self._thread = 0

    def run(self, handler: Callable[..., Result], request: Any) -> Result:
        """Run a sync handler with this context, in the thread that runs now."""
        self._thread = threading.get_ident()
        return handler(self, request)

    def wait(self, awaitable: Awaitable[Result]) -> Result:
        """The result of something else that is awaited, such as `request.file.path()`."""
        is_handler = threading.get_ident() == self._thread

        async def call() -> Result:
            if is_handler:
                self._context.is_handler()
            return await awaitable

        # The call takes this thread's context variables along, so steps nest here as well.
        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def __getattr__(self, name: str) -> Any:
        """The context's attribute, made blocking where it is awaited."""
        value = getattr(self._context, name)
        return self._blocking(value) if name in _AWAITED else value

    def _blocking(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self.wait(method(*args, **kwargs))

        return call
