"""The book of one limit: what was used when, what is held, who waits. Pure; instants in ms.

Used units are kept in slices of a hundredth of the window, each as if all of it had been used at
the end of its last instant: so they count a little longer than they must, and never shorter. An
instant is a whole millisecond, in which something happened somewhere.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

import orjson

from stagepost.limit import Limit
from stagepost.limiter import MOST_WAITING, Charge, LimitState

_SLICES: Final = 100
_CALLED: Final = 10_000  # ms for which room is kept for one that was called
_FIRST_GUESS: Final = 250.0  # ms that something is held, before there is experience
_EXPERIENCE: Final = 8  # ends of holds over which that is averaged
_TOLERANCE: Final = 1e-6  # units; what floating point may lose

Mark = tuple[int, str]
"""Where a reservation stands in line: when it first came, and its id."""


class Ticket(NamedTuple):
    """A place in line. It keeps room free from `counts_from` to `counts_until`.

    `away` is who was told to come back later, and was not called since.
    """

    since: int
    units: int
    counts_from: int
    counts_until: int
    expires: int
    away: bool = False


class Hold(NamedTuple):
    """Units that are held at once."""

    units: int
    holder: str
    since: int


@dataclass(slots=True)
class Account:
    """The book of one limit."""

    moment: int = 0
    slices: list[tuple[int, int]] = field(default_factory=list)
    """(last instant, units), in order of time."""
    credit: float | None = None
    credit_at: int = 0
    holds: dict[str, Hold] = field(default_factory=dict)
    tickets: dict[str, Ticket] = field(default_factory=dict)
    usual_hold: float = _FIRST_GUESS

    def catch_up(self, limit: Limit, now: int) -> None:
        """Go on to this instant; if the clock was set back, no time has passed."""
        if now < self.moment:
            self._shift(now - self.moment)
        self.moment = now
        window = _window(limit)
        self.slices = [part for part in self.slices if part[0] + window >= now]
        self.tickets = {key: each for key, each in self.tickets.items() if each.expires > now}
        self._refill(limit, now)

    def ahead(self, mark: Mark, *, now: int | None = None) -> int:
        """Units of those before a place; with `now` only those that keep room at that instant."""
        return sum(
            ticket.units
            for key, ticket in self.tickets.items()
            if (ticket.since, key) < mark
            and (now is None or ticket.counts_from <= now <= ticket.counts_until)
        )

    def fits_at(self, limit: Limit, units: int, ahead: int) -> int:
        """When units fit behind so many others; `moment` or before if they fit now."""
        at = self.moment
        if limit.units is not None:
            at = max(self._window_fits(limit, limit.units, ahead + units), at)
            at = max(self._credit_fits(limit, units, ahead), at)
        if limit.at_once is not None:
            at = max(self._hold_fits(limit.at_once, ahead + units), at)
        return at

    def take(self, limit: Limit, units: int, key: str, holder: str) -> None:
        """Use units at this moment, and hold them where the limit has a number at once."""
        if limit.units is not None:
            width = max(1, _window(limit) // _SLICES)
            last = self.moment - self.moment % width + width - 1
            self._add(last, units)
            if self.credit is not None:
                self.credit -= units
        if limit.at_once is not None:
            self.holds[key] = Hold(units, holder, self.moment)

    def give_back(self, charge: Charge, key: str, at: int) -> None:
        """What was taken at the moment `at` was not used after all."""
        self.holds.pop(key, None)
        units = 0 if charge.limit.units is None else charge.units
        for place, (last, used) in enumerate(self.slices):
            if last >= at:
                self.slices[place] = (last, max(0, used - units))
                break
        if self.credit is not None:
            self.credit += units

    def release(self, key: str, now: int) -> bool:
        """What is held under this id is free; whether something was."""
        hold = self.holds.pop(key, None)
        if hold is None:
            return False
        took = max(0, now - hold.since)
        self.usual_hold += (took - self.usual_hold) / _EXPERIENCE
        return True

    def bury(self, living: Collection[str]) -> None:
        """Holders that are not among these are dead: what they held is free."""
        self.holds = {key: hold for key, hold in self.holds.items() if hold.holder in living}

    def queue(self, key: str, ticket: Ticket) -> None:
        """Keep a place, if there is room for it."""
        if key in self.tickets or len(self.tickets) < MOST_WAITING:
            self.tickets[key] = ticket

    def call_next(self, limit: Limit) -> list[str]:
        """Call those first in line that are away though they fit now; room is kept for them."""
        called: list[str] = []
        ahead = 0
        if limit.at_once is None or not self.tickets or self._held >= limit.at_once:
            # A rate alone frees nothing before the time that they were told.
            return called
        in_line = sorted(self.tickets.items(), key=lambda item: (item[1].since, item[0]))
        for key, ticket in in_line:
            if self.fits_at(limit, ticket.units, ahead) > self.moment:
                break
            ahead += ticket.units
            if ticket.away:
                until = self.moment + _CALLED
                self.tickets[key] = ticket._replace(
                    counts_from=self.moment, counts_until=until, away=False
                )
                called.append(key)
        return called

    def state(self, name: str) -> LimitState:
        """What the outside is told."""
        used = sum(units for _, units in self.slices)
        return LimitState(name, used, self._held, len(self.tickets))

    @property
    def _held(self) -> int:
        return sum(hold.units for hold in self.holds.values())

    def _add(self, last: int, units: int) -> None:
        if self.slices and self.slices[-1][0] >= last:
            latest, used = self.slices[-1]
            self.slices[-1] = (latest, used + units)
        else:
            self.slices.append((last, units))

    def _window_fits(self, limit: Limit, most: int, units: int) -> int:
        window = _window(limit)
        # Beyond a whole window's units it is only a guess, for those who come back then.
        rounds = (units - 1) // most
        over = sum(used for _, used in self.slices) + units - rounds * most - most
        at = self.moment
        for last, used in self.slices:
            if over <= 0:
                break
            at, over = last + window + 1, over - used
        return at + rounds * window

    def _credit_fits(self, limit: Limit, units: int, ahead: int) -> int:
        if self.credit is None or limit.burst is None or limit.units is None:
            return self.moment
        # What is larger than the burst goes when the burst is whole, and is paid off afterwards.
        lacks = ahead + min(units, limit.burst) - self.credit - _TOLERANCE
        if lacks <= 0:
            return self.moment
        return self.moment + int(lacks * _window(limit) / limit.units) + 1

    def _hold_fits(self, most: int, units: int) -> int:
        rounds = (units - 1) // most
        over = self._held + units - rounds * most - most
        at = self.moment
        for hold in sorted(self.holds.values(), key=lambda hold: hold.since):
            if over <= 0:
                break
            at, over = max(at, self._likely_end(hold)), over - hold.units
        return at + round(rounds * self.usual_hold)

    def _likely_end(self, hold: Hold) -> int:
        # As long as they usually take; one that has taken longer may take half as long again.
        took = self.moment - hold.since
        return self.moment + max(1, round(max(self.usual_hold - took, took / 2)))

    def _refill(self, limit: Limit, now: int) -> None:
        if limit.burst is None or limit.units is None:
            self.credit = None
            return
        if self.credit is None:
            self.credit, self.credit_at = float(limit.burst), now
        gained = (now - self.credit_at) * limit.units / _window(limit)
        self.credit = min(float(limit.burst), self.credit + gained)
        self.credit_at = now

    def _shift(self, by: int) -> None:
        self.slices = [(last + by, units) for last, units in self.slices]
        self.credit_at += by
        self.holds = {key: hold._replace(since=hold.since + by) for key, hold in self.holds.items()}
        self.tickets = {
            key: each._replace(
                since=each.since + by,
                counts_from=each.counts_from + by,
                counts_until=each.counts_until + by,
                expires=each.expires + by,
            )
            for key, each in self.tickets.items()
        }

    # As text

    def dump(self) -> str:
        """All of it as JSON text."""
        kept = {
            "moment": self.moment,
            "slices": self.slices,
            "credit": self.credit,
            "creditAt": self.credit_at,
            "holds": {key: tuple(hold) for key, hold in self.holds.items()},
            "tickets": {key: tuple(ticket) for key, ticket in self.tickets.items()},
            "usualHold": self.usual_hold,
        }
        return orjson.dumps(kept).decode()

    @classmethod
    def load(cls, text: str) -> Self:
        """What `dump` wrote."""
        kept: dict[str, Any] = orjson.loads(text)
        return cls(
            moment=kept["moment"],
            slices=[(last, units) for last, units in kept["slices"]],
            credit=kept["credit"],
            credit_at=kept["creditAt"],
            holds={key: Hold(*hold) for key, hold in kept["holds"].items()},
            tickets={key: Ticket(*ticket) for key, ticket in kept["tickets"].items()},
            usual_hold=kept["usualHold"],
        )


def _window(limit: Limit) -> int:
    return max(1, round(limit.window * 1000))
