"""Money: never more than the budget in its period, which turns with the calendar."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.limit import Calendar, Limit
from stagepost.limiter import Charge, Notice, Reservation, Verdict
from stagepost.limiters import decision
from stagepost.limiters.account import Account
from stagepost.limiters.budget import begin_of, end_of
from stagepost.limiters.decision import Asked

HOUR = 3_600_000
DOLLAR = 1_000_000


def ms(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp() * 1000)


@dataclass
class Desk:
    """Spends by the clock of the test; the book is kept as text in between."""

    limit: Limit
    now: int = field(default_factory=lambda: ms(2026, 11, 30, 12))
    account: Account = field(default_factory=Account)

    def ask(self, units: int, key: str, holder: str = "me", patience: int = 0) -> Verdict:
        self.account = Account.load(self.account.dump())
        asked = Asked(Reservation(key, [Charge(self.limit, units)]), holder, patience)
        verdict = decision.decide({self.limit.name: self.account}, asked, self.now).verdict
        self.account.tickets.clear()
        return verdict

    def settle(self, units: int, key: str, used: int | None = None) -> None:
        wanted = Reservation(key, [Charge(self.limit, units)])
        told = None if used is None else {self.limit.name: used}
        decision.release({self.limit.name: self.account}, wanted, self.now, told)

    @property
    def spent(self) -> int:
        self.account.catch_up(self.limit, self.now)
        return self.account.state(self.limit).used


def budget(dollars: float, calendar: Calendar = Calendar.DAY) -> Limit:
    return Limit("budget:tenant/a:day", round(dollars * DOLLAR), calendar=calendar)


@pytest.mark.parametrize(
    ("calendar", "instant", "begin", "end"),
    [
        (Calendar.DAY, (2026, 11, 30, 12), (2026, 11, 30), (2026, 12, 1)),
        (Calendar.DAY, (2028, 2, 29, 23, 59), (2028, 2, 29), (2028, 3, 1)),
        (Calendar.MONTH, (2026, 12, 31, 23), (2026, 12, 1), (2027, 1, 1)),
        (Calendar.MONTH, (2027, 1, 31), (2027, 1, 1), (2027, 2, 1)),
        (Calendar.MONTH, (2027, 2, 1), (2027, 2, 1), (2027, 3, 1)),
    ],
)
def test_it_turns_with_the_calendar_of_utc(
    calendar: Calendar, instant: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...]
) -> None:
    assert begin_of(calendar, ms(*instant)) == ms(*begin)
    assert end_of(calendar, ms(*instant)) == ms(*end)


@pytest.mark.parametrize(
    ("calendar", "hours"), [(Calendar.DAY, 12), (Calendar.MONTH, 12), (Calendar.EVER, math.inf)]
)
def test_who_waits_is_told_when_it_turns(calendar: Calendar, hours: float) -> None:
    desk = Desk(budget(1, calendar))
    assert desk.ask(DOLLAR, "a").granted
    desk.settle(DOLLAR, "a")
    verdict = desk.ask(1, "b")
    assert verdict == (False, hours * 3_600, "budget:tenant/a:day")
    desk.now += 12 * HOUR
    assert desk.ask(1, "b").granted is (calendar is not Calendar.EVER)


def test_a_turn_that_is_far_away_is_told_as_it_is() -> None:
    desk = Desk(budget(1, Calendar.MONTH), ms(2026, 12, 1))
    assert desk.ask(DOLLAR, "a").granted
    desk.settle(DOLLAR, "a")
    assert desk.ask(1, "b").wait == 31 * 86_400


def test_more_than_the_whole_budget_never_fits() -> None:
    desk = Desk(budget(1))
    assert desk.ask(DOLLAR + 1, "a") == (False, math.inf, "budget:tenant/a:day")


def test_what_was_reserved_and_not_used_can_be_spent_again() -> None:
    desk = Desk(budget(1))
    assert desk.ask(900_000, "a").granted
    told = desk.ask(900_000, "b")
    assert not told.granted
    # It may come back soon, so nobody has to wait for the day's end.
    assert told.wait < 10
    desk.settle(900_000, "a", 50_000)
    desk.settle(900_000, "a", 50_000)
    assert desk.spent == 50_000
    assert desk.ask(900_000, "b").granted


def test_a_call_of_yesterday_gives_nothing_back_today_and_pays_what_it_used_beyond() -> None:
    desk = Desk(budget(1))
    desk.ask(500_000, "a")
    desk.ask(500_000, "b")
    desk.now += 12 * HOUR
    assert desk.spent == 0
    desk.settle(500_000, "a", 100)
    assert desk.spent == 0
    desk.settle(500_000, "b", 700_000)
    assert desk.spent == 200_000


def test_a_clock_that_is_set_back_gives_no_money() -> None:
    desk = Desk(budget(1))
    assert desk.ask(DOLLAR, "a").granted
    desk.settle(DOLLAR, "a")
    desk.now -= 24 * HOUR
    assert not desk.ask(1, "b").granted
    desk.now += 24 * HOUR
    assert not desk.ask(1, "b").granted
    desk.now += 12 * HOUR
    assert desk.ask(1, "b").granted


def test_a_clock_that_was_months_ahead_stops_nobody_for_months() -> None:
    desk = Desk(budget(1), ms(2026, 11, 30, 12) + 2_000 * HOUR)
    assert desk.ask(DOLLAR, "a").granted
    desk.now = ms(2026, 11, 30, 12)
    assert desk.ask(1, "b").wait == 12 * 3_600
    desk.now += 12 * HOUR
    assert desk.ask(1, "b").granted


def test_what_a_dead_process_has_reserved_is_spent() -> None:
    desk = Desk(budget(1))
    assert desk.ask(DOLLAR, "a", holder="dead").granted
    desk.account.bury({"me"})
    desk.settle(DOLLAR, "a", 0)
    assert desk.spent == DOLLAR


def test_the_ledger_tells_what_was_spent_before() -> None:
    desk = Desk(budget(1))
    desk.account.catch_up(desk.limit, desk.now)
    accounts = {desk.limit.name: desk.account}
    decision.heed(accounts, [Notice(desk.limit, spent=700_000)])
    decision.heed(accounts, [Notice(desk.limit, spent=300_000)])
    assert desk.spent == 700_000
    assert not desk.ask(400_000, "a").granted


@given(
    st.sampled_from([Calendar.DAY, Calendar.MONTH, Calendar.EVER]),
    st.lists(
        st.tuples(st.integers(1, 400_000), st.floats(0, 1), st.integers(0, 9), st.booleans()),
        max_size=80,
    ),
)
def test_no_period_costs_more_than_the_budget(
    calendar: Calendar, steps: list[tuple[int, float, int, bool]]
) -> None:
    desk, flying, cost = Desk(budget(1, calendar)), dict[str, int](), defaultdict[int, int](int)
    when: dict[str, int] = {}
    for n, (units, used, hours, ends) in enumerate(steps):
        desk.now += hours * HOUR
        if ends and flying:
            key = next(iter(flying))
            asked = flying.pop(key)
            desk.settle(asked, key, int(asked * used))
            cost[when[key]] += int(asked * used)
        if desk.ask(units, f"k{n}").granted:
            flying[f"k{n}"], when[f"k{n}"] = units, begin_of(calendar, desk.now)
    for key, asked in flying.items():
        cost[when[key]] += asked
    assert all(spent <= DOLLAR for spent in cost.values())


def test_a_reservation_takes_from_all_or_none_and_names_the_one_that_it_waits_for() -> None:
    day, ever = budget(1), Limit("budget:task/7", 10_000, calendar=Calendar.EVER)
    accounts: defaultdict[str, Account] = defaultdict(Account)

    def ask(key: str, units: int) -> Verdict:
        wanted = Reservation(key, [Charge(day, units), Charge(ever, units)])
        return decision.decide(accounts, Asked(wanted, "me"), ms(2026, 11, 30, 12)).verdict

    assert ask("a", 9_000).granted
    assert ask("b", 20_000) == (False, math.inf, "budget:task/7")
    assert accounts[day.name].state(day).used == 9_000
