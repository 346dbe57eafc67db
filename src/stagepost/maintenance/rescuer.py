"""Gives back the claims of workers that have fallen silent."""

import logging
from typing import Final, NamedTuple

from stagepost.clock import Clock
from stagepost.errors import Retryable
from stagepost.maintenance.leadership import Leadership
from stagepost.records import Rescue
from stagepost.store import Store

_log = logging.getLogger("stagepost.rescuer")

_TOLERANCE: Final = 0.1
"""Of a lease: what the store's clock may differ between two looks, as clocks that are corrected."""


class _Clocks(NamedTuple):
    """The store's instant, and our own seconds when it was asked for and when it came."""

    stores: int
    asked: float
    answered: float


class Rescuer:
    """Rescues only after it has itself seen the store up for one whole lease.

    While the store was away, or this process asleep, nobody could renew: who is silent then is not
    dead. After a gap in its own looks it therefore counts anew. It does so, too, when the store's
    clock has not gone as far as its own since the look before: after a jump everybody would seem
    silent, and for as long as it stands, everybody who writes by another process. `lease` is in
    seconds.

    Every process watches the store so, and only the leader rescues: whoever takes over knows then
    how long the store has been up.
    """

    def __init__(self, store: Store, clock: Clock, lease: float) -> None:
        self._store = store
        self._clock = clock
        self._lease = lease
        self._every = lease / 5
        self._leadership = Leadership(store, clock, "rescuer")
        self._up_since: float | None = None
        self._looked_at = 0.0
        self._clocks: _Clocks | None = None

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        try:
            while True:
                await self.look()
                await self._clock.sleep(self._every)
        finally:
            await self._leadership.resign()

    async def look(self) -> Rescue:
        """One look; rescues if the store has been up for long enough."""
        now = self._clock.monotonic()
        if now - self._looked_at > self._lease / 2:
            self._up_since = None
        self._looked_at = now
        try:
            stores = await self._store.ping()
            if self._has_jumped(_Clocks(stores, now, self._clock.monotonic())):
                _log.warning("the store's clock has jumped; nobody is rescued for a whole lease")
                self._up_since = None
            if self._up_since is None:
                self._up_since = now
            if now - self._up_since < self._lease:
                return Rescue()
            return await self._rescue(stores) if await self._leadership.holds() else Rescue()
        except Retryable as error:
            self._up_since = None
            _log.warning("nobody is rescued while the store is away: %s", error)
            return Rescue()

    def _has_jumped(self, clocks: "_Clocks") -> bool:
        """Whether the store's clock went otherwise than ours since the last time it was asked."""
        before, self._clocks = self._clocks, clocks
        if before is None:
            return False
        went = (clocks.stores - before.stores) / 1000
        tolerance = self._lease * _TOLERANCE
        least, most = clocks.asked - before.answered, clocks.answered - before.asked
        return not least - tolerance <= went <= most + tolerance

    async def _rescue(self, as_of: int) -> Rescue:
        rescue = await self._store.rescue(older_than=self._lease, as_of=as_of)
        if rescue.workers:
            _log.warning(
                "%d tasks were taken back from %d silent workers",
                len(rescue.tasks),
                len(rescue.workers),
            )
        return rescue
