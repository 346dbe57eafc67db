"""Time, passed to whoever needs it; nobody else reads a clock."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for instants, monotonic time for durations, and sleep."""

    def now(self) -> int:
        """The instant, in milliseconds since 1970-01-01 UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever rise; not affected by a change of the wall clock."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds of this clock."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> int:
        """The instant, in milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that only ever rise."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        await asyncio.sleep(seconds)
