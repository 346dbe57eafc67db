"""What a provider lends: the book against an oracle that remembers every unit."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.limit import Limit, Pace
from stagepost.limiter import Charge, Notice, Reservation, Verdict, pauses
from stagepost.limiters import decision
from stagepost.limiters.account import MOST_OPEN, Account
from stagepost.limiters.decision import Asked

START = 1_700_000_000_000
MINUTE = 60_000


def lent(
    units: int = 6_000,
    charge: Literal["reserved", "actual"] = "reserved",
    share: float = 0.99,
    **more: Any,
) -> Limit:
    return Limit("model:m:tokens", units, pace=Pace(share, charge), **more)


@dataclass
class Desk:
    """Asks by the clock of the test; the book is kept as text in between."""

    limit: Limit
    now: int = START
    account: Account = field(default_factory=Account)
    asked: int = 0
    flow: list[tuple[int, int]] = field(default_factory=list)
    """What went out when, and below 0 what came back."""

    def ask(self, units: int, key: str = "", holder: str = "me") -> Verdict:
        self.asked += 1
        self.account = Account.load(self.account.dump())
        wanted = self.wanting(units, key or f"r{self.asked}")
        found = decision.decide({self.limit.name: self.account}, Asked(wanted, holder), self.now)
        self.account.tickets.clear()  # nobody else waits
        if found.verdict.granted:
            self.flow.append((self.now, units))
        return found.verdict

    def settle(self, units: int, key: str, used: int | None = None) -> None:
        told = None if used is None else {self.limit.name: used}
        decision.release({self.limit.name: self.account}, self.wanting(units, key), self.now, told)
        if used is not None:
            self.flow.append((self.now, used - units))

    def heed(self, **told: Any) -> None:
        self.heed_all([Notice(self.limit, **told)])

    def heed_all(self, notices: Sequence[Notice]) -> None:
        self.account.catch_up(self.limit, self.now)
        decision.heed({self.limit.name: self.account}, notices)

    def wanting(self, units: int, key: str) -> Reservation:
        return Reservation(key, [Charge(self.limit, units)])

    def soonest(self, units: int) -> int:
        """How many ms it takes until so many are granted; they are."""
        before = self.now
        for _ in range(1_000):
            verdict = self.ask(units, "patient")
            if verdict.granted:
                self.settle(units, "patient")
                return self.now - before
            self.now += max(1, round(verdict.wait * 1000))
        raise AssertionError("never granted")

    def fill(self, units: int, seconds: float) -> int:
        """Take all that is granted for a while; how much that was."""
        until, taken = self.now + int(seconds * 1000), 0
        while self.now < until:
            if self.ask(units, f"f{self.asked}").granted:
                self.settle(units, f"f{self.asked - 1}")
                taken += units
            else:
                self.now += 10
        return taken

    def fullest(self) -> int:
        """The most that a provider saw in any part of the window that ends now."""
        most = since = 0
        for at, units in reversed(self.flow):
            if at <= self.now - round(self.limit.window * 1000):
                break
            since += units
            most = max(most, since)
        return most


charges = st.sampled_from(["reserved", "actual"])
steps = st.lists(
    st.tuples(st.integers(1, 2_000), st.integers(0, 8_000), st.floats(0, 1), st.booleans()),
    min_size=1,
    max_size=100,
)


@given(charges, st.integers(1, 2_000), st.integers(1, 800), st.integers(0, 10**9))
def test_no_minute_holds_more_than_the_limit_wherever_it_begins(
    charge: Literal["reserved", "actual"], largest: int, pause: int, seed: int
) -> None:
    # A short window, and steps enough to fill some of them.
    desk, flying = Desk(lent(charge=charge, window=6.0)), dict[str, int]()
    chance = random.Random(seed)
    for n in range(120):
        desk.now += chance.randint(0, pause)
        if flying and chance.random() < 0.5:
            key = next(iter(flying))
            asked = flying.pop(key)
            desk.settle(asked, key, chance.randint(0, asked))
        units = chance.randint(1, largest)
        if desk.ask(units, f"k{n}").granted:
            flying[f"k{n}"] = units
        assert desk.fullest() <= 6_000


@given(steps)
def test_what_it_lends_comes_back_evenly(steps: list[tuple[int, int, float, bool]]) -> None:
    desk = Desk(lent())
    for units, pause, _, _ in steps:
        desk.now += pause
        desk.ask(units)
    largest = max(units for units, *_ in steps)
    for place, (since, _) in enumerate(desk.flow):
        for until, _ in desk.flow[place:]:
            out = sum(units for at, units in desk.flow if since <= at <= until)
            assert out <= 99 * (until - since) / 1_000 + largest + 120 + 1e-3


def test_it_begins_with_one_requests_credit_and_no_more() -> None:
    desk = Desk(lent())
    assert desk.ask(100).granted
    verdict = desk.ask(100)
    assert not verdict.granted
    assert verdict.wait == pytest.approx(100 / 99, abs=0.01)
    assert verdict.limit == "model:m:tokens"


def test_after_a_pause_there_is_a_small_burst_and_no_more() -> None:
    desk = Desk(lent())
    desk.ask(300)
    desk.now += 20_000
    granted = [desk.ask(100).granted for _ in range(10)]
    # The largest that was seen lately, and two hundredths of the limit.
    assert granted == [True] * 4 + [False] * 6


def test_what_is_larger_than_the_burst_goes_when_that_is_whole_and_is_paid_off() -> None:
    desk = Desk(lent())
    desk.ask(100)
    desk.now += 60_000
    assert desk.ask(3_000).granted
    assert desk.ask(1, "next").wait == pytest.approx((3_000 - 215) / 99, rel=0.03)


def test_what_is_larger_than_what_the_provider_lends_goes_alone() -> None:
    desk = Desk(lent())
    desk.ask(100)
    desk.settle(100, "r1")
    desk.heed(most=500)
    assert not desk.ask(800).granted
    desk.now += 61_000
    assert desk.ask(800).granted


@pytest.mark.parametrize("charge", ["reserved", "actual"])
def test_what_was_reserved_and_does_not_count_comes_back(
    charge: Literal["reserved", "actual"],
) -> None:
    desk = Desk(lent(charge=charge))
    assert desk.ask(500, "a").granted
    desk.settle(500, "a", 100)
    assert desk.ask(400, "b").granted


@pytest.mark.parametrize("charge", ["reserved", "actual"])
def test_what_was_used_beyond_the_estimate_is_paid(charge: Literal["reserved", "actual"]) -> None:
    desk = Desk(lent(charge=charge))
    assert desk.ask(100, "a").granted
    desk.settle(100, "a", 1_090)
    assert desk.account.state(desk.limit).used == 1_090
    assert desk.ask(100).wait == pytest.approx(1_090 / 99, abs=0.02)


@given(st.integers(0, 900), st.integers(1, 4))
def test_it_is_settled_once(used: int, times: int) -> None:
    once, often = Desk(lent(charge="actual")), Desk(lent(charge="actual"))
    for desk, settles in ((once, 1), (often, 1 + times)):
        desk.ask(500, "a")
        for _ in range(settles):
            desk.settle(500, "a", used)
    assert once.account == often.account


def test_a_grant_whose_answer_was_lost_is_taken_once() -> None:
    desk = Desk(lent())
    assert desk.ask(100, "a").granted
    assert desk.ask(100, "a").granted
    assert desk.account.state(desk.limit).used == 100


def test_what_a_dead_process_has_reserved_is_spent() -> None:
    desk = Desk(lent(charge="actual"))
    assert desk.ask(500, "a", holder="dead").granted
    desk.account.bury({"me"})
    desk.settle(500, "a", 0)
    assert desk.account.state(desk.limit).used == 500
    assert desk.account.open == {}


def test_a_call_that_was_not_made_is_given_back_whatever_the_provider_charges() -> None:
    desk = Desk(lent())
    assert desk.ask(500, "a").granted
    decision.withdraw({desk.limit.name: desk.account}, desk.wanting(500, "a"))
    assert desk.account.state(desk.limit).used == 0
    assert desk.ask(500, "b").granted
    decision.give_back({desk.limit.name: desk.account}, desk.wanting(500, "b"), desk.now)
    assert desk.account.state(desk.limit).used == 0


def test_calls_that_nobody_settles_are_bounded_and_stay_spent() -> None:
    account, limit = Account(), lent(units=10**9)
    account.catch_up(limit, START)
    for n in range(MOST_OPEN + 5):
        account.take(limit, 1, str(n), "me")
    assert len(account.open) == MOST_OPEN
    account.settle(limit, "0", 0)
    assert account.state(limit).used == MOST_OPEN + 5


def test_a_pause_holds_for_everyone_and_ends() -> None:
    desk = Desk(lent())
    desk.ask(1)
    desk.now += 10_000
    desk.heed_all(pauses([desk.limit], 30))
    # A shorter one does not end it.
    desk.heed(pause=5.0)
    assert desk.ask(1).wait == pytest.approx(30)
    assert desk.account.state(desk.limit).paused == 30
    desk.now += 30_000
    assert desk.ask(1).granted


def test_after_a_refusal_the_pace_falls_once_a_window_and_recovers() -> None:
    desk = Desk(lent())
    desk.ask(10)
    desk.heed(slower=True)
    desk.heed(slower=True)
    state = desk.account.state(desk.limit)
    assert state.pace == pytest.approx(0.7)
    slow = desk.soonest(10)
    assert slow == pytest.approx(10 / (99 * 0.7) * 1000, abs=3)
    desk.now += 10_000
    desk.account.catch_up(desk.limit, desk.now)
    assert desk.account.state(desk.limit).pace == pytest.approx(0.7 + 10.1 * 0.015, abs=0.005)
    desk.now += 11_000
    desk.account.catch_up(desk.limit, desk.now)
    assert desk.account.state(desk.limit).pace == 1.0
    desk.now += 40_000
    desk.heed(slower=True)
    assert desk.account.state(desk.limit).pace == pytest.approx(0.7)


def test_a_limit_that_is_told_lower_holds_and_a_higher_one_up_to_ours() -> None:
    desk = Desk(lent())
    assert desk.fill(10, 60) == pytest.approx(5_940, abs=40)
    desk.heed(most=6_000)
    desk.now += 100
    desk.heed(most=600)
    assert desk.account.state(desk.limit).most == 600
    assert desk.fill(10, 60) == pytest.approx(594, abs=30)
    desk.heed(most=60_000)
    # It may have been told before.
    assert desk.account.state(desk.limit).most == 600
    desk.now += 29_000
    desk.heed(most=60_000)
    assert desk.account.state(desk.limit).most == 600
    desk.now += 1_000
    desk.heed(most=60_000)
    assert desk.account.state(desk.limit).most == 6_000
    desk.fill(10, 60)
    assert desk.fill(10, 60) == pytest.approx(5_940, abs=40)


def test_what_went_out_before_anything_was_told_counts_against_what_is_told() -> None:
    desk = Desk(lent())
    desk.fill(10, 30)
    desk.heed(most=600)
    # Only the last 600 fit into a minute.
    assert desk.ask(10).wait == pytest.approx(54.5, abs=1.5)


def test_what_is_told_of_before_and_after_in_turn_takes_nothing_from_the_book() -> None:
    desk = Desk(lent())
    desk.heed(most=6_000)
    desk.fill(10, 60)
    for _ in range(20):
        desk.now += 10
        desk.heed(most=6_000)
        desk.heed(most=3_000)
    assert desk.account.state(desk.limit).used == pytest.approx(2_970, abs=60)
    assert desk.account.state(desk.limit).most == 3_000


def test_a_limit_of_which_nothing_was_known_rises_with_what_is_told() -> None:
    desk = Desk(Limit("model:m:tokens", 600, pace=Pace(rises=True)))
    desk.ask(10)
    desk.heed(most=6_000)
    desk.fill(10, 60)
    assert desk.fill(10, 60) == pytest.approx(5_940, abs=40)


def test_no_more_goes_out_than_the_provider_has_left() -> None:
    desk = Desk(lent())
    desk.ask(300)
    desk.now += 10_000
    desk.heed(left=50)
    assert desk.ask(50).granted
    assert not desk.ask(50).granted


def test_a_clock_that_is_set_back_stops_nothing_and_opens_no_gap() -> None:
    desk = Desk(lent())
    desk.fill(100, 30)
    desk.heed(slower=True, pause=2.0)
    desk.now -= 3_600_000
    verdict = desk.ask(100)
    assert not verdict.granted
    assert verdict.wait < 4
    assert desk.account.state(desk.limit).used == pytest.approx(2_970, abs=150)


def test_what_is_larger_waits_its_turn_and_is_not_passed_for_ever() -> None:
    desk = Desk(lent(units=600))
    desk.ask(10)
    wanted = desk.wanting(300, "large")
    accounts = {desk.limit.name: desk.account}
    for _ in range(400):
        desk.now += 500
        if decision.decide(accounts, Asked(wanted, "me", 5_000), desk.now).verdict.granted:
            return
        small = desk.wanting(5, f"s{desk.now}")
        decision.decide(accounts, Asked(small, "me", 5_000), desk.now)
    raise AssertionError("passed for ever")
