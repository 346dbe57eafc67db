"""The books against an oracle that remembers every single unit."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from stagepost.limit import Limit
from stagepost.limiter import MOST_WAITING, Charge, Reservation
from stagepost.limiters import decision
from stagepost.limiters.account import Account
from stagepost.limiters.decision import Asked, Decision
from stagepost.limiters.entries import Ticket

START = 1_700_000_000_000


@dataclass
class Desk:
    """Asks by the clock of the test, and remembers what was granted when."""

    limit: Limit
    now: int = START
    accounts: defaultdict[str, Account] = field(default_factory=lambda: defaultdict(Account))
    granted: list[tuple[int, int]] = field(default_factory=list)
    held: dict[str, int] = field(default_factory=dict)
    asked: int = 0

    def ask(self, units: int, key: str = "", patience: int = 0) -> Decision:
        self.asked += 1
        key = key or f"r{self.asked}"
        # Kept as text in between, as every adapter that is no process's own must.
        for name, account in list(self.accounts.items()):
            self.accounts[name] = Account.load(account.dump())
        reservation = self.reservation(units, key)
        found = decision.decide(self.accounts, Asked(reservation, "me", patience), self.now)
        if found.verdict.granted and key not in self.held:
            self.granted.append((self.now, units))
            if self.limit.at_once is not None:
                self.held[key] = units
        return found

    def end(self, key: str) -> None:
        units = self.held.pop(key)
        decision.release(self.accounts, self.reservation(units, key), self.now)

    def reservation(self, units: int, key: str) -> Reservation:
        return Reservation(key, [Charge(self.limit, units)])

    def used_since(self, instant: int) -> int:
        return sum(units for at, units in self.granted if at > instant)

    @property
    def window(self) -> int:
        return round(self.limit.window * 1000)


rates = st.builds(
    lambda units, window, burst, at_once: Limit(
        "x", units, window, None if burst is None else min(burst, units), at_once
    ),
    units=st.integers(1, 60),
    window=st.sampled_from([0.1, 0.25, 1, 7, 60]),
    burst=st.none() | st.integers(1, 20),
    at_once=st.none() | st.integers(1, 10),
)
moves = st.lists(
    st.tuples(st.integers(1, 12), st.floats(0, 0.4), st.booleans()), min_size=1, max_size=120
)


def played(limit: Limit, steps: list[tuple[int, float, bool]]) -> Iterator[tuple[Desk, Decision]]:
    desk = Desk(limit)
    for units, share, ends in steps:
        desk.now += int(share * desk.window)
        if ends and desk.held:
            desk.end(next(iter(desk.held)))
        most = min(limit.units or units, limit.at_once or units)
        yield desk, desk.ask(min(units, most))


@given(rates, moves)
def test_no_window_holds_more_than_the_limit(
    limit: Limit, steps: list[tuple[int, float, bool]]
) -> None:
    for desk, _ in played(limit, steps):
        if limit.units is not None:
            # Also if one came at the begin of its millisecond and the other at the end.
            assert desk.used_since(desk.now - desk.window - 1) <= limit.units
        if limit.at_once is not None:
            assert sum(desk.held.values()) <= limit.at_once


@given(rates, moves)
def test_a_burst_spreads_the_units(limit: Limit, steps: list[tuple[int, float, bool]]) -> None:
    for desk, _ in played(limit, steps):
        if limit.burst is None or limit.units is None:
            continue
        for since, _units in desk.granted:
            # The largest may pass the burst, since it is paid off afterwards.
            largest = max(units for _, units in desk.granted)
            passed = desk.now - since
            most = max(limit.burst, largest) + limit.units * passed / desk.window
            assert desk.used_since(since - 1) <= most + 1e-3


@given(rates, moves)
def test_what_fits_is_granted_at_most_a_hundredth_of_the_window_late(
    limit: Limit, steps: list[tuple[int, float, bool]]
) -> None:
    if limit.units is None or limit.burst is not None or limit.at_once is not None:
        return
    desk = Desk(limit)
    slack = desk.window // 100 + 2
    for units, share, _ in steps:
        desk.now += int(share * desk.window)
        # Nobody else waits: whoever was refused goes away.
        desk.accounts["x"].tickets.clear()
        wanted = min(units, limit.units)
        free = limit.units - desk.used_since(desk.now - desk.window - slack)
        if not desk.ask(wanted).verdict.granted:
            assert wanted > free


@given(rates, moves)
def test_who_comes_back_when_told_is_granted(
    limit: Limit, steps: list[tuple[int, float, bool]]
) -> None:
    for desk, found in played(limit, steps):
        if found.verdict.granted or limit.at_once is not None:
            continue
        account = desk.accounts["x"]
        key = f"r{desk.asked}"
        desk.accounts["x"].tickets = {key: account.tickets[key]}
        again = found
        for _ in range(200):
            desk.now += max(1, again.again)
            again = desk.ask(account.tickets[key].units, key)
            if again.verdict.granted:
                break
        assert again.verdict.granted


def test_first_come_first_served_while_they_stand_in_line() -> None:
    desk = Desk(Limit("x", 10, 1))
    assert desk.ask(10).verdict.granted
    assert not desk.ask(8, "large", patience=5_000).verdict.granted
    assert not desk.ask(1, "small", patience=5_000).verdict.granted
    desk.now += 1_010
    # There is room for three, and eight of it are kept for who came first.
    assert desk.ask(2, "between", patience=5_000).verdict.granted is False
    assert desk.ask(1, "small", patience=4_000).verdict.granted
    assert desk.ask(8, "large", patience=4_000).verdict.granted


def test_who_was_told_to_come_later_keeps_the_place_and_blocks_nobody_meanwhile() -> None:
    desk = Desk(Limit("x", 10, 60))
    assert desk.ask(5).verdict.granted
    desk.now += 30_000
    assert desk.ask(5).verdict.granted
    later = desk.ask(10, "later").verdict
    assert not later.granted
    assert 59 < later.wait < 61
    desk.now += 31_000
    # The first five are free again, long before "later" could use all ten.
    assert desk.ask(5).verdict.granted
    desk.now += 30_000
    assert not desk.ask(10, "later", patience=5_000).verdict.granted
    assert not desk.ask(1, "new", patience=5_000).verdict.granted
    desk.now += 30_600
    assert desk.ask(10, "later", patience=5_000).verdict.granted


def test_those_who_must_wait_are_told_times_that_the_limit_can_keep() -> None:
    desk = Desk(Limit("x", 10, 1))
    desk.ask(10)
    waits = [desk.ask(5, f"w{n:02}").verdict.wait for n in range(20)]
    assert waits == sorted(waits)
    assert 9 < waits[-1] < 11.5


def test_a_lost_answer_is_asked_for_again_and_taken_once() -> None:
    desk = Desk(Limit("x", at_once=2))
    assert desk.ask(1, "one").verdict.granted
    assert desk.ask(1, "one").verdict.granted
    assert desk.ask(1, "two").verdict.granted
    assert not desk.ask(1, "three").verdict.granted


def test_what_was_not_used_is_given_back() -> None:
    desk = Desk(Limit("x", 10, 60, burst=10, at_once=10))
    assert desk.ask(10, "one").verdict.granted
    decision.give_back(desk.accounts, desk.reservation(10, "one"), desk.now)
    assert desk.ask(10, "two").verdict.granted


def test_all_or_nothing() -> None:
    few, many = Limit("few", at_once=1), Limit("many", at_once=5)
    accounts: defaultdict[str, Account] = defaultdict(Account)

    def ask(key: str, *charges: Charge) -> bool:
        reservation = Reservation(key, charges)
        return decision.decide(accounts, Asked(reservation, "me"), START).verdict.granted

    assert ask("one", Charge(few, 1), Charge(many, 1))
    assert not ask("two", Charge(many, 2), Charge(few, 1))
    assert accounts["many"].state(many).held == 1
    decision.release(accounts, Reservation("one", [Charge(few, 1), Charge(many, 1)]), START)
    assert ask("two", Charge(many, 2), Charge(few, 1))
    assert [accounts[limit.name].state(limit).held for limit in (few, many)] == [1, 2]


def test_a_clock_that_is_set_back_stops_no_work_and_opens_no_gap() -> None:
    desk = Desk(Limit("x", 10, 60))
    desk.ask(10)
    desk.now -= 3_600_000
    again = desk.ask(1, "one").verdict
    assert not again.granted
    assert again.wait < 61
    desk.now += 61_000
    assert desk.ask(1, "one").verdict.granted


def test_a_dead_holders_number_is_free() -> None:
    desk = Desk(Limit("x", at_once=1))
    desk.ask(1)
    assert not desk.ask(1).verdict.granted
    desk.accounts["x"].bury({"somebody else"})
    desk.accounts["x"].tickets.clear()
    assert desk.ask(1).verdict.granted


def test_who_is_away_is_called_when_there_is_room_and_room_is_kept() -> None:
    desk = Desk(Limit("x", at_once=2))
    assert desk.ask(2, "all").verdict.granted
    desk.now += 60_000
    for key, units in [("first", 1), ("second", 1), ("third", 1)]:
        desk.now += 1
        # One that has taken a minute may take half a minute more.
        assert desk.ask(units, key).verdict.wait > 25
    desk.end("all")
    reservations = [desk.reservation(1, "all")]
    assert decision.call_next(desk.accounts, reservations) == ["first", "second"]
    assert decision.call_next(desk.accounts, reservations) == []
    desk.now += 1
    assert not desk.ask(1, "new").verdict.granted
    assert desk.ask(1, "second").verdict.granted
    assert desk.ask(1, "first").verdict.granted
    # Who was called and does not come keeps no room for ever.
    desk.end("first")
    assert decision.call_next(desk.accounts, reservations) == ["third"]
    desk.now += 10_001
    assert desk.ask(1, "new").verdict.granted


def test_who_fits_no_better_than_before_is_not_called() -> None:
    desk = Desk(Limit("x", 2, 3600, at_once=2))
    for key in ("a", "b", "c"):
        desk.ask(1, key)
    desk.end("a")
    assert decision.call_next(desk.accounts, [desk.reservation(1, "a")]) == []


def test_the_line_is_bounded() -> None:
    account = Account()
    for n in range(MOST_WAITING + 10):
        account.queue(str(n), Ticket(n, 1, 0, 0, 10))
    assert len(account.tickets) == MOST_WAITING
    account.queue("0", Ticket(0, 2, 0, 0, 10))
    assert account.tickets["0"].units == 2
