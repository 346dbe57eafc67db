"""Keeps calls from a model that can't answer them: one breaker for each model and key. Pure.

*Closed*: calls go. It opens at once where only a person can help (AUTH, CONFIG, QUOTA), and after
some failures in a row where the provider is down. *Open*: none goes, and whoever asks is told when
the next try is. Then it is *half open*: one call goes as a probe; its answer closes the breaker,
its failure opens it for longer. A probe of which nothing is heard is given up after a while.

Instants are seconds by any clock that does not go back.
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from stagepost.failure import FailureKind
from stagepost.llm.reactions import Breaks, breaks

IN_A_ROW: Final = 5
"""Failures after one another that open it, none of which a try later has undone."""

FIRST: Final = 10.0  # seconds that it stays open at first
MOST: Final = 600.0  # and at most, as probes fail
PROBE: Final = 120.0  # seconds after which a probe without an end counts as none


class State(StrEnum):
    """Whether calls go."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half open"


@dataclass(slots=True)
class Breaker:
    """One model's for one key."""

    why: FailureKind | None = field(default=None, init=False)
    """What opened it."""
    _in_a_row: int = field(default=0, init=False)
    _until: float = field(default=-math.inf, init=False)
    _lasts: float = field(default=0.0, init=False)
    _probed: float = field(default=-math.inf, init=False)

    def state(self, now: float) -> State:
        """Where it stands."""
        if self.why is None:
            return State.CLOSED
        return State.OPEN if now < self._until else State.HALF_OPEN

    def wait(self, now: float) -> float:
        """Seconds until a call may go; 0 if one may go now."""
        if self.why is None:
            return 0.0
        return max(0.0, self._until - now, self._probed + PROBE - now)

    def begin(self, now: float) -> bool:
        """A call goes. Whether it is the probe, since the breaker is half open."""
        if self.why is None:
            return False
        self._probed = now
        return True

    def give_up(self) -> None:
        """The probe has ended, or was not sent: if that has told nothing, another may go."""
        self._probed = -math.inf

    def succeeded(self) -> None:
        """A call was answered, be it with a refusal that is about this call alone."""
        self.why, self._in_a_row, self._lasts = None, 0, 0.0
        self._until = self._probed = -math.inf

    def failed(self, kind: FailureKind, now: float, retry_after: float | None = None) -> None:
        """A call has failed. What is wrong with the call itself says that the model is there."""
        when = breaks(kind)
        if when is Breaks.AT_ONCE:
            self._open(kind, now, retry_after)
        elif when is Breaks.IN_A_ROW:
            self._in_a_row += 1
            if self.why is not None or self._in_a_row >= IN_A_ROW:
                self._open(kind, now, retry_after)
        elif kind is not FailureKind.RATE_LIMIT:
            self.succeeded()

    def _open(self, kind: FailureKind, now: float, retry_after: float | None) -> None:
        # Calls that went before it opened end after one another: only a probe makes it longer.
        if self.why is None or now >= self._until:
            self._lasts = min(MOST, self._lasts * 2 or FIRST)
        self.why = kind
        asked = retry_after if retry_after is not None and math.isfinite(retry_after) else 0.0
        self._until = max(self._until, now + max(self._lasts, asked))
        self._probed = -math.inf
