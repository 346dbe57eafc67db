"""How sure a worker may be that its lease still holds."""

import time


class WorkerLease:
    """What a worker knows of its lease by its own clock, which decides nothing but when to hold on.

    The store's clock decides when the lease ends. That is never before `seconds` after the last
    renewal was asked for, so until then whatever the worker starts is its own to start. Changed in
    the handlers' event loop alone, where what a lost lease ends was told before the next one
    begins.
    """

    __slots__ = ("_holds_until", "_seconds")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._holds_until = 0.0

    def renewed(self, asked_at: float) -> None:
        """The store has taken a renewal that was asked for then, by the monotonic clock."""
        self._holds_until = max(self._holds_until, asked_at + self._seconds)

    @property
    def holds(self) -> bool:
        """False once somebody else may have been given what this worker runs."""
        return time.monotonic() < self._holds_until
