"""Calls that wait for several limits: who waits for one holds up nobody at another."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Sequence

import pytest

from stagepost.limit import Calendar, Limit, Pace
from stagepost.limiter import Charge, Reservation
from stagepost.limiters import decision
from stagepost.limiters.account import Account
from stagepost.limiters.decision import Asked

START = 1_700_000_000_000
TOKENS = Limit("model:m:tokens", 60_000, pace=Pace())
CALLS = Limit("model:m:requests", 10_000, at_once=4, pace=Pace())


def share_of(tenant: str, units: int = 15_000) -> Limit:
    return Limit(f"share:{tenant}:m:tokens", units, pace=Pace(1.0))


class Line:
    """Askers who wait in place, by the clock of the test, and what they were granted."""

    def __init__(self) -> None:
        self.now = START
        self.books: defaultdict[str, Account] = defaultdict(Account)
        self.looks: list[tuple[int, int, str, Sequence[Charge], int]] = []
        self.granted: dict[str, int] = {}
        self.told: dict[str, float] = {}

    def ask(self, key: str, charges: Sequence[Charge], patience: int = 5_000) -> None:
        asked = Asked(Reservation(key, charges), "me", patience)
        found = decision.decide(self.books, asked, self.now)
        if found.verdict.granted:
            self.granted[key] = self.now
            return
        wait = round(found.verdict.wait * 1000)
        self.told.setdefault(key, found.verdict.wait)
        again = self.now + (max(1, found.again) if wait <= patience else max(1, wait))
        heapq.heappush(self.looks, (again, len(self.looks), key, charges, patience))

    def run(self, seconds: float) -> None:
        until = self.now + int(seconds * 1000)
        while self.looks and self.looks[0][0] <= until:
            self.now, _, key, charges, patience = heapq.heappop(self.looks)
            self.ask(key, charges, patience)
        self.now = until

    def per_tenant(self) -> Counter[str]:
        return Counter(key[0] for key in self.granted)


def test_a_tenant_that_waits_for_its_share_holds_nobody_up() -> None:
    line = Line()
    for n in range(60):
        line.ask(f"a{n:02}", [Charge(TOKENS, 500), Charge(share_of("a"), 500)])
    line.run(1)
    line.ask("b", [Charge(TOKENS, 500), Charge(share_of("b"), 500)])
    assert line.told.get("b", 0.0) < 1
    line.run(1)
    assert "b" in line.granted


def test_two_tenants_with_a_flood_each_use_their_share_and_the_rest_is_not_lost() -> None:
    line = Line()
    for n in range(80):
        for tenant, units in (("a", 15_000), ("b", 60_000)):
            charges = [Charge(TOKENS, 500), Charge(share_of(tenant, units), 500)]
            line.ask(f"{tenant}{n:03}", charges, patience=200_000)
    line.run(40)
    granted = line.per_tenant()
    # In forty seconds 79 of the 60,000 tokens a minute; a quarter is the most of one.
    assert granted["a"] == pytest.approx(20, abs=2)
    assert granted["a"] + granted["b"] >= 77


def test_who_waits_for_money_that_may_come_back_holds_nobody_up() -> None:
    line, poor = Line(), Limit("budget:task/1", 1_000, calendar=Calendar.EVER)
    for n in range(30):
        line.ask(f"a{n}", [Charge(TOKENS, 500), Charge(poor, 1_000)])
    line.run(2)
    line.ask("b", [Charge(TOKENS, 500)])
    assert "b" in line.granted
    assert line.per_tenant() == {"a": 1, "b": 1}


def test_those_who_wait_for_the_same_limits_come_in_their_order() -> None:
    line = Line()
    for n in range(40):
        line.ask(f"a{n:02}", [Charge(TOKENS, 500), Charge(CALLS, 1)], patience=60_000)
        line.now += 1
    for _ in range(400):
        line.run(0.1)
        for key, at in line.granted.items():
            if line.now - at > 500:
                held = Reservation(key, [Charge(TOKENS, 500), Charge(CALLS, 1)])
                decision.release(line.books, held, line.now)
    order = sorted(line.granted, key=line.granted.__getitem__)
    assert order == sorted(order)
    assert len(order) == 40


def test_an_end_wakes_those_who_go_now_and_not_the_whole_line() -> None:
    line, calls = Line(), [Charge(TOKENS, 50), Charge(CALLS, 1)]
    for n in range(100):
        line.ask(f"a{n:03}", calls, patience=600_000)
        line.now += 60
    assert len(line.granted) == 4
    ended = Reservation("a000", calls)
    decision.release(line.books, ended, line.now)
    assert decision.ready(line.books, [ended]) == {"a004"}
    assert decision.ready(line.books, [Reservation("else", [Charge(share_of("z"), 1)])]) == set()


def test_an_end_that_frees_nothing_that_anybody_needs_wakes_nobody() -> None:
    line = Line()
    for n in range(20):
        line.ask(f"a{n:02}", [Charge(TOKENS, 3_000), Charge(CALLS, 1)], patience=600_000)
    ended = Reservation("a00", [Charge(TOKENS, 3_000), Charge(CALLS, 1)])
    line.now += 1_000
    decision.release(line.books, ended, line.now, {TOKENS.name: 3_000})
    assert decision.ready(line.books, [ended]) == set()
