"""Units in any window of time, and in one go. Pure; instants in ms.

Used units are kept in slices of a hundredth of the window, each as if all of it had been used at
the end of its last instant: so they count a little longer than they must, and never shorter.
"""

from dataclasses import dataclass, field
from typing import Final

from stagepost.limit import Limit

SLICES: Final = 100
_TOLERANCE: Final = 1e-6  # units; what floating point may lose


@dataclass(slots=True)
class Window:
    """What was used of a limit without a pace."""

    slices: list[tuple[int, int]] = field(default_factory=list)
    """(last instant, units), in order of time."""
    credit: float | None = None
    credit_at: int = 0

    @property
    def used(self) -> int:
        """Units in the window that ends now."""
        return sum(units for _, units in self.slices)

    def catch_up(self, limit: Limit, now: int) -> None:
        """Go on to this instant."""
        window = length(limit)
        self.slices = [part for part in self.slices if part[0] + window >= now]
        self._refill(limit, now)

    def fits_at(self, limit: Limit, most: int, units: int, ahead: int, moment: int) -> int:
        """When units fit behind so many others."""
        at = max(self._window_fits(limit, most, ahead + units, moment), moment)
        return max(self._credit_fits(limit, units, ahead, moment), at)

    def take(self, limit: Limit, units: int, moment: int) -> None:
        """Use units at this moment."""
        last = end_of_slice(limit, moment)
        if self.slices and self.slices[-1][0] >= last:
            latest, used = self.slices[-1]
            self.slices[-1] = (latest, used + units)
        else:
            self.slices.append((last, units))
        if self.credit is not None:
            self.credit -= units

    def give_back(self, units: int, at: int) -> None:
        """What was taken at the moment `at` was not used after all."""
        for place, (last, used) in enumerate(self.slices):
            if last >= at:
                self.slices[place] = (last, max(0, used - units))
                break
        if self.credit is not None:
            self.credit += units

    def shift(self, by: int) -> None:
        """The clock was set."""
        self.slices = [(last + by, units) for last, units in self.slices]
        self.credit_at += by

    def _window_fits(self, limit: Limit, most: int, units: int, moment: int) -> int:
        window = length(limit)
        # Beyond a whole window's units it is only a guess, for those who come back then.
        rounds = (units - 1) // most
        over = self.used + units - rounds * most - most
        at = moment
        for last, used in self.slices:
            if over <= 0:
                break
            at, over = last + window + 1, over - used
        return at + rounds * window

    def _credit_fits(self, limit: Limit, units: int, ahead: int, moment: int) -> int:
        if self.credit is None or limit.burst is None or limit.units is None:
            return moment
        # What is larger than the burst goes when the burst is whole, and is paid off afterwards.
        lacks = ahead + min(units, limit.burst) - self.credit - _TOLERANCE
        if lacks <= 0:
            return moment
        return moment + int(lacks * length(limit) / limit.units) + 1

    def _refill(self, limit: Limit, now: int) -> None:
        if limit.burst is None or limit.units is None:
            self.credit = None
            return
        if self.credit is None:
            self.credit, self.credit_at = float(limit.burst), now
        gained = (now - self.credit_at) * limit.units / length(limit)
        self.credit = min(float(limit.burst), self.credit + gained)
        self.credit_at = now


def length(limit: Limit) -> int:
    """A limit's window in ms."""
    return max(1, round(limit.window * 1000))


def end_of_slice(limit: Limit, moment: int, slices: int = SLICES) -> int:
    """The last instant of the slice of time that a moment lies in; a window has so many."""
    width = max(1, length(limit) // slices)
    return moment - moment % width + width - 1
