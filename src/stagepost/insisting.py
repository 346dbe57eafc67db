"""How a write is made that the store can't take now."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from stagepost.errors import Retryable

Answer = TypeVar("Answer")

_log = logging.getLogger("stagepost.journal")

_RETRY_FIRST: Final = 0.1  # seconds
_RETRY_MOST: Final = 5.0


async def insist(call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Call until the store takes it; other errors end it. The caller's own end bounds it."""
    delay = _RETRY_FIRST
    while True:
        try:
            return await call()
        except Retryable as error:
            _log.warning("tried again in %.1f s: %s", delay, error)
        await asyncio.sleep(delay * (0.5 + random.random() / 2))  # noqa: S311  # only spreads
        delay = min(delay * 2, _RETRY_MOST)
