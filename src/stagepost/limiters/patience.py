"""Waiting in place: ask, wait for a bell or a while, ask again."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Final

from stagepost.clock import Clock
from stagepost.limiter import Verdict
from stagepost.limiters.decision import Decision

_MOST_CALLED: Final = 10_000


class Bells:
    """Wakes who waits in place, in whichever event loop and thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[asyncio.Event, tuple[str, asyncio.AbstractEventLoop]] = {}

    def ring(self, ids: Collection[str] | None = None) -> None:
        """Those who wait for these reservations look again; everybody, if none are named."""
        with self._lock:
            waiting = list(self._waiting.items())
        for event, (reservation, loop) in waiting:
            if (ids is None or reservation in ids) and not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    async def patiently(
        self,
        reservation: str,
        ask: Callable[[float], Awaitable[Decision]],
        clock: Clock,
        patience: float,
    ) -> Verdict:
        """Ask until it is granted or will take longer than what is left of the patience."""
        event = asyncio.Event()
        with self._lock:
            self._waiting[event] = (reservation, asyncio.get_running_loop())
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


class Calls:
    """Reservations that fit now and whose askers are away; put from any thread, taken by one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: dict[str, None] = {}
        self._taker: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def put(self, ids: Iterable[str]) -> None:
        """Call them; beyond what is kept they come at the time that they were told."""
        with self._lock:
            for each in ids:
                if len(self._ids) < _MOST_CALLED:
                    self._ids[each] = None
            if self._ids and self._taker is not None and not self._taker[0].is_closed():
                loop, event = self._taker
                loop.call_soon_threadsafe(event.set)

    async def take(self) -> Sequence[str]:
        """Wait until somebody is called, and answer all of them."""
        event = asyncio.Event()
        with self._lock:
            self._taker = (asyncio.get_running_loop(), event)
            if self._ids:
                event.set()
        await event.wait()
        with self._lock:
            ids, self._ids, self._taker = tuple(self._ids), {}, None
        return ids


async def _either(event: asyncio.Event, clock: Clock, seconds: float) -> None:
    waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(clock.sleep(seconds))]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
