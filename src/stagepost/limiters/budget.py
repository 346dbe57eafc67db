"""Money, in millionths of a US dollar, in a day or month of UTC, or for ever. Pure; instants in ms.

What was reserved counts in the period in which it was; what a call has used beyond that counts when
it is settled. So a period never holds more than the budget, as long as no estimate was too low.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, assert_never

from stagepost.limit import Calendar, Limit

NEVER: Final = 2**53
"""The instant that does not come."""

_FAR_AHEAD: Final = 40 * 86_400_000
"""ms. A clock that is set back by less may be set on again, and turns no period twice."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Budget:
    """What was spent since the instant `since`, at which the period began, and when it turns."""

    since: int = 0
    spent: int = 0
    wall: int = 0
    turns: int = 0

    def catch_up(self, limit: Limit, wall: int) -> None:
        """Go on to this instant of the wall's clock, and turn with the calendar."""
        begin = begin_of(_calendar(limit), wall)
        self.wall = wall
        if begin > self.since:
            self.since, self.spent = begin, 0
        elif self.since - begin > _FAR_AHEAD:
            # Whoever set it has righted it. What is spent stays spent.
            self.since = begin
        self.turns = end_of(_calendar(limit), max(self.since, wall))

    def is_spent(self, wall: int) -> bool:
        """Whether something is spent of a period that has not turned by then."""
        return self.spent != 0 and wall < self.turns

    def fits_in(self, limit: Limit, units: int, ahead: int, *, open_units: int, soon: int) -> int:
        """In how many ms units fit behind so many others; from NEVER on if they never do.

        Of what is spent `open_units` may come back, and usually do `soon`.
        """
        most = limit.units or 0
        if units > most:
            return NEVER
        need = ahead + units
        if self.spent + need <= most:
            return 0
        turns = self.turns - self.wall
        if self.spent - open_units + units <= most:
            # Those before it may use less than they reserve, too.
            return min(soon, turns)
        return turns

    def dump(self) -> tuple[int, int, int, int]:
        """All of it, for JSON."""
        return self.since, self.spent, self.wall, self.turns


def begin_of(calendar: Calendar, wall: int) -> int:
    """When the period began that an instant lies in."""
    day = _EPOCH + timedelta(days=wall // 86_400_000)
    match calendar:
        case Calendar.DAY:
            return _ms(day)
        case Calendar.MONTH:
            return _ms(day.replace(day=1))
        case Calendar.EVER:
            return 0
    assert_never(calendar)


def end_of(calendar: Calendar, wall: int) -> int:
    """When it ends: when the next one begins."""
    begin = _EPOCH + timedelta(milliseconds=begin_of(calendar, wall))
    match calendar:
        case Calendar.DAY:
            return _ms(begin + timedelta(days=1))
        case Calendar.MONTH:
            return _ms((begin + timedelta(days=31)).replace(day=1))
        case Calendar.EVER:
            return NEVER + wall
    assert_never(calendar)


def _ms(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(milliseconds=1)


def _calendar(limit: Limit) -> Calendar:
    return limit.calendar or Calendar.EVER
