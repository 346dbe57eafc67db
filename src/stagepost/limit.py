"""A limit that the whole fleet shares: so many units in any window of time, so many at once. Pure.

The name is how handlers, people and the API speak of it.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from stagepost.retry import seconds

MOST_UNITS: Final = 10**9
MOST_AT_ONCE: Final = 10_000
SHORTEST_WINDOW: Final = 0.1  # seconds
DEFAULT_WINDOW: Final = 60.0
LONGEST_WINDOW: Final = 31 * 86_400.0
MOST_LIMITS: Final = 1_000
"""Limits of one engine."""

NAME: Final = re.compile(r"[a-z0-9][a-z0-9._/-]{0,99}")
_RATE: Final = re.compile(r"(\d+)/(\S+)")


@dataclass(frozen=True, slots=True)
class Limit:
    """`units` in any `window` of so many seconds, `at_once` at the same time, or both.

    With `burst` the units are also spread over the window: only so many are given at once, and they
    come back evenly. Without it a whole window's units may go at once. Raises ValueError for what
    can't be meant.
    """

    name: str
    units: int | None = None
    window: float = DEFAULT_WINDOW
    burst: int | None = None
    at_once: int | None = None

    def __post_init__(self) -> None:
        """Refuse what can't be meant."""
        if not NAME.fullmatch(self.name):
            raise ValueError(
                f'"{self.name}" is no name of a limit; it has 1 to 100 of a-z, 0-9 and "._/-", and '
                "begins with a letter or digit."
            )
        if self.units is None and self.at_once is None:
            raise ValueError(f"The limit {self.name} says neither units nor how many at once.")
        _within("units", self.units, MOST_UNITS)
        _within("at once", self.at_once, MOST_AT_ONCE)
        if not SHORTEST_WINDOW <= self.window <= LONGEST_WINDOW:
            raise ValueError("A limit's window lies between 0.1 s and 31 days.")
        if self.burst is not None and self.units is None:
            raise ValueError("A burst needs units in a window.")
        _within("burst", self.burst, self.units or MOST_UNITS)

    @classmethod
    def parse(cls, name: str, text: str) -> Self:
        """From `100/1m` (units in a window), `2` (at once), or both: `100/1m+2`.

        Raises ValueError with the remedy.
        """
        rate, plus, at_once = text.partition("+")
        if not plus and rate.isdigit():
            return cls(name, at_once=int(rate))
        match = _RATE.fullmatch(rate)
        if match is None or (plus and not at_once.isdigit()):
            raise ValueError(
                f'"{text}" is no limit; write 100/1m for units in a window, 2 for how many at '
                "once, or both as 100/1m+2."
            )
        window = seconds(float(match[2]) if match[2].isdigit() else match[2])
        return cls(name, int(match[1]), window, at_once=int(at_once) if plus else None)

    def never_fits(self, units: int) -> bool:
        """Whether so many units would not fit though nobody else used the limit."""
        over_rate = self.units is not None and units > self.units
        return over_rate or (self.at_once is not None and units > self.at_once)

    @property
    def words(self) -> str:
        """The limit for people."""
        parts = []
        if self.units is not None:
            parts.append(f"{self.units} in {self.window:g} s")
        if self.at_once is not None:
            parts.append(f"{self.at_once} at once")
        return " and ".join(parts)


def _within(what: str, value: int | None, most: int) -> None:
    if value is not None and not 1 <= value <= most:
        raise ValueError(f"A limit's {what} lies between 1 and {most}.")
