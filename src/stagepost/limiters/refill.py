"""How a provider's limit refills, learnt from what it tells: all the time, or whole at its minutes.

A bucket that has lent a third of its units tells that it is whole in a third of a minute. A window
tells when its minute ends, which is the same instant until then. Whoever tells neither, or too
roughly, or whose answers are long on their way, is not known, and is met with the most care.

A bucket that is thought to be a window does no harm: the pace alone keeps it. A window that is
thought to be a bucket may refuse, and then it is not known any more.
"""

from dataclasses import dataclass
from typing import Any, Final, Self

from stagepost.limiter import Notice

_ENOUGH: Final = 8
"""Notices, over a window at least, that say the same."""
_GONE: Final = 0.02  # of the units, at least; where less is gone nothing can be told apart
_EVEN: Final = 0.05  # of a window
_SAME: Final = 0.004  # of a window
_DISTRUST: Final = 10  # windows after a refusal


@dataclass(slots=True)
class Evidence:
    """How many notices in a row have said so, and since when."""

    count: int = 0
    since: int = 0

    def add(self, now: int, *, agrees: bool) -> None:
        """One more, or one that contradicts."""
        if not agrees:
            self.count = 0
        elif self.count == 0:
            self.count, self.since = 1, now
        else:
            self.count = min(self.count + 1, _ENOUGH)

    def is_enough(self, window: int, now: int) -> bool:
        """Whether it can be relied on."""
        return self.count >= _ENOUGH and now - self.since >= window


@dataclass(slots=True)
class Refill:
    """What is known of it; instants and lengths in ms."""

    even: Evidence
    whole: Evidence
    turn: int = 0
    """An instant at which a window has ended, or will."""
    distrusted_until: int = 0

    @classmethod
    def unknown(cls) -> Self:
        """Before anything was told."""
        return cls(Evidence(), Evidence())

    def learn(self, notice: Notice, window: int, now: int) -> None:
        """Look at what was told just now."""
        if notice.slower:
            self.distrusted_until = now + _DISTRUST * window
            self.even.count = self.whole.count = 0
        if notice.most is None or notice.left is None or notice.whole_in is None:
            return
        gone = (notice.most - notice.left) / max(1, notice.most)
        if gone < _GONE or now < self.distrusted_until:
            return
        reset = round(notice.whole_in * 1000)
        self.even.add(now, agrees=abs(reset - gone * window) <= _EVEN * window)
        off = (now + reset - self.turn + window // 2) % window - window // 2
        if self.whole.count == 0 or abs(off) > _SAME * window:
            self.whole.count, self.turn = 0, now + reset
        self.whole.add(now, agrees=True)

    def is_even(self, window: int, now: int) -> bool:
        """Whether it surely refills all the time."""
        return self.even.is_enough(window, now) and not self.whole.is_enough(window, now)

    def last_turn(self, window: int, now: int) -> int | None:
        """When the window began that this instant lies in; None if that is not known."""
        if not self.whole.is_enough(window, now):
            return None
        return now - (now - self.turn) % window

    def shift(self, by: int) -> None:
        """The clock was set."""
        self.turn += by
        self.distrusted_until += by
        self.even.since += by
        self.whole.since += by

    def dump(self) -> list[int]:
        """All of it, for JSON."""
        even, whole = self.even, self.whole
        return [even.count, even.since, whole.count, whole.since, self.turn, self.distrusted_until]

    @classmethod
    def load(cls, kept: list[Any]) -> Self:
        """What `dump` wrote."""
        return cls(Evidence(*kept[:2]), Evidence(*kept[2:4]), *kept[4:])
