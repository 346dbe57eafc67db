"""A limit that the whole fleet shares: so many units in any window of time, so many at once. Pure.

The name is how handlers, people and the API speak of it. Two kinds are the engine's own, for calls
of models, and have names that nobody else can give: what a provider lends, which is used at an even
pace; and a budget, which turns with the calendar.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, Self

from stagepost.retry import seconds

MOST_UNITS: Final = 10**9
MOST_AT_ONCE: Final = 10_000
MOST_CALLS: Final = 100_000
"""At once, of one model."""
SHORTEST_WINDOW: Final = 0.1  # seconds
DEFAULT_WINDOW: Final = 60.0
LONGEST_WINDOW: Final = 31 * 86_400.0
MOST_LIMITS: Final = 1_000
"""Limits of one engine."""

MOST_OF_A_BUDGET: Final = 10**15
"""Millionths of a US dollar: a billion dollars."""

NAME: Final = re.compile(r"[a-z0-9][a-z0-9._/-]{0,99}")
_OWN_NAME: Final = re.compile(r"[a-z]+:\S{1,400}")
_RATE: Final = re.compile(r"(\d+)/(\S+)")


class Calendar(StrEnum):
    """When a budget is whole again, by UTC."""

    DAY = "day"
    MONTH = "month"
    EVER = "ever"  # never


@dataclass(frozen=True, slots=True)
class Pace:
    """Units that a provider lends come back evenly, at a `share` of the rate.

    `charge` is how the provider counts: what a call sends and may have as its answer ("reserved"),
    or what it has used ("actual"); whoever settles goes by it. With `rises` a provider that
    tells of a higher limit is believed; otherwise only one that tells of a lower one.
    """

    share: float = 0.99
    charge: Literal["reserved", "actual"] = "reserved"
    rises: bool = False

    def __post_init__(self) -> None:
        """Refuse what can't be meant."""
        if not 0 < self.share <= 1:
            raise ValueError("The share of a limit that is used lies above 0, and is at most 1.")


@dataclass(frozen=True, slots=True)
class Limit:
    """`units` in any `window` of so many seconds, `at_once` at the same time, or both.

    With `burst` the units are also spread over the window: only so many are given at once, and they
    come back evenly. Without it a whole window's units may go at once.

    With a `pace` it is what a provider lends: it begins with one request's credit, and the burst is
    found by what is asked for. With a `calendar` it is a budget in millionths of a US dollar.

    Raises ValueError for what can't be meant.
    """

    name: str
    units: int | None = None
    window: float = DEFAULT_WINDOW
    burst: int | None = None
    at_once: int | None = None
    pace: Pace | None = None
    calendar: Calendar | None = None

    def __post_init__(self) -> None:
        """Refuse what can't be meant."""
        self._check_name()
        if self.units is None and self.at_once is None:
            raise ValueError(f"The limit {self.name} says neither units nor how many at once.")
        _within("units", self.units, MOST_OF_A_BUDGET if self.calendar else MOST_UNITS)
        _within("at once", self.at_once, MOST_AT_ONCE if self.pace is None else MOST_CALLS)
        if not SHORTEST_WINDOW <= self.window <= LONGEST_WINDOW:
            raise ValueError("A limit's window lies between 0.1 s and 31 days.")
        self._check_kind()

    def _check_name(self) -> None:
        if self.for_calls and not _OWN_NAME.fullmatch(self.name):
            raise ValueError(f'"{self.name}" is no name of a limit of calls, such as model:a/b.')
        if not self.for_calls and not NAME.fullmatch(self.name):
            raise ValueError(
                f'"{self.name}" is no name of a limit; it has 1 to 100 of a-z, 0-9 and "._/-", and '
                "begins with a letter or digit."
            )

    def _check_kind(self) -> None:
        if self.burst is not None and self.units is None:
            raise ValueError("A burst needs units in a window.")
        if self.for_calls and (self.units is None or self.burst is not None):
            raise ValueError("A limit of calls has units, and finds its burst by itself.")
        if self.calendar is not None and (self.pace is not None or self.at_once is not None):
            raise ValueError("A budget has neither a pace nor a number at once.")
        _within("burst", self.burst, self.units or MOST_UNITS)

    @property
    def for_calls(self) -> bool:
        """Whether it is one of the engine's own, whose reservations are settled with their use."""
        return self.pace is not None or self.calendar is not None

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
        if self.calendar is not None:
            each = "in all" if self.calendar is Calendar.EVER else f"a {self.calendar}"
            return f"${(self.units or 0) / 1e6:,.2f} {each}"
        parts = []
        if self.units is not None:
            parts.append(f"{self.units} in {self.window:g} s")
        if self.at_once is not None:
            parts.append(f"{self.at_once} at once")
        return " and ".join(parts)


def _within(what: str, value: int | None, most: int) -> None:
    if value is not None and not 1 <= value <= most:
        raise ValueError(f"A limit's {what} lies between 1 and {most}.")
