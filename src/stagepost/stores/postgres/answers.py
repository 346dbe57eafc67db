"""Between the event loops of the callers and that of the store."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from stagepost.stores.handover import hand_over

_log = logging.getLogger("stagepost.store")

CLOSING: Final = "The store is closing; try again in a moment."


@dataclass(slots=True, eq=False)
class Intent:
    """One caller's wish; a result that is an exception is raised where the caller awaits."""

    argument: Any
    size: int = 0
    future: "asyncio.Future[Any] | None" = None
    """Where the caller awaits; None when nobody does."""
    until: float = 0.0
    """By the monotonic clock: how long it may be set aside; 0 before it was."""

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
        """Hand each result to its caller."""
        hand_over(results, self._left_over, self._home)

    def _left_over(self, answers: Results) -> None:
        if self._orphaned is not None:
            try:
                self._home.call_soon_threadsafe(self._orphaned, answers)
            except RuntimeError:
                _log.warning("the store's event loop has gone; its claims are left to the rescuer")
