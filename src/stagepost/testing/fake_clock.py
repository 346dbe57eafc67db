"""Time for tests."""

import asyncio
import heapq
import itertools
import threading

_BEGIN = 1_700_000_000_000


class FakeClock:
    """A clock that moves only when it is told to; safe to read from any thread.

    `now` starts at an instant in 2023, `monotonic` at 0. Whoever sleeps on it is woken by
    `advance`, in order of time.
    """

    def __init__(self, now: int = _BEGIN) -> None:
        self._now = now
        self._monotonic = 0.0
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> int:
        """The instant, in milliseconds since 1970-01-01 UTC."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that only ever rise."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Return once the clock was advanced by so many seconds."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            sleeper = (self._monotonic + seconds, next(self._numbers), woken)
            heapq.heappush(self._sleepers, sleeper)
        await woken

    @property
    def sleepers(self) -> int:
        """How many sleep on this clock now; so that a test knows when to advance it."""
        with self._lock:
            return sum(not woken.done() for _, _, woken in self._sleepers)

    def advance(self, seconds: float) -> None:
        """Move the time forward, and wake whoever has slept long enough."""
        if seconds < 0:
            raise ValueError("Time only goes forward; see `set_back` for a wall clock's fault.")
        with self._lock:
            self._monotonic += seconds
            self._now += round(seconds * 1000)
            due = []
            while self._sleepers and self._sleepers[0][0] <= self._monotonic:
                due.append(heapq.heappop(self._sleepers)[2])
        for woken in due:
            woken.get_loop().call_soon_threadsafe(_wake, woken)

    def set_back(self, seconds: float) -> None:
        """Move the wall time back, as a corrected clock does; monotonic time stays."""
        with self._lock:
            self._now -= round(seconds * 1000)


def _wake(woken: "asyncio.Future[None]") -> None:
    if not woken.done():
        woken.set_result(None)
