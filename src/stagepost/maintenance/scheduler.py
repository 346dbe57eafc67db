"""Does what is due: run times, retries, wakes, deadlines."""

import logging
from typing import Final

from stagepost.clock import Clock
from stagepost.maintenance.leadership import Leadership
from stagepost.maintenance.looking import look_on
from stagepost.store import Store

_log = logging.getLogger("stagepost.scheduler")

_EVERY: Final = 0.2  # seconds between two looks; a look at an idle store is one indexed read
_BATCH: Final = 500


class Scheduler:
    """One loop; of many processes the leader's."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._leadership = Leadership(store, clock, "scheduler")

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        await look_on(
            self.look, self._leadership, self._clock, _log, every=_EVERY, waiting="due tasks"
        )

    async def look(self) -> bool:
        """Do what is due now, if this process leads; True if more may be."""
        if not await self._leadership.holds():
            return False
        released = await self._store.release_due(_BATCH)
        expired = await self._store.expire_queued(_BATCH)
        return released >= _BATCH or expired >= _BATCH
