"""Whether a reservation is granted, by the books of its limits. Pure; instants in ms."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stagepost.limiter import Reservation, Verdict
from stagepost.limiters.account import Account, Mark, Ticket

_GRACE: Final = 3_000  # ms for which room is kept for one that was told to come back
_REMEMBERED: Final = 60_000  # ms, at least, for which its place is
_STEP: Final = 1_000  # ms between two looks at what nobody can foretell
_LONGEST: Final = 24 * 3_600_000


class Asked(NamedTuple):
    """A question: for whom, and how long it waits in place."""

    reservation: Reservation
    holder: str
    patience: int = 0


class Decision(NamedTuple):
    """The verdict, and what to do with it: `again` is the ms after which to look again."""

    verdict: Verdict
    again: int = 0


GRANTED: Final = Decision(Verdict(granted=True))

Accounts = Mapping[str, Account]


def decide(accounts: Accounts, asked: Asked, now: int) -> Decision:
    """Grant all charges at this instant, or keep the place and say when to come."""
    reservation = asked.reservation
    parts = [(accounts[charge.limit.name], charge) for charge in reservation.charges]
    for account, charge in parts:
        account.catch_up(charge.limit, now)
    if any(reservation.held_as in account.holds for account, _ in parts):
        # Its answer was lost on the way.
        return GRANTED
    mark = _mark(accounts, reservation, now)
    at = max(
        account.fits_at(charge.limit, charge.units, account.ahead(mark, now=now))
        for account, charge in parts
    )
    if at <= now:
        for account, charge in parts:
            account.take(charge.limit, charge.units, reservation.held_as, asked.holder)
        leave(accounts, reservation)
        return GRANTED
    return _told_to_wait(accounts, asked, mark, now, at)


def _told_to_wait(accounts: Accounts, asked: Asked, mark: Mark, now: int, soonest: int) -> Decision:
    charges = asked.reservation.charges
    likely, name = max(
        (account.fits_at(charge.limit, charge.units, account.ahead(mark)), charge.limit.name)
        for charge in charges
        for account in (accounts[charge.limit.name],)
    )
    likely = min(likely, now + _LONGEST)
    for charge in charges:
        account = accounts[charge.limit.name]
        before = account.tickets.get(asked.reservation.id)
        ticket = _ticket(asked, mark, charge.units, now, likely)
        if before is not None and before.counts_from <= now:
            # It came back in vain: from now on nobody passes it, or it might go on so for ever.
            ticket = ticket._replace(counts_from=now)
        account.queue(asked.reservation.id, ticket)
    verdict = Verdict(granted=False, wait=(likely - now) / 1000, limit=name)
    return Decision(verdict, min(soonest - now, _STEP))


def _ticket(asked: Asked, mark: Mark, units: int, now: int, likely: int) -> Ticket:
    remembered = likely + max(_REMEMBERED, likely - now)
    if likely - now <= asked.patience:
        # It stands in line: room is kept for it as long as it does.
        return Ticket(mark[0], units, now, now + asked.patience + _STEP, remembered)
    return Ticket(mark[0], units, likely, likely + _GRACE, remembered, away=True)


def _mark(accounts: Accounts, reservation: Reservation, now: int) -> Mark:
    places = [
        ticket.since
        for charge in reservation.charges
        if (ticket := accounts[charge.limit.name].tickets.get(reservation.id)) is not None
    ]
    return (min(places, default=now), reservation.id)


def call_next(accounts: Accounts, reservations: Iterable[Reservation]) -> list[str]:
    """Whom to call now that these reservations have been dealt with; ids."""
    limits = {charge.limit.name: charge.limit for each in reservations for charge in each.charges}
    return [key for name, limit in limits.items() for key in accounts[name].call_next(limit)]


def leave(accounts: Accounts, reservation: Reservation) -> None:
    """Give up the reservation's place in line."""
    for charge in reservation.charges:
        accounts[charge.limit.name].tickets.pop(reservation.id, None)


def release(accounts: Accounts, reservation: Reservation, now: int) -> bool:
    """What the reservation holds is free, and so is its place; whether it held something."""
    leave(accounts, reservation)
    held = [
        accounts[charge.limit.name].release(reservation.held_as, now)
        for charge in reservation.charges
    ]
    return any(held)


def give_back(accounts: Accounts, reservation: Reservation, at: int) -> None:
    """What was granted at the moment `at` was not used at all."""
    leave(accounts, reservation)
    for charge in reservation.charges:
        accounts[charge.limit.name].give_back(charge, reservation.held_as, at)
