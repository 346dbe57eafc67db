"""Does what is due: run times, retries, wakes, deadlines."""

import logging
from typing import Final

from stagepost.clock import Clock
from stagepost.errors import Retryable
from stagepost.maintenance.leadership import Leadership
from stagepost.store import Store

_log = logging.getLogger("stagepost.scheduler")

_EVERY: Final = 0.2  # seconds between two looks; a look at an idle store is one indexed read
_BATCH: Final = 500
_PAUSE: Final = 2.0  # seconds before another try when the store can't be used


class Scheduler:
    """One loop; of many processes the leader's."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._leadership = Leadership(store, clock, "scheduler")

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        try:
            while True:
                await self._turn()
        finally:
            await self._leadership.resign()

    async def _turn(self) -> None:
        try:
            full = await self.look()
        except Retryable as error:
            _log.warning("due tasks have to wait: %s", error)
            await self._clock.sleep(_PAUSE)
            return
        if not full:
            await self._clock.sleep(_EVERY)

    async def look(self) -> bool:
        """Do what is due now, if this process leads; True if more may be."""
        if not await self._leadership.holds():
            return False
        released = await self._store.release_due(_BATCH)
        expired = await self._store.expire_queued(_BATCH)
        return released >= _BATCH or expired >= _BATCH
