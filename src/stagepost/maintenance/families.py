"""Tells parents what has become of their children, and cancels children with their parents."""

import logging
from typing import Final

from stagepost.batch import PAGE
from stagepost.clock import Clock
from stagepost.errors import Retryable
from stagepost.maintenance.leadership import Leadership
from stagepost.store import Store

_log = logging.getLogger("stagepost.families")

_EVERY: Final = 0.2  # seconds between two looks; a look at an idle store is a read of nothing
_NOTES: Final = 5_000
_PAUSE: Final = 2.0  # seconds before another try when the store can't be used


class Families:
    """One loop; of many processes the leader's."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._children = store.children
        self._clock = clock
        self._leadership = Leadership(store, clock, "families")

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
            _log.warning("parents and children have to wait: %s", error)
            await self._clock.sleep(_PAUSE)
            return
        if not full:
            await self._clock.sleep(_EVERY)

    async def look(self) -> bool:
        """Do what there is to do, if this process leads; True if more may be."""
        if not await self._leadership.holds():
            return False
        woken = await self._children.wake(_NOTES)
        cancelled = await self._children.cancel_some(PAGE)
        return woken >= _NOTES or cancelled >= PAGE
