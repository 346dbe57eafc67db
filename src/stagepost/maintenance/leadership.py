"""Of many processes that could run one loop, one does at a time."""

import asyncio
import logging
from typing import Final

from uuid_utils import uuid7

from stagepost.clock import Clock
from stagepost.errors import Retryable
from stagepost.store import Store

_log = logging.getLogger("stagepost.leadership")

LEASE: Final = 4.0
"""Seconds for which a leader that has died is still waited for: with the next asking, under 5."""

_GOODBYE: Final = 2.0  # seconds

_ASK_EVERY: Final = LEASE / 4


class Leadership:
    """A lease of the store's; each loop is safe all the same if two lead for a moment.

    The store is asked again a few times within a lease. In between the last answer counts: a leader
    by its own monotonic clock, from before it asked, and for less than the lease.
    """

    def __init__(self, store: Store, clock: Clock, name: str) -> None:
        self._store = store
        self._clock = clock
        self._name = name
        self._holder = str(uuid7())
        self._leads = False
        self._asked_at: float | None = None

    async def holds(self) -> bool:
        """Whether this process leads now. Raises Retryable while the store can't be asked."""
        now = self._clock.monotonic()
        if self._asked_at is None or now - self._asked_at >= _ASK_EVERY:
            self._leads = False
            self._leads = await self._store.lead(self._name, self._holder, LEASE)
            self._asked_at = now
        return self._leads

    async def resign(self) -> None:
        """Let another lead at once; a loop that ends calls it."""
        if not self._leads:
            return
        self._leads, self._asked_at = False, None
        try:
            async with asyncio.timeout(_GOODBYE):
                await self._store.lead(self._name, self._holder, 0.0)
        except (Retryable, TimeoutError) as error:
            _log.info("the lead of the %s ends with its lease: %s", self._name, error)
