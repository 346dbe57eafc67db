"""When a failed attempt is tried again. Pure: the caller passes the random number."""

import math
import re
from dataclasses import dataclass
from typing import Final

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")

WORKER_LOST_DELAYS: Final = (1.0, 5.0, 15.0)
"""Seconds before a task whose worker died is tried again: after the first, second, third loss."""

LOST_CLAIMS_LIMIT: Final = 3
"""So many claims lost in a row without progress make a dead letter."""

_PARK_FIRST: Final = 1.0
_PARK_MOST: Final = 60.0


def seconds(duration: float | str) -> float:
    """A duration as seconds: a number is seconds, text is a number with ms, s, m, h or d."""
    if isinstance(duration, str):
        match = _DURATION.fullmatch(duration.strip())
        if match is None:
            raise ValueError(
                f'"{duration}" is no duration; write for example "30s", "5m" or "24h".'
            )
        duration = float(match[1]) * _UNITS[match[2]]
    if not 0 <= duration < 100 * 365 * 86400:
        raise ValueError("A duration lies between 0 and 100 years.")
    return float(duration)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and when a task is tried.

    `attempts` counts tries in all. The n-th retry waits `first * factor ** (n - 1)`, at most
    `most`, spread by plus or minus the share `jitter`.
    """

    attempts: int = 4
    first: float | str = "5s"
    factor: float = 2.0
    most: float | str = "10m"
    jitter: float = 0.2

    def __post_init__(self) -> None:
        """Refuse a policy that can't be meant."""
        seconds(self.first)
        seconds(self.most)
        if not 1 <= self.attempts <= 100:
            raise ValueError("Retry attempts lie between 1 and 100.")
        if not 1 <= self.factor <= 10:
            raise ValueError("Retry factor lies between 1 and 10.")
        if not 0 <= self.jitter <= 1:
            raise ValueError("Retry jitter lies between 0 and 1.")

    def delay(self, failed: int, spread: float) -> float:
        """Seconds before the next try after `failed` failures (from 1).

        `spread` is a random number in [0, 1).
        """
        # 64 doublings pass any `most`; the bound keeps the power from overflowing.
        raw = seconds(self.first) * self.factor ** min(failed - 1, 64)
        return min(raw, seconds(self.most)) * (1 + self.jitter * (2 * spread - 1))


def park_delay(waits: int, retry_after: float | None, spread: float) -> float:
    """Seconds to wait for somebody else's limit after `waits` earlier waits in a row.

    At least what they asked for; jittered from 1 to 60 s where they named nothing.
    """
    backoff = min(_PARK_FIRST * 2.0 ** min(waits, 10), _PARK_MOST)
    jittered = backoff * (0.5 + spread / 2)
    if retry_after is None or not math.isfinite(retry_after):
        return jittered
    return max(jittered, retry_after)
