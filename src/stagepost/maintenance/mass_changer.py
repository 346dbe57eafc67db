"""Goes on with the changes of many tasks that people have asked for."""

import logging
from typing import Final

from stagepost.clock import Clock
from stagepost.errors import NotFound, Retryable
from stagepost.maintenance.leadership import Leadership
from stagepost.store import Store

_log = logging.getLogger("stagepost.mass")

_EVERY: Final = 0.25  # seconds, while something is under way
_IDLE: Final = 1.0
_PAUSE: Final = 2.0  # before another try when the store can't be used
_MOST: Final = 100  # changes in one turn
_PAGES: Final = 10  # of each in one turn, while they come full; each is a transaction


class MassChanger:
    """One loop; of many processes the leader's. What it was at when it died, the next one ends."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._after = ""
        """The change that was looked at last: slow ones, of which there may be many, don't stand
        in the way of those behind them."""
        self._leadership = Leadership(store, clock, "mass changes")

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        try:
            while True:
                await self._clock.sleep(await self._turn())
        finally:
            await self._leadership.resign()

    async def _turn(self) -> float:
        try:
            return _EVERY if await self.look() else _IDLE
        except Retryable as error:
            _log.warning("redrives and other changes of many tasks have to wait: %s", error)
            return _PAUSE

    async def look(self) -> bool:
        """A few pages of each change, if this process leads; whether anything is under way.

        Where there are more than fit into one turn, the next begins behind the last of this one.
        """
        if not await self._leadership.holds():
            return False
        under_way = await self._next()
        for change_id in under_way:
            # Noted first: one that fails, again and again, doesn't keep the others waiting.
            self._after = change_id
            await self._advance(change_id)
        return bool(under_way)

    async def _next(self) -> list[str]:
        """The changes of one turn: on behind the last one, and then from the oldest again."""
        behind = list(await self._store.mass.open(_MOST, self._after))
        room = _MOST - len(behind)
        again = await self._store.mass.open(room) if self._after and room else ()
        return behind + [change_id for change_id in again if change_id <= self._after]

    async def _advance(self, change_id: str) -> None:
        for _ in range(_PAGES):
            try:
                advanced = await self._store.mass.advance(change_id)
            except NotFound:
                # Pruned since it was listed.
                return
            if not advanced.full:
                return
