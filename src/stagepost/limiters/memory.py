"""The limiter within one process; it goes by the monotonic clock.

Budgets turn by the wall's.
"""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from stagepost.clock import Clock
from stagepost.limit import Limit
from stagepost.limiter import LimitState, Notice, Reservation, Verdict
from stagepost.limiters import decision
from stagepost.limiters.account import Account
from stagepost.limiters.decision import Asked, Decision
from stagepost.limiters.patience import Bells, Calls

_HOLDER = "this process"
_SWEEP: Final = 1_000
"""Accounts that are looked at for blank ones whenever there are as many more."""


class MemoryLimiter:
    """Books in memory; what was used before a restart is forgotten with it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._accounts: defaultdict[str, Account] = defaultdict(Account)
        self._sweep_at = _SWEEP
        self._bells = Bells()
        self._calls = Calls()

    async def reserve(self, reservation: Reservation, *, patience: float = 0.0) -> Verdict:
        """Take all charges, or say when."""

        async def ask(left: float) -> Decision:
            with self._lock:
                self._sweep()
                asked = Asked(reservation, _HOLDER, int(left * 1000))
                return decision.decide(self._accounts, asked, self._now(), self._clock.now())

        try:
            return await self._bells.patiently(reservation.id, ask, self._clock, patience)
        except asyncio.CancelledError:
            # Nothing is granted and then cancelled: nobody waits between the two.
            with self._lock:
                decision.leave(self._accounts, reservation)
            self._freed(reservation)
            raise

    async def settle(self, reservation: Reservation, used: Mapping[str, int] | None = None) -> None:
        """The work is done."""
        with self._lock:
            wall = self._clock.now()
            decision.release(self._accounts, reservation, self._now(), used, wall)
        self._freed(reservation)

    async def heed(self, notices: Sequence[Notice]) -> None:
        """Learn what was told."""
        with self._lock:
            for notice in notices:
                self._caught_up(notice.limit)
            decision.heed(self._accounts, notices)

    async def forget(self, limits: Sequence[Limit]) -> None:
        """Close their books."""
        with self._lock:
            for limit in limits:
                self._accounts.pop(limit.name, None)

    async def called(self) -> Sequence[str]:
        """Who fits now, and is away."""
        return await self._calls.take()

    async def state(self, limits: Sequence[Limit]) -> Sequence[LimitState]:
        """How much is used."""
        with self._lock:
            return [self._state(limit) for limit in limits]

    async def ping(self) -> None:
        """It is always there."""

    async def close(self) -> None:
        """It goes with the process."""

    def _freed(self, reservation: Reservation) -> None:
        with self._lock:
            for charge in reservation.charges:
                self._caught_up(charge.limit)
            called = decision.call_next(self._accounts, [reservation])
            ready = decision.ready(self._accounts, [reservation])
        self._bells.ring(ready)
        self._calls.put(called)

    def _state(self, limit: Limit) -> LimitState:
        return self._caught_up(limit).state(limit)

    def _caught_up(self, limit: Limit) -> Account:
        account = self._accounts[limit.name]
        account.catch_up(limit, self._now(), self._clock.now())
        return account

    def _sweep(self) -> None:
        if len(self._accounts) < self._sweep_at:
            return
        wall = self._clock.now()
        for name in [name for name, each in self._accounts.items() if each.is_blank(wall)]:
            del self._accounts[name]
        self._sweep_at = len(self._accounts) + _SWEEP

    def _now(self) -> int:
        return int(self._clock.monotonic() * 1000)
