"""Wakes tasks whose limit is free before the time that they were told."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from stagepost.clock import Clock
from stagepost.errors import Retryable
from stagepost.limiter import Limiter
from stagepost.limiting import task_of
from stagepost.store import Store

_log = logging.getLogger("stagepost.limiter")

_INSIST: Final = 3.0  # seconds for a task that was told to wait and does not wait yet
_AGAIN: Final = 0.5
_BATCH: Final = 500


class LimitWaker:
    """One loop in each process: what is freed here wakes tasks from here."""

    def __init__(self, limiter: Limiter, store: Store, clock: Clock) -> None:
        self._limiter = limiter
        self._store = store
        self._clock = clock
        self._called: dict[str, float] = {}

    async def run(self) -> None:
        """Wake whoever is called, until cancelled."""
        while True:
            for reservation in await self._next():
                self._called[task_of(reservation)] = self._clock.monotonic() + _INSIST
            await self.wake()

    async def _next(self) -> Sequence[str]:
        if not self._called:
            return await self._limiter.called()
        try:
            async with asyncio.timeout(_AGAIN):
                return await self._limiter.called()
        except TimeoutError:
            return ()

    async def wake(self) -> None:
        """Wake those that wait; the others are tried again for a few seconds."""
        try:
            woken = await self._store.limits.wake(list(self._called)[:_BATCH])
        except Retryable as error:
            _log.warning("tasks whose limit is free have to wait: %s", error)
            woken = ()
        now = self._clock.monotonic()
        self._called = {
            task_id: until
            for task_id, until in self._called.items()
            if task_id not in set(woken) and until > now
        }
