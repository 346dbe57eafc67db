"""Waiting for what another thread or asyncio task does, never for a length of time."""

import asyncio
from collections.abc import Callable

PATIENCE = 10.0
"""Seconds of real time after which a test that waits gives up."""


async def until(condition: Callable[[], object]) -> None:
    """Return once the condition holds; fails after PATIENCE."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  # what is waited for has no event of ours
            await asyncio.sleep(0.001)
