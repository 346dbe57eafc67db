"""The context of a sync handler: the same methods, without `await`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from stagepost.context import Context

Result = TypeVar("Result")

_AWAITED: Final = frozenset(
    {"step", "map", "progress", "emit", "save_artifact", "child", "spawn", "batch"}
)


class BlockingContext:
    """Stands before a Context in another thread's event loop; each method blocks until it is done.

    Everything else (`task_id`, `log`, ...) is the context's own.
    """

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop

    def wait(self, awaitable: Awaitable[Result]) -> Result:
        """The result of something else that is awaited, such as `request.file.path()`."""

        async def call() -> Result:
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
