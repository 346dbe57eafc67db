"""Whether a reservation is granted, by the books of its limits. Pure; instants in ms."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from stagepost.limit import Limit
from stagepost.limiter import Charge, Notice, Reservation, Verdict
from stagepost.limiters.account import Account
from stagepost.limiters.budget import NEVER
from stagepost.limiters.entries import Mark, Ticket

_GRACE: Final = 3_000  # ms for which room is kept for one that was told to come back
_REMEMBERED: Final = 60_000  # ms, at least, for which its place is
_STEP: Final = 1_000  # ms between two looks at what nobody can foretell
_LONGEST: Final = 24 * 3_600_000
_ROUNDS: Final = 12
_READY: Final = 20


class Asked(NamedTuple):
    """A question: for whom, and how long it waits in place."""

    reservation: Reservation
    holder: str
    patience: int = 0


class Decision(NamedTuple):
    """The verdict, and what to do with it: `again` is the ms after which to look again."""

    verdict: Verdict
    again: int = 0


class Place(NamedTuple):
    """Where one that has to wait stands now, and when it will likely go."""

    mark: Mark
    now: int
    likely: int


class Blocked(NamedTuple):
    """The instant at which a limit lets a reservation go."""

    at: int
    limit: Limit


GRANTED: Final = Decision(Verdict(granted=True))

Accounts = Mapping[str, Account]


def decide(accounts: Accounts, asked: Asked, now: int, wall: int | None = None) -> Decision:
    """Grant all charges at this instant, or keep the place and say when to come.

    `wall` is the instant by the wall's clock, where `now` is by another.
    """
    reservation = asked.reservation
    parts = [(accounts[charge.limit.name], charge) for charge in reservation.charges]
    for account, charge in parts:
        account.catch_up(charge.limit, now, wall)
    if any(account.knows(reservation.held_as) for account, _ in parts):
        # Its answer was lost on the way.
        return GRANTED
    mark = _mark(accounts, reservation, now)
    fits = [
        account.fits_at(charge.limit, charge.units, account.ahead(mark, now=now))
        for account, charge in parts
    ]
    if max(fits) <= now:
        for account, charge in parts:
            account.take(charge.limit, charge.units, reservation.held_as, asked.holder)
        leave(accounts, reservation)
        return GRANTED
    return _told_to_wait(accounts, asked, mark, now, fits)


def _told_to_wait(
    accounts: Accounts, asked: Asked, mark: Mark, now: int, fits: Sequence[int]
) -> Decision:
    charges = asked.reservation.charges
    likely, name = max(
        (_likely(accounts[charge.limit.name], charge, mark, at), charge.limit.name)
        for charge, at in zip(charges, fits, strict=True)
    )
    if likely >= NEVER:
        leave(accounts, asked.reservation)
        return Decision(Verdict(granted=False, wait=math.inf, limit=name), _STEP)
    # A budget's turn is no guess, however far it is.
    turns = any(charge.limit.name == name and charge.limit.calendar for charge in charges)
    wait = likely - now if turns else min(likely - now, _LONGEST)
    likely = min(likely, now + _LONGEST)
    line = Place(mark, now, likely)
    blocked = [Blocked(at, each.limit) for at, each in zip(fits, charges, strict=True)]
    for n, charge in enumerate(charges):
        account = accounts[charge.limit.name]
        others = blocked[:n] + blocked[n + 1 :]
        account.queue(asked.reservation.id, _ticket(account, asked, charge, line, others))
    verdict = Verdict(granted=False, wait=wait / 1000, limit=name)
    return Decision(verdict, min(max(fits) - now, _STEP))


def _likely(account: Account, charge: Charge, mark: Mark, soonest: int) -> int:
    if not charge.limit.for_calls:
        return account.fits_at(charge.limit, charge.units, account.ahead(mark))
    # Only those go before it that need room by then.
    at = soonest
    for _ in range(_ROUNDS):
        later = account.fits_at(charge.limit, charge.units, account.ahead(mark, by=at))
        if later <= at:
            return at
        at = later
    # The line has no gap that could be found so soon.
    return account.fits_at(charge.limit, charge.units, account.ahead(mark))


def _ticket(
    account: Account, asked: Asked, charge: Charge, line: Place, others: Sequence[Blocked]
) -> Ticket:
    now, likely = line.now, line.likely
    remembered = likely + max(_REMEMBERED, likely - now)
    ticket = Ticket(line.mark[0], charge.units, likely, likely + _GRACE, remembered, away=True)
    if likely - now <= asked.patience:
        # It stands in line: room is kept for it as long as it does.
        until = now + asked.patience + _STEP
        ticket = ticket._replace(counts_from=now, counts_until=until, away=False)
    at, other = max(others, key=lambda each: each.at, default=Blocked(now, charge.limit))
    if charge.limit.for_calls and not ticket.away:
        # Until the other limits let it go it needs no room here: a tenant that waits for its own
        # share holds nobody else up.
        ticket = ticket._replace(counts_from=max(now, at))
    waits_for_money = other.calendar is not None and at > now
    before = account.tickets.get(asked.reservation.id)
    if before is not None and before.counts_from <= now and not waits_for_money:
        # It came back in vain: from now on nobody passes it, or it might go on so for ever.
        ticket = ticket._replace(counts_from=now)
    return ticket


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


def ready(accounts: Accounts, freed: Sequence[Reservation]) -> set[str]:
    """Who waits in place and goes now that these have freed what they held; ids.

    Some more may be named than can go; who is not named looks again before long.
    """
    limits = {charge.limit.name: charge.limit for each in freed for charge in each.charges}
    most = _READY + len(freed)
    fitting = {name: set(accounts[name].ready(limit, most)) for name, limit in limits.items()}
    return {
        key
        for key in set().union(*fitting.values())
        if all(key in fits or key not in accounts[name].tickets for name, fits in fitting.items())
    }


def leave(accounts: Accounts, reservation: Reservation) -> None:
    """Give up the reservation's place in line."""
    for charge in reservation.charges:
        accounts[charge.limit.name].tickets.pop(reservation.id, None)


def release(
    accounts: Accounts,
    reservation: Reservation,
    now: int,
    used: Mapping[str, int] | None = None,
    wall: int | None = None,
) -> bool:
    """What the reservation holds is free, and so is its place; whether it held something.

    `used` says what it has really used of limits of calls, by their names; of one that is not named
    it has used what it reserved.
    """
    leave(accounts, reservation)
    held = []
    for charge in reservation.charges:
        account = accounts[charge.limit.name]
        account.catch_up(charge.limit, now, wall)
        held.append(account.knows(reservation.held_as))
        account.release(reservation.held_as)
        account.settle(charge.limit, reservation.held_as, (used or {}).get(charge.limit.name))
    return any(held)


def withdraw(accounts: Accounts, reservation: Reservation) -> None:
    """Whoever asked has gone without an answer, and makes no call. All accounts have caught up."""
    leave(accounts, reservation)
    for charge in reservation.charges:
        account = accounts[charge.limit.name]
        account.release(reservation.held_as)
        account.withdraw(charge.limit, reservation.held_as)


def give_back(accounts: Accounts, reservation: Reservation, at: int) -> None:
    """What was granted at the moment `at` was not used at all."""
    leave(accounts, reservation)
    for charge in reservation.charges:
        accounts[charge.limit.name].give_back(charge, reservation.held_as, at)


def heed(accounts: Accounts, notices: Sequence[Notice]) -> None:
    """Learn what was told of limits. All accounts have caught up."""
    for notice in notices:
        accounts[notice.limit.name].heed(notice.limit, notice)
