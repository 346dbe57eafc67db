"""What a provider lends, used at an even pace. Pure; instants in ms.

Two rules hold together. *Credit* comes back evenly, at a share of the rate, and begins with one
request's: it spreads the calls over the minute. And the *book of the minute* keeps what goes out
within any minute below the limit, wherever the provider's own minute begins: the fullest of all the
minutes that hold this instant has room for what goes out next. What calls give back counts at the
instant when they do, as it does for the provider.

Whoever keeps the second rule is refused neither by a provider with fixed minutes nor by one whose
bucket holds a minute's worth.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Final, Self

from stagepost.limit import Limit, Pace
from stagepost.limiter import Notice
from stagepost.limiters.budget import NEVER
from stagepost.limiters.refill import Refill
from stagepost.limiters.window import end_of_slice, length

_LATE: Final = 0.005  # of a window; by how much calls may differ in their way to the provider
_SPARE: Final = 0.02  # of a window's units, which the burst holds beside the largest request
_SPARE_TIME: Final = 400  # ms; and what comes back in these, for whoever asks a little late
_RETURNS: Final = 0.1  # of a window's units; so many that are given back may go out in one go
_DOUBT: Final = 0.5  # of a window, in which a higher limit must be told alone to be believed
_SLOWER: Final = 0.7
_RECOVERY: Final = 0.9  # of the limit in a window: 1.5 % a second for one of a minute
_FADES: Final = 10  # windows in which half of the largest request is forgotten
_SLICES: Final = 250  # of a window; what went out counts longer by as much of the limit as one is
_TOLERANCE: Final = 1e-6
_LOST: Final = 0.25  # units; what rounding may add to all slices

Part = tuple[int, float, float]
"""A slice's last instant, the units that went out in it, and those that came back."""


@dataclass(slots=True)
class Bucket:
    """The book of one limit with a pace."""

    credit: float | None = None
    """None until it is first asked."""
    at: int = 0
    largest: float = 0.0
    parts: list[Part] = field(default_factory=list)
    told: int | None = None
    """The provider's limit, by its own word."""
    told_at: int = 0
    higher_since: int | None = None
    """Since when it has told of nothing but a higher one."""
    factor: float = 1.0
    slowed_at: int | None = None
    paused_until: int = 0
    refill: Refill = field(default_factory=Refill.unknown)

    @property
    def used(self) -> int:
        """Units in the window that ends now."""
        return round(sum(out - back for _, out, back in self.parts))

    def most(self, limit: Limit) -> int:
        """Units of a window, as the provider has told where it has."""
        units = limit.units or 1
        if self.told is None:
            return units
        return max(1, self.told if _pace(limit).rises else min(self.told, units))

    def catch_up(self, limit: Limit, now: int) -> None:
        """Go on to this instant."""
        passed = now - self.at
        if passed == 0:
            return
        window, span = length(limit), _span(limit)
        self.parts = [part for part in self.parts if part[0] + span >= now]
        if self.credit is not None:
            most = max(self.credit, self._burst(limit))
            self.credit = min(most, self.credit + passed * self._rate(limit))
        self.factor = min(1.0, self.factor + passed * _RECOVERY / window)
        self.largest *= 0.5 ** (passed / (_FADES * window))
        self.at = now

    def fits_at(self, limit: Limit, units: int, ahead: int, moment: int) -> int:
        """When units fit behind so many others."""
        at = max(self._credit_fits(limit, units, ahead, moment), self.paused_until)
        return max(self._minute_fits(limit, units, ahead, moment), at)

    def take(self, limit: Limit, units: int, moment: int) -> None:
        """Units go out at this moment."""
        self.credit = (units if self.credit is None else self.credit) - units
        self.largest = max(self.largest, units)
        self._book(limit, moment, out=units)

    def settle(self, limit: Limit, units: int, used: int, moment: int) -> None:
        """What went out as so many units counts as so many with the provider."""
        if used > units:
            self.credit = (self.credit or 0.0) - (used - units)
            self._book(limit, moment, out=used - units)
        else:
            self.give_back(limit, units - used, moment)

    def give_back(self, limit: Limit, units: int, moment: int) -> None:
        """So many of those that went out were not used, and the provider knows it."""
        credit = self.credit or 0.0
        most = max(credit, self._burst(limit), self.most(limit) * _RETURNS)
        self.credit = min(most, credit + units)
        self._book(limit, moment, back=units)

    def heed(self, limit: Limit, notice: Notice, moment: int) -> None:
        """Learn what the provider has told."""
        self.refill.learn(notice, length(limit), moment)
        if notice.most is not None:
            self._believe(limit, max(1, notice.most), moment)
        if notice.left is not None and self.credit is not None:
            self.credit = min(self.credit, float(max(0, notice.left)))
        if notice.slower:
            self._slow_down(limit, moment)
        if notice.pause > 0:
            self.paused_until = max(self.paused_until, moment + math.ceil(notice.pause * 1000))

    def shift(self, by: int) -> None:
        """The clock was set."""
        self.parts = [(last + by, out, back) for last, out, back in self.parts]
        self.at += by
        self.paused_until += by
        self.told_at += by
        self.refill.shift(by)
        if self.slowed_at is not None:
            self.slowed_at += by
        if self.higher_since is not None:
            self.higher_since += by

    def _credit_fits(self, limit: Limit, units: int, ahead: int, moment: int) -> int:
        if self.credit is None:
            # The first request's credit, and no more.
            self.credit, self.at = float(units), moment
        # What is larger than the burst goes when the burst is whole, and is paid off afterwards.
        lacks = ahead + min(units, self._burst(limit)) - self.credit - _TOLERANCE
        if lacks <= 0:
            return moment
        return moment + int(lacks / self._rate(limit)) + 1

    def _minute_fits(self, limit: Limit, units: int, ahead: int, moment: int) -> int:
        if self.refill.is_even(length(limit), moment):
            return moment
        most, span = self.most(limit), _span(limit)
        # What is larger than the provider's limit goes alone; what it says to that is its own.
        need = ahead + min(units, most)
        # Beyond a whole window's units it is only a guess, for those who come back then.
        rounds = (need - 1) // most
        room = most - (need - rounds * most)
        begin, over = self._minute(limit, moment)
        since = 0.0
        for last, out, back in reversed(self.parts):
            if last < begin:
                break
            if out + since > room + _LOST:
                return min(last + span + 1, over) + rounds * span
            since += out - back
        return moment + rounds * span

    def _minute(self, limit: Limit, moment: int) -> tuple[int, int]:
        # Where the provider's own minute is not known, it may have begun at any instant.
        window, late = length(limit), math.ceil(length(limit) * _LATE)
        turn = self.refill.last_turn(window, moment - late)
        if turn is None:
            return moment - window - late, NEVER
        return turn - late, turn + window + late

    def _book(self, limit: Limit, moment: int, out: int = 0, back: int = 0) -> None:
        last = end_of_slice(limit, moment, _SLICES)
        if self.parts and self.parts[-1][0] >= last:
            latest, went, came = self.parts[-1]
            self.parts[-1] = (latest, went + out, came + back)
        else:
            self.parts.append((last, out, back))

    def _believe(self, limit: Limit, told: int, moment: int) -> None:
        before = self.most(limit)
        if self.told is None or told <= self.told:
            self.told, self.higher_since = told, None
        elif self.higher_since is None:
            # Answers that were long on their way may tell what held before a lower one.
            self.higher_since = moment
        elif moment - self.higher_since >= length(limit) * _DOUBT:
            self.told, self.higher_since = told, None
        self._rescale(self.most(limit) / before)
        self.told_at = moment

    def _rescale(self, ratio: float) -> None:
        if ratio >= 1:
            return
        # What went out while the higher limit was told fills as much of the lower one. What has
        # gone out since may have met the lower one.
        self.parts = [
            (last, round(out * ratio, 3), round(back * ratio, 3))
            if last < self.told_at
            else (last, out, back)
            for last, out, back in self.parts
        ]

    def _slow_down(self, limit: Limit, moment: int) -> None:
        if self.slowed_at is None or moment - self.slowed_at >= length(limit):
            self.factor *= _SLOWER
            self.slowed_at = moment

    def _burst(self, limit: Limit) -> float:
        most = self.most(limit)
        spare = max(_SPARE, min(_RETURNS, _SPARE_TIME / length(limit)))
        return min(float(most), self.largest + most * spare)

    def _rate(self, limit: Limit) -> float:
        return self.most(limit) * _pace(limit).share * self.factor / length(limit)

    # As text

    def dump(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "credit": self.credit,
            "at": self.at,
            "largest": round(self.largest, 3),
            "parts": self.parts,
            "told": self.told,
            "toldAt": self.told_at,
            "higherSince": self.higher_since,
            "factor": self.factor,
            "slowedAt": self.slowed_at,
            "pausedUntil": self.paused_until,
            "refill": self.refill.dump(),
        }

    @classmethod
    def load(cls, kept: dict[str, Any]) -> Self:
        """What `dump` wrote."""
        return cls(
            credit=kept["credit"],
            at=kept["at"],
            largest=kept["largest"],
            parts=[(last, out, back) for last, out, back in kept["parts"]],
            told=kept["told"],
            told_at=kept["toldAt"],
            higher_since=kept["higherSince"],
            factor=kept["factor"],
            slowed_at=kept["slowedAt"],
            paused_until=kept["pausedUntil"],
            refill=Refill.load(kept["refill"]),
        )


def _span(limit: Limit) -> int:
    return length(limit) + math.ceil(length(limit) * _LATE)


def _pace(limit: Limit) -> Pace:
    return limit.pace or Pace()
