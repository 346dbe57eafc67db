"""How the loop of a leader goes that has a queue to work off."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from stagepost.clock import Clock
from stagepost.errors import Retryable
from stagepost.maintenance.leadership import Leadership

_PAUSE: Final = 2.0  # seconds before another try when the store can't be used

Look = Callable[[], Awaitable[bool]]
"""Does some of what there is to do, if this process leads; True if more may be."""


async def look_on(
    look: Look,
    leadership: Leadership,
    clock: Clock,
    log: logging.Logger,
    *,
    every: float,
    waiting: str,
) -> None:
    """Look until cancelled, then resign: at once while there is more, else `every` so many seconds.

    While the store can't be used `waiting`, who has to wait for it, is logged.
    """
    try:
        while True:
            pause = await _turn(look, log, every, waiting)
            if pause:
                await clock.sleep(pause)
    finally:
        await leadership.resign()


async def _turn(look: Look, log: logging.Logger, every: float, waiting: str) -> float:
    try:
        return 0.0 if await look() else every
    except Retryable as error:
        log.warning("%s have to wait: %s", waiting, error)
        return _PAUSE
