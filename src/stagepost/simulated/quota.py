"""What a provider lends: requests and tokens a minute, and how many at once. Pure.

Two kinds are in use. A *bucket* refills all the time and holds at most `burst` minutes' worth; a
*window* gives a whole minute's worth at each minute's begin. And two ways to charge: what a call
may use at most, whatever it then uses (OpenAI, Azure), or what it has used (Anthropic).

Instants and waits are in seconds, by whatever clock the caller has; a minute is as long as the
quota says, so that a test need not wait for one.
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, NamedTuple

Charge = Literal["reserved", "actual"]

MINUTE: Final = 60.0


class Kind(StrEnum):
    """How a quota refills."""

    BUCKET = "bucket"
    WINDOW = "window"


class Refused(NamedTuple):
    """What is used up (`requests`, `tokens` or `concurrency`), and when it may be asked for."""

    what: str
    wait: float


@dataclass(slots=True)
class Meter:
    """So many units a minute."""

    limit: float
    kind: Kind
    minute: float = MINUTE
    burst: float = 1.0
    """Minutes' worth that a bucket holds."""
    _left: float = field(default=math.nan, init=False)
    _at: float = field(default=-math.inf, init=False)

    @property
    def most(self) -> float:
        """What it holds at most."""
        return self.limit * (self.burst if self.kind is Kind.BUCKET else 1.0)

    def left(self, now: float) -> float:
        """What is left now; below 0 where calls have used more than they had asked for."""
        if math.isnan(self._left):
            self._left, self._at = self.most, now
        elif self.kind is Kind.BUCKET:
            gained = max(0.0, now - self._at) * self.limit / self.minute
            self._left, self._at = min(self.most, self._left + gained), max(self._at, now)
        elif self._window(now) > self._window(self._at):
            # What went below 0 is still owed in the next window.
            self._left, self._at = min(self.most, self.limit + min(0.0, self._left)), now
        return self._left

    def wait(self, units: float, now: float) -> float:
        """Seconds until so many could be taken; infinite for more than it ever holds."""
        left = self.left(now)
        if left >= units:
            return 0.0
        if units > self.most:
            return math.inf
        if self.kind is Kind.BUCKET:
            return (units - left) * self.minute / self.limit
        windows = math.ceil((units - left) / self.limit)
        return (self._window(now) + windows) * self.minute - now

    def take(self, units: float, now: float) -> None:
        """Take units, or give them back where they are below 0."""
        self._left = min(self.most, self.left(now) - units)

    def waste(self, units: float, now: float) -> None:
        """Take units for nothing, as far as there are any."""
        self._left = min(self._left, max(0.0, self.left(now) - units))

    def change(self, limit: float, now: float) -> None:
        """Lend more or less a minute from now on; what was saved above the new limit is lost."""
        left = self.left(now)
        self.limit = limit
        self._left = min(self.most, left)

    def full_in(self, now: float) -> float:
        """Seconds until it is full again."""
        return self.wait(self.most, now)

    def _window(self, now: float) -> float:
        return math.floor(now / self.minute)


@dataclass(slots=True)
class Quota:
    """One model's, for one key; what is left out is not limited."""

    requests: Meter | None = None
    tokens: Meter | None = None
    concurrency: int | None = None
    charge: Charge = "reserved"
    counts_refused: bool = False
    """Whether what is refused is one of the minute's requests all the same."""
    flying: int = field(default=0, init=False)
    """Calls that are being answered."""

    def admit(self, tokens: int, now: float) -> Refused | None:
        """Begin a call that may use so many tokens; None if it may begin."""
        refused = self._refusal(tokens, now)
        if refused is not None:
            return self._counted(refused, now) if self.counts_refused else refused
        if self.requests is not None:
            self.requests.take(1, now)
        if self.tokens is not None:
            self.tokens.take(tokens, now)
        self.flying += 1
        return None

    def settle(self, asked: int, used: int, now: float) -> None:
        """End a call that had asked for so many tokens and has used so many."""
        self.flying -= 1
        if self.tokens is not None and (self.charge == "actual" or used > asked):
            self.tokens.take(used - asked, now)

    def headers(self, now: float) -> dict[str, str]:
        """What is left, in OpenAI's headers."""
        found = {}
        for name, meter in (("requests", self.requests), ("tokens", self.tokens)):
            if meter is not None:
                found[f"x-ratelimit-limit-{name}"] = f"{meter.limit:.0f}"
                found[f"x-ratelimit-remaining-{name}"] = f"{max(0, math.floor(meter.left(now)))}"
                found[f"x-ratelimit-reset-{name}"] = go_duration(meter.full_in(now))
        return found

    def _counted(self, refused: Refused, now: float) -> Refused:
        if self.requests is None:
            return refused
        self.requests.waste(1, now)
        return refused._replace(wait=max(refused.wait, self.requests.wait(1, now)))

    def _refusal(self, tokens: int, now: float) -> Refused | None:
        waits = {
            "requests": 0.0 if self.requests is None else self.requests.wait(1, now),
            "tokens": 0.0 if self.tokens is None else self.tokens.wait(tokens, now),
        }
        what = max(waits, key=waits.__getitem__)
        if waits[what] > 0:
            return Refused(what, waits[what])
        if self.concurrency is not None and self.flying >= self.concurrency:
            return Refused("concurrency", 0.0)
        return None


def go_duration(seconds: float) -> str:
    """Seconds as Go writes durations: 120ms, 6m0s."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    whole = math.ceil(seconds * 1000) / 1000
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours:.0f}h{minutes:.0f}m{text}"
    return f"{minutes:.0f}m{text}" if minutes else text
