"""Callers of a model, its provider and our books on one virtual clock.

Four processes, each with its own line of calls, ask the same books; a call takes a while to reach
the provider, and as long as models do.
"""

import heapq
import random
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import count

from stagepost.limit import Limit, Pace
from stagepost.limiter import Charge, Notice, Reservation
from stagepost.limiters import decision
from stagepost.limiters.account import Account
from stagepost.limiters.decision import Asked
from stagepost.llm.said import Said
from stagepost.llm.told import What, told_of
from stagepost.simulated.quota import Quota

START = 1_700_000_000_000
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@dataclass
class Call:
    """One that must be answered; `tries` are those that the provider was sent.

    Of what it asks for `spare` units are only there to be sure.
    """

    asked: int
    used: int
    takes: float
    spare: int = 0
    tries: int = 0


@dataclass
class Load:
    """What calls are like: tokens of the prompt and at most of the answer, ms that they take."""

    prompt: tuple[int, int] = (200, 800)
    answer: int = 500
    used: tuple[float, float] = (0.1, 0.9)
    """Of the answer's tokens."""
    takes: float = 3_000
    late: int = 150
    """ms that a call is on its way, at most."""
    stale: bool = False
    """Whether answers tell of the limits as they were when the call came."""
    safety: float = 0.0
    """By which part more tokens of the prompt are reserved than it has."""


@dataclass
class Simulation:
    """Runs for so many minutes of the provider's, in overload."""

    quota: Quota
    limits: dict[What, Limit]
    load: Load = field(default_factory=Load)
    seed: int = 1
    workers: int = 4
    now: int = START
    events: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    accounts: defaultdict[str, Account] = field(default_factory=lambda: defaultdict(Account))
    refused: list[int] = field(default_factory=list)
    billed: list[tuple[int, int]] = field(default_factory=list)
    begins: bool = True
    dead: set[int] = field(default_factory=set)
    answered: int = 0
    unanswered: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.numbers = count()
        self.again: list[deque[Call]] = [deque() for _ in range(self.workers)]
        for worker in range(self.workers):
            self.at(self.now + worker, partial(self.next_call, worker))

    def at(self, instant: int, action: Callable[[], None]) -> None:
        heapq.heappush(self.events, (instant, next(self.numbers), action))

    def run(self, minutes: float) -> None:
        until = START + int(minutes * 60_000)
        while self.events and self.events[0][0] < until:
            self.now, _, action = heapq.heappop(self.events)
            action()
        self.now = until

    def drain(self) -> None:
        """Begin no more calls, and wait for those that have begun."""
        self.begins = False
        while self.events:
            self.now, _, action = heapq.heappop(self.events)
            action()

    def kill(self, worker: int) -> None:
        """A process dies; its calls are with the provider, and nobody settles them."""
        self.dead.add(worker)
        living = {str(each) for each in range(self.workers) if each not in self.dead}
        for account in self.accounts.values():
            account.bury(living)

    # Our side

    def next_call(self, worker: int) -> None:
        if worker in self.dead:
            return
        if not self.begins and not self.again[worker]:
            return
        if self.again[worker]:
            call = self.again[worker].popleft()
        else:
            call = self.new_call()
            self.unanswered += 1
        self.ask(worker, call, f"c{next(self.numbers)}")

    def new_call(self) -> Call:
        prompt, answer = self.random.randint(*self.load.prompt), self.load.answer
        used = prompt + int(answer * self.random.uniform(*self.load.used))
        takes = min(60_000.0, self.load.takes * self.random.lognormvariate(0, 0.8))
        spare = int(prompt * self.load.safety)
        return Call(prompt + answer + spare, used, takes, spare)

    def reservation(self, call: Call, key: str) -> Reservation:
        units = {What.REQUESTS: 1, What.TOKENS: call.asked}
        return Reservation(key, [Charge(limit, units[what]) for what, limit in self.limits.items()])

    def ask(self, worker: int, call: Call, key: str) -> None:
        if worker in self.dead:
            return
        asked = Asked(self.reservation(call, key), str(worker), 5_000)
        found = decision.decide(self.accounts, asked, self.now)
        if not found.verdict.granted:
            again = max(1, found.again) + self.random.randint(0, 10)
            self.at(self.now + again, lambda: self.ask(worker, call, key))
            return
        late = self.random.randint(5, max(5, self.load.late))
        self.at(self.now + late, lambda: self.arrive(worker, call, key))
        self.at(self.now, lambda: self.next_call(worker))

    def end(self, call: Call, key: str, used: int | None, headers: dict[str, str]) -> None:
        notices = [
            Notice(self.limits[what], told.most, told.left, told.whole_in)
            for what, told in told_of(Said(200, headers), NOW).items()
            if what in self.limits
        ]
        tokens = self.limits.get(What.TOKENS)
        if used is not None and self.quota.charge == "reserved":
            used = call.asked - call.spare
        spent = {} if used is None or tokens is None else {tokens.name: used}
        decision.release(self.accounts, self.reservation(call, key), self.now, spent)
        self.heed(notices)

    def heed(self, notices: list[Notice]) -> None:
        for notice in notices:
            self.accounts[notice.limit.name].catch_up(notice.limit, self.now)
        decision.heed(self.accounts, notices)

    # The provider's

    def arrive(self, worker: int, call: Call, key: str) -> None:
        call.tries += 1
        counted = call.asked - call.spare
        refused = self.quota.admit(counted, self.seconds)
        if refused is None:
            headers = self.quota.headers(self.seconds) if self.load.stale else None
            self.at(self.now + int(call.takes), lambda: self.answer(worker, call, key, headers))
            if self.quota.charge == "reserved":
                self.billed.append((self.now, counted))
            else:
                self.billed.append((self.now, call.used))
            return
        self.refused.append(self.now)
        self.end(call, key, None, self.quota.headers(self.seconds))
        self.heed(
            [Notice(limit, slower=True, pause=refused.wait) for limit in self.limits.values()]
        )
        self.again[worker].append(call)
        if not self.begins:
            self.next_call(worker)

    def answer(
        self, worker: int, call: Call, key: str, headers: dict[str, str] | None = None
    ) -> None:
        self.quota.settle(call.asked - call.spare, call.used, self.seconds)
        self.answered += 1
        self.unanswered -= 1
        if worker not in self.dead:
            self.end(call, key, call.used, headers or self.quota.headers(self.seconds))

    # What has come of it

    @property
    def seconds(self) -> float:
        return (self.now - START) / 1000

    def lend(self, share: float) -> None:
        """The provider lends this share of what it has lent."""
        for meter in (self.quota.requests, self.quota.tokens):
            if meter is not None:
                meter.limit *= share

    def used(self, what: What, since: float, until: float) -> float:
        """Units that were billed from one minute to another, a minute."""
        begin, end = START + since * 60_000, START + until * 60_000
        billed = [tokens for at, tokens in self.billed if begin <= at < end]
        return (len(billed) if what is What.REQUESTS else sum(billed)) / (until - since)


def limits_of(requests: int, tokens: int, pace: Pace) -> dict[What, Limit]:
    return {
        What.REQUESTS: Limit("model:m:requests", requests, pace=pace),
        What.TOKENS: Limit("model:m:tokens", tokens, pace=pace),
    }
