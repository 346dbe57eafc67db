"""The limiter within one process; it goes by the monotonic clock."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Sequence

from stagepost.clock import Clock
from stagepost.limit import Limit
from stagepost.limiter import LimitState, Reservation, Verdict
from stagepost.limiters import decision
from stagepost.limiters.account import Account
from stagepost.limiters.decision import Asked, Decision
from stagepost.limiters.patience import Bells, Calls

_HOLDER = "this process"


class MemoryLimiter:
    """Books in memory; what was used before a restart is forgotten with it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._accounts: defaultdict[str, Account] = defaultdict(Account)
        self._bells = Bells()
        self._calls = Calls()

    async def reserve(self, reservation: Reservation, *, patience: float = 0.0) -> Verdict:
        """Take all charges, or say when."""

        async def ask(left: float) -> Decision:
            with self._lock:
                asked = Asked(reservation, _HOLDER, int(left * 1000))
                return decision.decide(self._accounts, asked, self._now())

        try:
            return await self._bells.patiently(ask, self._clock, patience)
        except asyncio.CancelledError:
            # Nothing is granted and then cancelled: nobody waits between the two.
            with self._lock:
                decision.leave(self._accounts, reservation)
            self._freed(reservation)
            raise

    async def settle(self, reservation: Reservation) -> None:
        """The work is done."""
        with self._lock:
            decision.release(self._accounts, reservation, self._now())
        self._freed(reservation)

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
                self._accounts[charge.limit.name].catch_up(charge.limit, self._now())
            called = decision.call_next(self._accounts, [reservation])
        self._bells.ring()
        self._calls.put(called)

    def _state(self, limit: Limit) -> LimitState:
        account = self._accounts[limit.name]
        account.catch_up(limit, self._now())
        return account.state(limit.name)

    def _now(self) -> int:
        return int(self._clock.monotonic() * 1000)
