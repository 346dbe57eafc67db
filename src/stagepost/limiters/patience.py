"""Waiting in place: ask, wait for a bell or a while, ask again."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

from stagepost.clock import Clock
from stagepost.limiter import Verdict
from stagepost.limiters.decision import Decision


class Bells:
    """Wakes whoever waits in place, in whichever event loop and thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    def ring(self) -> None:
        """Everybody looks again."""
        with self._lock:
            waiting = list(self._waiting.items())
        for event, loop in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    async def patiently(
        self, ask: Callable[[float], Awaitable[Decision]], clock: Clock, patience: float
    ) -> Verdict:
        """Ask until it is granted or will take longer than what is left of the patience."""
        event = asyncio.Event()
        with self._lock:
            self._waiting[event] = asyncio.get_running_loop()
        try:
            until = clock.monotonic() + patience
            while True:
                event.clear()
                left = max(0.0, until - clock.monotonic())
                decision = await ask(left)
                if decision.verdict.granted or decision.verdict.wait > left:
                    return decision.verdict
                await _either(event, clock, decision.again / 1000)
        finally:
            with self._lock:
                del self._waiting[event]


async def _either(event: asyncio.Event, clock: Clock, seconds: float) -> None:
    waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(clock.sleep(seconds))]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
