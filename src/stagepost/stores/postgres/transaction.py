"""One transaction: what it has changed, and how it is done though connections and locks fail."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from stagepost.bus import Committed
from stagepost.errors import StoreUnavailable
from stagepost.stores.postgres import refusals
from stagepost.stores.postgres.connections import Backend, Connections

Answer = TypeVar("Answer")


class InDoubt(StoreUnavailable):
    """The database went away in the middle of a write, and has not come back to be asked."""

    def __init__(self, lost: Backend) -> None:
        super().__init__(_IN_DOUBT)
        self.pid, self.born = lost.pid, lost.born


_DEADLOCKS: Final = 5
"""Tries of a transaction that others keep undoing, by a deadlock or a serialisation failure."""

_DOUBT_LIMIT: Final = 8.0  # seconds in which the fate of a lost transaction is looked for
_DOUBT_POLL: Final = 0.1
_TRIES: Final = 200
_IN_DOUBT: Final = (
    "The database went away in the middle of this write; look whether it was done before you try "
    "it again."
)


class Moment:
    """The latest instant that the store's clock has shown here: it may be set back, this may not.

    Every statement that needs the time takes the later one of this and its own.
    """

    def __init__(self) -> None:
        self.last = 0

    def saw(self, instant: int) -> int:
        """Note what a statement took for now."""
        self.last = max(self.last, instant)
        return self.last


class Transaction:
    """A connection, and what is to be announced once it has committed."""

    def __init__(self, connection: Backend, moment: Moment, *, again: bool = False) -> None:
        self.connection = connection
        self.moment = moment
        self.again = again
        """An earlier try was lost on the way and may have been done."""
        self.events: list[str] = []
        self.cancels: list[str] = []
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.pooled: set[str] = set()
        """Lanes whose pool has got something."""
        self.turns: Counter[tuple[str, str]] = Counter()
        """What was claimed in lanes that tenants share, by (lane, tenant)."""
        self.keys: dict[str, tuple[str, str]] = {}
        """(tenant, key) of the claimed tasks that have a concurrency key."""
        self.held_back = False
        """A claim has found something that a rule holds back."""
        self.woken = False
        """Set when children have left notes for their parents."""
        self.over: list[tuple[str, str]] = []
        """(lease, task) of the claims that have ended."""

    def count(self, kind: str, places: Iterable[tuple[str, str]]) -> None:
        """Count a fact of this kind for each (type, lane)."""
        for (task_type, lane), number in Counter(places).items():
            self.counts[task_type, lane, kind] += number

    @property
    def news(self) -> Committed:
        """The doorbells."""
        return Committed(self.events, self.cancels, self.counts)


Work = Callable[[Transaction], Awaitable[Answer]]
"""Does its writes; those of more than one statement in `connection.transaction()`."""


async def perform(
    connections: Connections, moment: Moment, work: Work[Answer], purpose: str = ""
) -> tuple[Transaction, Answer]:
    """Do the work once, whatever happens on the way; `purpose` says which connection suits.

    After a deadlock or a serialisation failure it is done again, at most five times in all. If the
    connection is lost while it is done, what the server still does of it is ended first, and the
    work then has `again` set: it has to look what is there. Raises StoreUnavailable
    when no connection is to be had; its text says so if the work may have been done.
    """
    lost: Backend | None = None
    limit = 0.0
    for number in range(1, _TRIES):
        backend: Backend | None = None
        try:
            if lost is not None:
                await connections.bury(lost.pid, lost.born)
            async with connections.one(purpose) as backend:
                transaction = Transaction(backend, moment, again=lost is not None)
                return transaction, await work(transaction)
        except refusals.AGAIN:
            if number >= _DEADLOCKS:
                raise
            await asyncio.sleep(0.02 * number * random.random())  # noqa: S311  # only spreads
        except Exception as error:
            if not (lost and isinstance(error, StoreUnavailable)) and not refusals.is_lost(error):
                raise
            lost = backend or lost
            if lost is None:
                raise
            limit = limit or time.monotonic() + _DOUBT_LIMIT
            if time.monotonic() > limit:
                raise InDoubt(lost) from error
            await asyncio.sleep(_DOUBT_POLL * (0.5 + random.random()))  # noqa: S311
    raise StoreUnavailable("The database undoes every try; try again in a moment.")
