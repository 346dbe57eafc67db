"""Between the event loops of the callers and that of the store."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

_log = logging.getLogger("stagepost.store")

CLOSING: Final = "The store is closing; try again in a moment."


@dataclass(slots=True, eq=False)
class Intent:
    """One caller's wish; a result that is an exception is raised where the caller awaits."""

    argument: Any
    size: int = 0
    future: "asyncio.Future[Any] | None" = None
    """Where the caller awaits; None when nobody does."""

    @property
    def abandoned(self) -> bool:
        """True once nobody waits for the result any more."""
        return self.future is not None and self.future.done()


Results = list[tuple[Intent, Any]]


class Bell:
    """Wakes one loop, from any thread."""

    def __init__(self, home: asyncio.AbstractEventLoop) -> None:
        self._home = home
        self._event = asyncio.Event()

    def ring(self, *, at_home: bool) -> None:
        """Wake it; `at_home` says that the caller runs in its event loop."""
        if self._event.is_set():
            return
        if at_home:
            self._event.set()
        else:
            self._home.call_soon_threadsafe(self._event.set)

    async def heard(self, timeout: float | None = None) -> None:
        """Return once it has rung, or after so many seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._event.wait()
        except TimeoutError:
            return
        self._event.clear()


class Answers:
    """Gives callers their results; `orphaned` gets those whose callers have gone."""

    def __init__(
        self,
        home: asyncio.AbstractEventLoop,
        orphaned: Callable[[Results], None] | None = None,
    ) -> None:
        self._home = home
        self._orphaned = orphaned

    def give(self, results: Results) -> None:
        """Hand each result to its caller, once for each event loop."""
        elsewhere: dict[asyncio.AbstractEventLoop, Results] = {}
        here: Results = []
        for answer in results:
            future = answer[0].future
            if future is None or future.get_loop() is self._home:
                here.append(answer)
            else:
                elsewhere.setdefault(future.get_loop(), []).append(answer)
        self._hand_over(here)
        for loop, answers in elsewhere.items():
            try:
                loop.call_soon_threadsafe(self._hand_over, answers)
            except RuntimeError:
                # The loop was closed: nobody is left there to be told.
                self._left_over(answers)

    def _hand_over(self, answers: Results) -> None:
        left: Results = []
        for intent, result in answers:
            future = intent.future
            if future is None or future.done():
                left.append((intent, result))
            elif isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)
        if left:
            self._left_over(left)

    def _left_over(self, answers: Results) -> None:
        if self._orphaned is not None:
            try:
                self._home.call_soon_threadsafe(self._orphaned, answers)
            except RuntimeError:
                _log.warning("the store's event loop has gone; its claims are left to the rescuer")
