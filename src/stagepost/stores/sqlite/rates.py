"""How many tasks came and were completed in the last minute, lane by lane.

Kept in memory by the process that owns the folder, so that nobody pays for it with an index; after
a restart the counts begin anew.
"""

import threading
from collections import Counter, deque
from collections.abc import Sequence
from typing import Final, NamedTuple

_MINUTE: Final = 60_000  # milliseconds


class _Second(NamedTuple):
    at: int
    arrivals: Counter[str]
    completions: Counter[str]


class Rates:
    """Written by the writer's thread, read by any."""

    def __init__(self) -> None:
        self._seconds: deque[_Second] = deque()
        self._lock = threading.Lock()

    def note(self, now: int, arrivals: Sequence[str], completions: Sequence[str]) -> None:
        """Count the lanes of tasks that came and were completed at an instant."""
        if not (arrivals or completions):
            return
        with self._lock:
            if not self._seconds or now - self._seconds[-1].at >= 1_000:
                self._seconds.append(_Second(now, Counter(), Counter()))
                self._forget(now)
            self._seconds[-1].arrivals.update(arrivals)
            self._seconds[-1].completions.update(completions)

    def of(self, lane: str, now: int) -> tuple[int, int]:
        """Arrivals and completions of a lane in the minute before an instant."""
        with self._lock:
            self._forget(now)
            arrivals = sum(second.arrivals[lane] for second in self._seconds)
            return arrivals, sum(second.completions[lane] for second in self._seconds)

    def _forget(self, now: int) -> None:
        while self._seconds and self._seconds[0].at <= now - _MINUTE:
            self._seconds.popleft()
