"""PORT. What the whole fleet may use of something in a time, or at once.

Terms
    *limit*        a name with units in any window of time, a number at once, or both.
    *charge*       so many units of one limit.
    *reservation*  charges that are taken together: all of them or none.
    *holder*       one life of a process. What it holds at once is free again when it is closed, or
                   has not been heard of for a whole lease; a time in which nobody could be heard
                   does not count.

Guarantees
    No half-open window of a limit's length ever holds more units than the limit has, and never more
    than its number are held at once, over all processes together. What is in doubt counts as used:
    a grant whose answer was lost, a unit whose process died.

    First come, first served: a later reservation gets only what those before it leave. One that
    was told to come back keeps its place until a little after that time; at most `MOST_WAITING` of
    a limit have a place, more are told a time and must be lucky.

    The limiter's own clock decides, set back or not. Without an answer of it nothing is granted.

    Of a limit of calls what was used by the provider's count is told by `settle`, once: told again,
    it changes nothing. What nobody settles, since its process has died, stays spent as it was
    reserved. What a provider lends is used evenly; a budget is never overdrawn by what was
    reserved.

A limit comes with each charge, so a changed one holds from the next question on; its window is
exact again once it has passed wholly under the new rule.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from stagepost.limit import Limit

MOST_WAITING: Final = 1_000
"""Reservations that have a place before one limit."""

MOST_CHARGES: Final = 8
"""Limits that a handler takes together."""


class Charge(NamedTuple):
    """So many units of a limit."""

    limit: Limit
    units: int


class Reservation(NamedTuple):
    """What is asked for, under an id of the asker's; each limit is in it once.

    The id keeps its place in line; what is held is held by the `claim`, so that another one of the
    same task holds its own.
    """

    id: str
    charges: Sequence[Charge]
    claim: str = ""

    @property
    def held_as(self) -> str:
        """The name of what it holds."""
        return f"{self.id}@{self.claim}" if self.claim else self.id


class Verdict(NamedTuple):
    """`granted`; or that it will take about `wait` seconds, because of the limit of this name.

    The wait for a budget that never turns is infinite.
    """

    granted: bool
    wait: float = 0.0
    limit: str = ""


class LimitState(NamedTuple):
    """How much of a limit is used: units in the window that ends now, held, and who waits."""

    name: str
    used: int = 0
    held: int = 0
    waiting: int = 0
    most: int | None = None
    """Units of a window, where a provider lends them: by its own word, once it has told."""
    pace: float = 1.0
    """The share of its pace at which a limit is used, after a provider had too much."""
    paused: float = 0.0
    """Seconds for which nothing of it is granted."""


class Notice(NamedTuple):
    """What was told of a limit of calls, by its provider or by the ledger."""

    limit: Limit
    most: int | None = None
    """Units of a window that the provider says it lends."""
    left: int | None = None
    """Units that it says are left now."""
    whole_in: float | None = None
    """Seconds in which it says that all of them will be there again."""
    slower: bool = False
    """It has had too much: the pace is 0.7 of what it was, and recovers within a window."""
    pause: float = 0.0
    """Seconds for which the whole fleet asks for nothing."""
    spent: int | None = None
    """What the ledger has spent of a budget in the period that it is in: at least so much."""


def pauses(limits: Sequence[Limit], seconds: float) -> Sequence[Notice]:
    """That the whole fleet uses nothing of these for so many seconds."""
    return [Notice(limit, pause=seconds) for limit in limits]


class Limiter(Protocol):
    """Reserves and settles. The verbs may be called from several event loops at once."""

    async def reserve(self, reservation: Reservation, *, patience: float = 0.0) -> Verdict:
        """Take all charges, as soon as they fit and no later than in `patience` seconds.

        Answers at once if it will take longer. Asked again with the same id it goes on waiting at
        its place, and what is held already is granted again. If the caller is cancelled, what was
        taken is given back, and the place too. Raises LimiterUnavailable within about five
        seconds when the limiter can't be asked, and QueueFull. The caller sees to it that the
        charges can fit at all.
        """
        ...

    async def settle(self, reservation: Reservation, used: Mapping[str, int] | None = None) -> None:
        """The work is done: what was held at once is free, used units stay used.

        Of limits of calls `used` says by their names what was used by the provider's count; left
        out, it is what was reserved. More than that is taken too; less is given back.

        One that still waits gives up its place. Returns at once where the limiter can't be asked,
        and tells it later.
        """
        ...

    async def heed(self, notices: Sequence[Notice]) -> None:
        """Learn what was told of limits of calls; it holds for all processes.

        Returns at once where the limiter can't be asked, and tells it later.
        """
        ...

    async def forget(self, limits: Sequence[Limit]) -> None:
        """Nobody will ask for these any more, such as a budget whose task has ended.

        Raises LimiterUnavailable.
        """
        ...

    async def called(self) -> Sequence[str]:
        """Wait for reservations that were told to come later and fit now; answers their ids.

        Room is kept for them for a little while. One at a time may wait for this. A call may be
        lost; they come by themselves at the time that they were told.
        """
        ...

    async def state(self, limits: Sequence[Limit]) -> Sequence[LimitState]:
        """How much is used of each of these. Raises LimiterUnavailable."""
        ...

    async def ping(self) -> None:
        """Return if it can be asked now; raises LimiterUnavailable."""
        ...

    async def close(self) -> None:
        """Let go of all that this holder holds, and of the limiter."""
        ...
