"""Tells when tasks wait for a version of their code that no worker runs any more."""

import logging
from typing import Final

from stagepost.clock import Clock
from stagepost.errors import Retryable
from stagepost.maintenance.leadership import Leadership
from stagepost.store import Store
from stagepost.versions import Stamped

_log = logging.getLogger("stagepost.versions")

_EVERY: Final = 2.0  # seconds between two askings for the lead, which would be lost otherwise
_LOOK_EVERY: Final = 15.0  # seconds
_PATIENCE: Final = 300.0  # seconds without a worker: a deploy takes less
_MOST: Final = 1_000  # lanes, types and versions looked at

_Place = tuple[str, str, int]


class VersionWatch:
    """Warns once when a lane's tasks have had no worker of their version for 5 minutes.

    And tells once when they have one again. `lease` is in seconds. It counts from when it first saw
    it; a new leader begins anew.
    """

    def __init__(self, store: Store, clock: Clock, lease: float) -> None:
        self._store = store
        self._clock = clock
        self._lease = lease
        self._leadership = Leadership(store, clock, "versions")
        self._look_at = float("-inf")
        self._since: dict[_Place, float] = {}
        self._told: set[_Place] = set()

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        try:
            while True:
                await self.look()
                await self._clock.sleep(_EVERY)
        finally:
            await self._leadership.resign()

    async def look(self) -> None:
        """Keep the lead, and look when it is time."""
        try:
            if not await self._leadership.holds():
                self._since.clear()
                self._told.clear()
            elif self._clock.monotonic() >= self._look_at:
                self._look_at = self._clock.monotonic() + _LOOK_EVERY
                self._compare(await self._stranded())
        except Retryable as error:
            _log.info("nobody looks for missing versions while the store is away: %s", error)

    async def _stranded(self) -> list[Stamped]:
        stamped = await self._store.stamped()
        if not stamped:
            return []
        silent = self._clock.now() - round(self._lease * 1000)
        alive = [each for each in await self._store.workers() if each.beat_at > silent]
        return [each for each in stamped if not each.served_by(alive)][:_MOST]

    def _compare(self, stranded: list[Stamped]) -> None:
        now = self._clock.monotonic()
        found = {(each.lane, each.type, each.code_version): each for each in stranded}
        for place in self._told - found.keys():
            _log.info("%s: taken by a worker again, or gone", _name(place))
        self._told &= found.keys()
        self._since = {place: self._since.get(place, now) for place in found}
        for place, since in self._since.items():
            if now - since >= _PATIENCE and place not in self._told:
                self._told.add(place)
                _warn(place, found[place].count)


def _warn(place: _Place, count: int) -> None:
    _log.warning(
        "%s: %d queued tasks have had no live worker for %d minutes; start a worker whose handler "
        "accepts this version, or cancel them",
        _name(place),
        count,
        _PATIENCE // 60,
    )


def _name(place: _Place) -> str:
    lane, type_name, version = place
    return f"version {version} of {type_name} in lane {lane}"
