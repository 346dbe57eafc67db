"""How well a limit was used, minute by minute of the provider. Pure."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

MOST_MINUTES: Final = 1_440
_MOST_CHANGES: Final = 1_000


@dataclass(slots=True)
class Shares:
    """Units that were lent in each minute since `begun`, and what could have been.

    Where the limit changed in the middle of a minute, each part counts by its length. A bucket may
    lend what it had saved before, so a share may be above 1.
    """

    minute: float
    begun: float
    limit: int | None
    at_once: bool = False
    """Whether a minute's worth is lent at its begin, so that it counts whole before its end."""
    _lent: dict[int, float] = field(default_factory=dict, init=False)
    _changes: deque[tuple[float, int | None]] = field(init=False)

    def __post_init__(self) -> None:
        """The first limit is the first change."""
        self._changes = deque([(self.begun, self.limit)], maxlen=_MOST_CHANGES)

    def lend(self, units: float, now: float) -> None:
        """Count what was lent; below 0 it was given back."""
        number = int((now - self.begun) // self.minute)
        self._lent[number] = self._lent.get(number, 0.0) + units
        if len(self._lent) > MOST_MINUTES:
            del self._lent[min(self._lent)]

    def change(self, limit: int | None, now: float) -> None:
        """Another limit from now on."""
        if limit != self.limit:
            self.limit = limit
            self._changes.append((now, limit))

    def told(self, now: float) -> Sequence[Mapping[str, float | int | None]]:
        """Each minute: its number, what was lent, what could have been, and the share of it.

        Idle minutes between others are told as well.
        """
        if not self._lent:
            return []
        last = max(self._lent)
        first = max(min(self._lent), last - MOST_MINUTES + 1)
        return [self._minute(number, now) for number in range(first, last + 1)]

    def _minute(self, number: int, now: float) -> Mapping[str, float | int | None]:
        lent, could = self._lent.get(number, 0.0), self._could(number, now)
        return {
            "minute": number,
            "lent": round(lent, 3),
            "limit": could and round(could, 3),
            "share": round(lent / could, 4) if could else None,
        }

    def _could(self, number: int, now: float) -> float | None:
        start = self.begun + number * self.minute
        end = start + self.minute
        if not self.at_once:
            end = min(end, max(now, start))
        found = 0.0
        ends = [*[at for at, _ in self._changes][1:], end]
        for (at, limit), until in zip(self._changes, ends, strict=True):
            length = max(0.0, min(until, end) - max(at, start))
            if length and limit is None:
                return None
            found += (limit or 0) * length / self.minute
        return found
