"""How long a model takes: to its first token, and from one to the next. Pure.

Both are lognormal, as measured times of providers are: a median, and a `sigma` that says how far
the slow ones are off. All is in seconds of the provider, which `speed` shortens.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

LONGEST: Final = 600.0
"""Seconds of the provider, which no single wait exceeds."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Medians; a `sigma` of 0 makes every call take exactly that long.

    The first token comes after `least` seconds, and after `most` at the latest.
    """

    first_token: float = 0.0
    token: float = 0.0
    sigma: float = 0.5
    least: float = 0.0
    most: float = LONGEST

    def __post_init__(self) -> None:
        """Refuse what is no time. Raises ValueError."""
        for name in ("first_token", "token", "sigma", "least", "most"):
            value = getattr(self, name)
            if not (math.isfinite(value) and 0 <= value <= LONGEST):
                raise ValueError(f"{name} is {value}; give seconds from 0 to {LONGEST:.0f}.")
        if self.least > self.most:
            raise ValueError(f"least is {self.least}, which is more than most, {self.most}.")


class Pace:
    """The times of one call; the same for the same draw."""

    def __init__(self, timing: Timing, draw: Random, speed: float) -> None:
        self._timing, self._draw, self._speed = timing, draw, speed

    def first(self) -> float:
        """Seconds, really waited, until the first token."""
        wait = self._lognormal(self._timing.first_token)
        return min(max(wait, self._timing.least), self._timing.most) / self._speed

    def between(self) -> Iterator[float]:
        """Seconds, really waited, before each token behind the first."""
        while True:
            yield self._lognormal(self._timing.token) / self._speed

    def rest(self, tokens: int) -> float:
        """Seconds, really waited, for so many tokens behind the first."""
        if not self._timing.token:
            return 0.0
        waits = self.between()
        return sum(next(waits) for _ in range(tokens))

    def _lognormal(self, median: float) -> float:
        if not median or not self._timing.sigma:
            return median
        return min(median * self._draw.lognormvariate(0.0, self._timing.sigma), LONGEST)
