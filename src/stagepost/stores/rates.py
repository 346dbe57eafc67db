"""How many tasks entered each lane in the last minute, and how many ended.

The one process that owns the folder sees every commit, so it counts in memory: no index has to be
kept for it. After a restart the first minute is counted from nothing.
"""

import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from stagepost.clock import Clock
from stagepost.event import END_EVENTS
from stagepost.records import LaneRecord

_WINDOW: Final = 60.0  # seconds
_SLOT: Final = 1.0  # seconds that are counted together
_ARRIVALS: Final = frozenset({"queued", "redriven"})

Counts = Mapping[tuple[str, str, str], int]


class Rates:
    """A sliding window over the facts of each commit; used from the writer and by readers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._slots: deque[tuple[float, Counter[tuple[str, bool]]]] = deque()

    def count(self, counts: Counts) -> None:
        """The facts of one commit, by (type, lane, kind)."""
        if not counts:
            return
        with self._lock:
            slot = self._slot()
            for (_, lane, kind), number in counts.items():
                if kind in _ARRIVALS:
                    slot[lane, True] += number
                elif kind in END_EVENTS:
                    slot[lane, False] += number

    def added(self, records: Sequence[LaneRecord]) -> Sequence[LaneRecord]:
        """The records with their lanes' rates."""
        with self._lock:
            self._forget()
            total: Counter[tuple[str, bool]] = Counter()
            for _, slot in self._slots:
                total.update(slot)
        return [
            replace(
                record,
                arrivals=total[record.name, True],
                completions=total[record.name, False],
            )
            for record in records
        ]

    def _slot(self) -> Counter[tuple[str, bool]]:
        now = self._clock.monotonic()
        if not self._slots or now - self._slots[-1][0] >= _SLOT:
            self._slots.append((now, Counter()))
            self._forget()
        return self._slots[-1][1]

    def _forget(self) -> None:
        oldest = self._clock.monotonic() - _WINDOW
        while self._slots and self._slots[0][0] < oldest:
            self._slots.popleft()
