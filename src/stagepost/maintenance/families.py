"""Tells parents what has become of their children, and cancels children with their parents."""

import logging
from typing import Final

from stagepost.batch import PAGE
from stagepost.clock import Clock
from stagepost.maintenance.leadership import Leadership
from stagepost.maintenance.looking import look_on
from stagepost.store import Store

_log = logging.getLogger("stagepost.families")

_EVERY: Final = 0.2  # seconds between two looks; a look at an idle store is a read of nothing
_NOTES: Final = 5_000


class Families:
    """One loop; of many processes the leader's."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._children = store.children
        self._clock = clock
        self._leadership = Leadership(store, clock, "families")

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        await look_on(
            self.look,
            self._leadership,
            self._clock,
            _log,
            every=_EVERY,
            waiting="parents and children",
        )

    async def look(self) -> bool:
        """Do what there is to do, if this process leads; True if more may be."""
        if not await self._leadership.holds():
            return False
        woken = await self._children.wake(_NOTES)
        cancelled = await self._children.cancel_some(PAGE)
        return woken >= _NOTES or cancelled >= PAGE
