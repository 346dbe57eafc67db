"""Waiting for what another thread or asyncio task does, never for a length of time."""

import asyncio
import time
from collections.abc import Callable

PATIENCE = 10.0
"""Seconds of real time after which a test that waits gives up."""


async def until(condition: Callable[[], object]) -> None:
    """Return once the condition holds; fails after PATIENCE."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  # what is waited for has no event of ours
            await asyncio.sleep(0.001)


def soon(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """The same for code that is not async."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not come to be"
        time.sleep(0.005)
