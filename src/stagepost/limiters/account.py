"""The book of one limit: what was used when, what is held, who waits. Pure; instants in ms.

An instant is a whole millisecond, in which something happened somewhere. What is used is kept as
the limit's kind wants it: in a window, in a bucket, or in a budget.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, Self

import orjson

from stagepost.limit import Limit
from stagepost.limiter import MOST_WAITING, Charge, LimitState, Notice
from stagepost.limiters.bucket import Bucket
from stagepost.limiters.budget import Budget
from stagepost.limiters.entries import Hold, Mark, Open, Ticket
from stagepost.limiters.window import Window

MOST_OPEN: Final = 10_000
"""Reservations of one limit that are not settled; beyond it the oldest is spent as it was made."""

_CALLED: Final = 10_000  # ms for which room is kept for one that was called
_FIRST_GUESS: Final = 250.0  # ms that something is held, before there is experience
_EXPERIENCE: Final = 8  # ends of holds over which that is averaged


@dataclass(slots=True)
class Account:
    """The book of one limit."""

    moment: int = 0
    window: Window = field(default_factory=Window)
    bucket: Bucket = field(default_factory=Bucket)
    budget: Budget = field(default_factory=Budget)
    holds: dict[str, Hold] = field(default_factory=dict)
    open: dict[str, Open] = field(default_factory=dict)
    tickets: dict[str, Ticket] = field(default_factory=dict)
    usual_hold: float = _FIRST_GUESS

    def catch_up(self, limit: Limit, now: int, wall: int | None = None) -> None:
        """Go on to this instant; if the clock was set back, no time has passed.

        `wall` is the instant by the wall's clock, where `now` is by another.
        """
        if now < self.moment:
            self._shift(now - self.moment)
        self.moment = now
        self.tickets = {key: each for key, each in self.tickets.items() if each.expires > now}
        if limit.calendar is not None:
            self.budget.catch_up(limit, now if wall is None else wall)
        elif limit.pace is not None:
            self.bucket.catch_up(limit, now)
        else:
            self.window.catch_up(limit, now)

    def knows(self, key: str) -> bool:
        """Whether this reservation was granted, and has not ended."""
        return key in self.holds or key in self.open

    def ahead(self, mark: Mark, *, now: int | None = None, by: int | None = None) -> int:
        """Units of those before a place.

        With `now` only those that keep room at that instant, with `by` those that will by then.
        """
        return sum(
            ticket.units
            for key, ticket in self.tickets.items()
            if (ticket.since, key) < mark
            and (now is None or ticket.counts_from <= now <= ticket.counts_until)
            and (by is None or ticket.counts_from <= by)
        )

    def fits_at(self, limit: Limit, units: int, ahead: int) -> int:
        """When units fit behind so many others; `moment` or before if they fit now."""
        at = self.moment
        if limit.calendar is not None:
            at += self._budget_fits(limit, units, ahead)
        elif limit.pace is not None:
            at = max(self.bucket.fits_at(limit, units, ahead, self.moment), at)
        elif limit.units is not None:
            at = self.window.fits_at(limit, limit.units, units, ahead, self.moment)
        if limit.at_once is not None:
            at = max(self._hold_fits(limit.at_once, ahead + units), at)
        return at

    def take(self, limit: Limit, units: int, key: str, holder: str) -> None:
        """Use units at this moment, and hold them where the limit has a number at once."""
        if limit.calendar is not None:
            self.budget.spent += units
        elif limit.pace is not None:
            self.bucket.take(limit, units, self.moment)
        elif limit.units is not None:
            self.window.take(limit, units, self.moment)
        if limit.for_calls:
            if len(self.open) >= MOST_OPEN:
                del self.open[next(iter(self.open))]
            self.open[key] = Open(units, holder, self.moment, self.budget.since)
        if limit.at_once is not None:
            self.holds[key] = Hold(units, holder, self.moment)

    def give_back(self, charge: Charge, key: str, at: int) -> None:
        """What was taken at the moment `at` was not used after all."""
        self.holds.pop(key, None)
        if charge.limit.for_calls:
            self.withdraw(charge.limit, key)
        else:
            units = 0 if charge.limit.units is None else charge.units
            self.window.give_back(units, at)

    def settle(self, limit: Limit, key: str, used: int | None) -> None:
        """A call has used so many units, as many as it had reserved if that is None.

        Done once: of what is settled nothing is known any more.
        """
        call = self.open.pop(key, None)
        if call is None:
            return
        self._learn(call.since)
        units = call.units if used is None else max(0, used)
        if limit.pace is not None:
            self.bucket.settle(limit, call.units, units, self.moment)
        elif units > call.units or call.period == self.budget.since:
            self.budget.spent += units - call.units

    def withdraw(self, limit: Limit, key: str) -> None:
        """A call was not made."""
        call = self.open.pop(key, None)
        if call is None:
            return
        if limit.pace is not None:
            self.bucket.give_back(limit, call.units, self.moment)
        elif call.period == self.budget.since:
            self.budget.spent -= call.units

    def heed(self, limit: Limit, notice: Notice) -> None:
        """Learn what was told of the limit."""
        if limit.pace is not None:
            self.bucket.heed(limit, notice, self.moment)
        if limit.calendar is not None and notice.spent is not None:
            self.budget.spent = max(self.budget.spent, notice.spent)

    def is_blank(self, wall: int) -> bool:
        """Whether nothing is lost where it is forgotten."""
        waited_for = self.holds or self.open or self.tickets
        lent = self.window.slices or self.bucket.parts or self.bucket.told
        paused = self.bucket.paused_until > self.moment
        return not (waited_for or lent or paused or self.budget.is_spent(wall))

    def release(self, key: str) -> bool:
        """What is held under this id is free; whether something was."""
        hold = self.holds.pop(key, None)
        if hold is None:
            return False
        self._learn(hold.since)
        return True

    def bury(self, living: Collection[str]) -> None:
        """Holders that are not among these are dead: what they held at once is free."""
        self.holds = {key: hold for key, hold in self.holds.items() if hold.holder in living}
        # What their calls have used nobody will tell: it stays spent as it was reserved.
        self.open = {key: call for key, call in self.open.items() if call.holder in living}

    def queue(self, key: str, ticket: Ticket) -> None:
        """Keep a place, if there is room for it."""
        if key in self.tickets or len(self.tickets) < MOST_WAITING:
            self.tickets[key] = ticket

    def ready(self, limit: Limit, most: int) -> list[str]:
        """Those first in line that stand there and fit now, so many of them at most."""
        found: list[str] = []
        ahead = 0
        for key, ticket in self._in_line():
            if ticket.away and not ticket.counts_from <= self.moment <= ticket.counts_until:
                continue
            if len(found) >= most or self.fits_at(limit, ticket.units, ahead) > self.moment:
                break
            ahead += ticket.units
            if not ticket.away:
                found.append(key)
        return found

    def call_next(self, limit: Limit) -> list[str]:
        """Call those first in line that are away though they fit now; room is kept for them."""
        called: list[str] = []
        ahead = 0
        if limit.at_once is None or not self.tickets or self._held >= limit.at_once:
            # A rate alone frees nothing before the time that they were told.
            return called
        for key, ticket in self._in_line():
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

    def state(self, limit: Limit) -> LimitState:
        """What the outside is told."""
        state = LimitState(limit.name, self.window.used, self._held, len(self.tickets))
        if limit.calendar is not None:
            return state._replace(used=self.budget.spent)
        if limit.pace is None:
            return state
        bucket = self.bucket
        return state._replace(
            used=max(0, bucket.used),
            most=bucket.most(limit),
            pace=bucket.factor,
            paused=max(0, bucket.paused_until - self.moment) / 1000,
        )

    def _in_line(self) -> list[tuple[str, Ticket]]:
        return sorted(self.tickets.items(), key=lambda item: (item[1].since, item[0]))

    @property
    def _held(self) -> int:
        return sum(hold.units for hold in self.holds.values())

    def _learn(self, since: int) -> None:
        took = max(0, self.moment - since)
        self.usual_hold += (took - self.usual_hold) / _EXPERIENCE

    def _budget_fits(self, limit: Limit, units: int, ahead: int) -> int:
        period = self.budget.since
        may_return = sum(call.units for call in self.open.values() if call.period == period)
        soon = max(1, round(self.usual_hold))
        return self.budget.fits_in(limit, units, ahead, open_units=may_return, soon=soon)

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

    def _shift(self, by: int) -> None:
        self.window.shift(by)
        self.bucket.shift(by)
        self.holds = {key: hold._replace(since=hold.since + by) for key, hold in self.holds.items()}
        self.open = {key: call._replace(since=call.since + by) for key, call in self.open.items()}
        self.tickets = {key: each.shifted(by) for key, each in self.tickets.items()}

    # As text

    def dump(self) -> str:
        """All of it as JSON text."""
        kept = {
            "moment": self.moment,
            "slices": self.window.slices,
            "credit": self.window.credit,
            "creditAt": self.window.credit_at,
            "holds": {key: tuple(hold) for key, hold in self.holds.items()},
            "tickets": {key: tuple(ticket) for key, ticket in self.tickets.items()},
            "usualHold": self.usual_hold,
        }
        if self.bucket != _NO_BUCKET:
            kept["bucket"] = self.bucket.dump()
        if self.budget != _NO_BUDGET:
            kept["budget"] = self.budget.dump()
        if self.open:
            kept["open"] = {key: tuple(call) for key, call in self.open.items()}
        return orjson.dumps(kept).decode()

    @classmethod
    def load(cls, text: str) -> Self:
        """What `dump` wrote."""
        kept: dict[str, Any] = orjson.loads(text)
        slices = [(last, units) for last, units in kept["slices"]]
        return cls(
            moment=kept["moment"],
            window=Window(slices, kept["credit"], kept["creditAt"]),
            bucket=Bucket.load(kept["bucket"]) if "bucket" in kept else Bucket(),
            budget=Budget(*kept.get("budget", ())),
            holds={key: Hold(*hold) for key, hold in kept["holds"].items()},
            open={key: Open(*call) for key, call in kept.get("open", {}).items()},
            tickets={key: Ticket(*ticket) for key, ticket in kept["tickets"].items()},
            usual_hold=kept["usualHold"],
        )


_NO_BUCKET: Final = Bucket()
_NO_BUDGET: Final = Budget()
