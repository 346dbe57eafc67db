"""Removes the blobs to which nothing refers."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from stagepost.blobs import Blobs
from stagepost.clock import Clock
from stagepost.erasing import remove
from stagepost.retention import UNREFERENCED_KEPT
from stagepost.store import Store

_log = logging.getLogger("stagepost.sweeper")

_PAGE: Final = 200
_REST: Final = 0.05  # seconds between two pages
_JUMP: Final = 60.0
# Seconds by which the store's clock may move against this process's own between two rounds.
_CALM: Final = 600.0
# Seconds for which it must not have jumped: what is being written now is referred to by then.
_STRANGERS_EVERY: Final = 24 * 3600.0

Leads = Callable[[], Awaitable[bool]]


class Sweeper:
    """A blob is removed once nothing has referred to it for 24 hours; its row goes first.

    Those hours are told by the store's clock. If that jumps ahead, a blob that is just being
    written seems a day old; so after a jump, and after its own start, the sweeper waits.

    Once a day it looks for files that no row knows, as a crash between row and file leaves them. It
    removes them if the blobs are this store's own, and only those that are a day old.
    """

    def __init__(self, store: Store, blobs: Blobs, clock: Clock) -> None:
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._offset: float | None = None
        self._calm_since = 0.0
        self._strangers_at: float | None = None

    async def round(self, leads: Leads) -> int:
        """One round, as long as this process leads; how many it has removed. Raises Retryable."""
        if not await self._calm():
            return 0
        removed = await self._unreferenced(leads)
        now = self._clock.monotonic()
        if self._strangers_at is None or now - self._strangers_at >= _STRANGERS_EVERY:
            removed += await self._strangers(leads)
            self._strangers_at = now
        if removed:
            _log.info("%d files to which nothing referred were removed", removed)
        return removed

    async def _calm(self) -> bool:
        """Whether the store's clock has gone as this process's own for long enough."""
        instant = await self._store.retention.now()
        now = self._clock.monotonic()
        offset = instant / 1000 - now
        if self._offset is None or abs(offset - self._offset) > _JUMP:
            self._calm_since = now
        self._offset = offset
        return now - self._calm_since >= _CALM

    async def _unreferenced(self, leads: Leads) -> int:
        removed = 0
        while await leads():
            keys = await self._store.retention.unreferenced(
                older_than=UNREFERENCED_KEPT, limit=_PAGE
            )
            removed += len(await remove(self._store, self._blobs, keys))
            if len(keys) < _PAGE:
                break
            await self._clock.sleep(_REST)
        return removed

    async def _strangers(self, leads: Leads) -> int:
        if not await self._blobs.belong_to(await self._store.retention.identity()):
            _log.warning(
                "the blobs belong to another store; files that this one does not know are left"
            )
            return 0
        removed = 0
        after: str | None = ""
        while after is not None and await leads():
            keys, after = await self._blobs.listed(after, older_than=UNREFERENCED_KEPT)
            for start in range(0, len(keys), _PAGE):
                removed += await self._remove_strange(keys[start : start + _PAGE])
            await self._clock.sleep(_REST)
        return removed

    async def _remove_strange(self, keys: Sequence[str]) -> int:
        # A key has a row before its first byte is written, so one without any is nobody's.
        strange = await self._store.retention.strange_blobs(keys)
        for key in strange:
            await self._blobs.delete(key)
        return len(strange)
