"""The loop that lets the parents of this process's children go on, soon after these have ended."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from stagepost.errors import StoreUnavailable
from stagepost.stores.postgres.answers import Bell

_log = logging.getLogger("stagepost.store")

_GAP: Final = 0.02
"""Seconds between two rounds: children that end together are counted together."""
_NOTES: Final = 5_000


class Telling:
    """Calls `wake` after a ring until it has worked off less than it was allowed to.

    What fails or is passed over here is left to the engine's own loop, which looks as well.
    """

    def __init__(
        self, home: asyncio.AbstractEventLoop, wake: Callable[[int], Awaitable[int]]
    ) -> None:
        self._wake = wake
        self._bell = Bell(home)
        self._loop = home.create_task(self._run(), name="store-telling")

    def ring(self) -> None:
        """Children have left notes."""
        self._bell.ring(at_home=True)

    async def close(self) -> None:
        """End the loop."""
        self._loop.cancel()
        await asyncio.gather(self._loop, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._bell.heard()
            try:
                if await self._wake(_NOTES) >= _NOTES:
                    self.ring()
            except StoreUnavailable as error:
                _log.info("parents have to wait: %s", error)
            except Exception:  # noqa: BLE001  # the loop must outlive any fault
                _log.exception("the notes of children could not be worked off")
            await asyncio.sleep(_GAP)
