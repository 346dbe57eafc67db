"""Seals what has become of calls, and copies the seals to the anchor."""

import logging
from typing import Final

from stagepost.anchor import Anchor
from stagepost.audit.seals import line_of
from stagepost.clock import Clock
from stagepost.errors import AnchorUnavailable
from stagepost.maintenance.leadership import Leadership
from stagepost.maintenance.looking import look_on
from stagepost.store import Store

_log = logging.getLogger("stagepost.audit")

_EVERY: Final = 1.0  # seconds between two looks; a look at an idle ledger is two indexed reads
_TENANTS: Final = 20
_FACTS: Final = 1_000
_SEALS: Final = 500
_FIRST_DELAY: Final = 1.0  # seconds until an anchor that was away is tried again
_LONGEST_DELAY: Final = 60.0


class Sealer:
    """One loop; of many processes the leader's.

    While the anchor is away seals are made all the same, and sent once it is back: seals that were
    made before there was an anchor, too.
    """

    def __init__(self, store: Store, clock: Clock, anchor: Anchor | None) -> None:
        self._seals = store.seals
        self._clock = clock
        self._anchor = anchor
        self._leadership = Leadership(store, clock, "sealer")
        self._after = ""
        self._send_at = 0.0
        self._delay = _FIRST_DELAY

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        await look_on(self.look, self._leadership, self._clock, _log, every=_EVERY, waiting="seals")

    async def look(self) -> bool:
        """Seal and send some, if this process leads; True if more may be."""
        if not await self._leadership.holds():
            return False
        sealed, sent = await self._seal(), await self._send()
        return sealed or sent

    async def _seal(self) -> bool:
        """The next tenants in turn, so that none of them waits for a busy one."""
        tenants = await self._seals.waiting_tenants(self._after, _TENANTS)
        facts = await self._seals.seal(tenants, _FACTS) if tenants else 0
        self._after = tenants[-1] if len(tenants) == _TENANTS else ""
        return len(tenants) == _TENANTS or facts >= _FACTS

    async def _send(self) -> bool:
        if self._anchor is None or self._clock.monotonic() < self._send_at:
            return False
        seals = await self._seals.unsent(_SEALS)
        if not seals:
            return False
        try:
            await self._anchor.keep([line_of(seal) for seal in seals])
        except AnchorUnavailable as error:
            _log.warning("%s", error)
            self._send_at = self._clock.monotonic() + self._delay
            self._delay = min(2 * self._delay, _LONGEST_DELAY)
            return False
        self._delay = _FIRST_DELAY
        await self._seals.sent(seals)
        return len(seals) == _SEALS
