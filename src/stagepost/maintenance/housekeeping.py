"""The loop that keeps the store and the blobs small and in order: prunes, sweeps, counts."""

import logging
from typing import Final

from stagepost.clock import Clock
from stagepost.errors import Retryable
from stagepost.maintenance.leadership import Leadership
from stagepost.maintenance.lost_calls import LostCalls
from stagepost.maintenance.pruner import Pruner
from stagepost.maintenance.sweeper import Sweeper
from stagepost.store import Store

_log = logging.getLogger("stagepost.housekeeping")

_TICK: Final = 3.0  # seconds; within the lease of the leader
_PRUNE_EVERY: Final = 600.0
_SWEEP_EVERY: Final = 60.0
_COUNT_EVERY: Final = 60.0


class Housekeeping:
    """One loop; of many processes the leader's."""

    def __init__(
        self, store: Store, clock: Clock, pruner: Pruner, sweeper: Sweeper, lost_calls: LostCalls
    ) -> None:
        self._clock = clock
        self._pruner = pruner
        self._sweeper = sweeper
        self._lost_calls = lost_calls
        self._leadership = Leadership(store, clock, "housekeeping")
        self._prune_at = 0.0
        self._sweep_at = 0.0
        self._count_at = 0.0

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        try:
            while True:
                await self.look()
                await self._clock.sleep(_TICK)
        finally:
            await self._leadership.resign()

    async def look(self) -> None:
        """Do what it is time for, if this process leads."""
        leads = self._leadership.holds
        try:
            if not await leads():
                return
            now = self._clock.monotonic()
            if now >= self._count_at:
                self._count_at = now + _COUNT_EVERY
                await self._lost_calls.round(leads)
            if now >= self._prune_at:
                self._prune_at = now + _PRUNE_EVERY
                await self._pruner.round(leads)
            if now >= self._sweep_at:
                self._sweep_at = now + _SWEEP_EVERY
                await self._sweeper.round(leads)
        except Retryable as error:
            _log.warning("housekeeping has to wait: %s", error)
