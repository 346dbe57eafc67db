"""Counts the calls of which nobody knows how they ended into what was spent."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from stagepost.store import Store

_log = logging.getLogger("stagepost.calls")

_PAGE: Final = 1_000


class LostCalls:
    """Whoever reads the usage finds them in it, counted or not; counted they need no look-up."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def round(self, leads: Callable[[], Awaitable[bool]]) -> int:
        """One round, as long as this process leads; how many were counted. Raises Retryable."""
        counted = 0
        while await leads():
            some = await self._store.calls.note_unknown(_PAGE)
            counted += some
            if some < _PAGE:
                break
        if counted:
            _log.warning(
                "%d calls were cut off, and nobody knows how they ended; they count as spent",
                counted,
            )
        return counted
