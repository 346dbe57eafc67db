"""The context of a sync handler: the same methods, without `await`."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from stagepost.context import Context
from stagepost.model_calls import ModelCalls
from stagepost.permit import Permit, forgive

Result = TypeVar("Result")

_STEPS: Final = frozenset({"step", "map"})
_AWAITED: Final = frozenset(
    {"progress", "emit", "save_artifact", "sleep", "wait_for", "child", "spawn", "batch"}
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

    def limit(self, name: str | Mapping[str, int], units: int = 1) -> "BlockingPermit":
        """Take units of a limit: for the step that follows, or for the block of a `with`."""
        permit = self._context.limit(name, units)
        if self.wait(permit.begin()):
            permit.owe()
        return BlockingPermit(permit, self)

    @property
    def llm(self) -> "BlockingModelCalls":
        """Models."""
        return BlockingModelCalls(self._context.llm, self)

    def __getattr__(self, name: str) -> Any:
        """The context's attribute, made blocking where it is awaited."""
        value = getattr(self._context, name)
        if name in _STEPS:
            return self._blocking_step(value)
        return self._blocking(value) if name in _AWAITED else value

    def _blocking(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self.wait(method(*args, **kwargs))

        return call

    def _blocking_step(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return self.wait(method(*args, **kwargs))
            finally:
                # The step did so in a copy of this thread's context variables.
                forgive()

        return call


class BlockingModelCalls:
    """The calls of `ctx.llm`; each blocks until its answer is there."""

    def __init__(self, calls: ModelCalls, context: BlockingContext) -> None:
        self._calls = calls
        self._context = context

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """One of its methods, made blocking."""
        method = getattr(self._calls, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._context.wait(method(*args, **kwargs))

        return call


class BlockingPermit(AbstractContextManager["BlockingPermit"]):
    """Units that are taken already; as a block, what is held is free at its end."""

    def __init__(self, permit: Permit, context: BlockingContext) -> None:
        self._permit = permit
        self._context = context

    def __enter__(self) -> Self:
        """The units are for the block."""
        self._permit.is_of_block = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """What is held is free."""
        self._permit.owe_no_more()
        self._context.wait(self._permit.end())
