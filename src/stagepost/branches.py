"""The branches of a handler, as far as they show: which asyncio tasks use its context, and when.

The engine does not know the asyncio tasks that a handler makes. It sees them when they use the
context, and only then.
"""

import asyncio
from collections.abc import Callable


class Branches:
    """One claim's branches, and whether one that is out of sight may still come back."""

    __slots__ = ("_are_many", "_grace", "_moves")

    def __init__(self) -> None:
        self._are_many = False
        self._moves = 0
        self._grace: asyncio.TimerHandle | None = None

    def used(self, handler: int) -> None:
        """The asyncio task that runs now uses the context; `handler` is the id of the handler's."""
        if not self._are_many:
            self._are_many = id(asyncio.current_task()) != handler
        self._moves += 1

    def moved(self) -> None:
        """A step has started or ended, or a wait: whoever it was goes on from there."""
        self._moves += 1

    def when_still(self, still: Callable[[], bool], then: Callable[[], None], grace: float) -> None:
        """Call `then` once all that shows stands still, as `still` says, and nobody can come back.

        Where only the handler's own asyncio task has ever used the context, that is at once; else
        after so many seconds in which nothing has moved.
        """
        if not self._are_many:
            then()
        elif self._grace is None:
            loop = asyncio.get_running_loop()
            self._grace = loop.call_later(grace, self._look, self._moves, still, then, grace)

    def end(self) -> None:
        """Nobody is waited for any more."""
        if self._grace is not None:
            self._grace.cancel()

    def _look(
        self, moves: int, still: Callable[[], bool], then: Callable[[], None], grace: float
    ) -> None:
        self._grace = None
        if not still():
            return
        if moves == self._moves:
            then()
        else:
            self.when_still(still, then, grace)
