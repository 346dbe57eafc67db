"""What the headers of one answer tell is told to the limiter while its body is on its way.

What is left of a limit is true when the headers come. An answer may take minutes, in which others
have gone out that the provider did not know of, so it is told at once and never again at the end.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from stagepost.errors import Retryable
from stagepost.llm.provider import Heard

_log = logging.getLogger("stagepost.llm")


class Hearing:
    """Of one call; `heed` tells the limiter."""

    def __init__(self, heed: Callable[[Heard], Awaitable[None]]) -> None:
        self._heed = heed
        self._heeding: asyncio.Task[None] | None = None

    def hear(self, heard: Heard) -> None:
        """The headers are there. The answer does not wait for the limiter."""
        if self._heeding is None:
            self._heeding = asyncio.create_task(self._told(heard))

    async def rest(self, heard: Heard) -> Heard:
        """The call is over: what of `heard` the limiter does not know yet."""
        await self.over()
        return heard if self._heeding is None else Heard(heard.request_id, heard.model)

    async def over(self) -> None:
        """Return once the limiter knows what was heard."""
        if self._heeding is not None:
            await asyncio.wait((self._heeding,))

    async def _told(self, heard: Heard) -> None:
        try:
            await self._heed(heard)
        except Retryable as error:
            _log.warning("what a provider tells of its limits is lost: %s", error)
