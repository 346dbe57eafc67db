"""The limiter in a PostgreSQL database, which many processes share.

One connection a process. What gathers while a transaction is on its way is answered by the next, so
one lock of a limit's row serves many questions. The database's clock is the limiter's.
"""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, Self, TypeVar

from uuid_utils import uuid7

from stagepost.clock import Clock
from stagepost.errors import LimiterUnavailable
from stagepost.limit import Limit
from stagepost.limiter import LimitState, Notice, Reservation, Verdict
from stagepost.limiters.account import Account
from stagepost.limiters.decision import Decision
from stagepost.limiters.patience import Bells, Calls
from stagepost.limiters.postgres import schema
from stagepost.limiters.postgres.desk import Desk
from stagepost.limiters.postgres.line import Address, keep_connected
from stagepost.postgres_line import LOST, PATIENCE, Connection, answered

_log = logging.getLogger("stagepost.limiter")

Answer = TypeVar("Answer")

_AWAY: Final = "The limiter's database does not answer; nothing is granted until it is back."
_CLOSED: Final = "The limiter is closed."


async def look_at(url: str, setting: str) -> None:
    """See that the limiter's database answers, and change nothing. Raises StoreRefused."""
    await Address.parse(url, setting).look()


class PostgresLimiter:
    """Made by `open`, in whose event loop it lives; its verbs may be called from any."""

    def __init__(self, address: Address, clock: Clock, lease: float) -> None:
        self._address = address
        self._clock = clock
        self._lease = lease
        self._home = asyncio.get_running_loop()
        self._holder = str(uuid7())
        digest = hashlib.sha256(address.schema.encode()).hexdigest()[:16]
        self._channel = f"stagepost_limiter_{digest}"
        self._bells = Bells()
        self._calls = Calls()
        self._desk = Desk(self._holder, self._channel, lease, self._calls.put)
        self._connection: Connection | None = None
        self._using = asyncio.Lock()
        self._serving: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, url: str, clock: Clock, *, lease: float = 15.0, setting: str = "STAGEPOST_LIMITER"
    ) -> Self:
        """Connect, and make the tables where there are none.

        What this process holds at once is free again `lease` seconds after its last sign of life.
        Raises StoreRefused with the remedy, which names the setting that the address comes from.
        """
        limiter = cls(Address.parse(url, setting), clock, lease)
        first = await limiter._address.first(limiter._begin)
        limiter._connection = first
        work = keep_connected(limiter._address, first, limiter._serve)
        limiter._serving = asyncio.create_task(work, name="limiter")
        return limiter

    async def reserve(self, reservation: Reservation, *, patience: float = 0.0) -> Verdict:
        """Take all charges, or say when."""

        async def ask(left: float) -> Decision:
            return await self._at_home(lambda: self._desk.ask(reservation, int(left * 1000)))

        try:
            return await self._bells.patiently(reservation.id, ask, self._clock, patience)
        except asyncio.CancelledError:
            self._call_home(self._desk.withdraw, reservation)
            raise

    async def settle(self, reservation: Reservation, used: Mapping[str, int] | None = None) -> None:
        """The work is done."""
        await self._at_home(lambda: self._settle(reservation, used))

    async def heed(self, notices: Sequence[Notice]) -> None:
        """Learn what was told."""
        await self._at_home(lambda: self._heed(notices))

    async def forget(self, limits: Sequence[Limit]) -> None:
        """Close their books."""
        names = [limit.name for limit in limits]
        forget = (schema.FORGET, names)
        await self._at_home(lambda: self._asking(lambda it: it.execute(*forget)))

    async def called(self) -> Sequence[str]:
        """Who fits now, and is away."""
        return await self._calls.take()

    async def state(self, limits: Sequence[Limit]) -> Sequence[LimitState]:
        """How much is used."""
        return await self._at_home(lambda: self._asking(lambda it: self._state(it, limits)))

    async def ping(self) -> None:
        """Ask the database."""
        await self._at_home(lambda: self._asking(lambda it: it.execute("SELECT 1")))

    async def close(self) -> None:
        """Let go of all that is held, as far as the database can be told, and of the connection."""
        serving, self._serving = self._serving, None
        if serving is None:
            return
        with contextlib.suppress(LimiterUnavailable):
            await self._asking(self._leave)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    # From any event loop

    async def _at_home(self, call: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        if asyncio.get_running_loop() is self._home:
            return await call()
        try:
            future = asyncio.run_coroutine_threadsafe(call(), self._home)
        except RuntimeError as error:
            raise LimiterUnavailable(_CLOSED) from error
        return await asyncio.wrap_future(future)

    def _call_home(self, call: Callable[..., None], *args: Any) -> None:
        # RuntimeError: its event loop has been closed, and all that was held is free.
        with contextlib.suppress(RuntimeError):
            self._home.call_soon_threadsafe(call, *args)

    # At home

    async def _settle(self, reservation: Reservation, used: Mapping[str, int] | None) -> None:
        self._desk.end(reservation, used)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self._connection is not None and self._desk.is_ending(reservation):
                    await self._desk.stirred()

    async def _heed(self, notices: Sequence[Notice]) -> None:
        until = self._desk.heed(notices)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self._connection is not None and self._desk.heeded < until:
                    await self._desk.stirred()

    async def _asking(self, call: Callable[[Connection], Coroutine[Any, Any, Answer]]) -> Answer:
        try:
            async with asyncio.timeout(PATIENCE), self._using:
                if self._connection is None:
                    raise LimiterUnavailable(_AWAY)
                return await answered(self._connection, call(self._connection))
        except LOST as error:
            raise LimiterUnavailable(_AWAY) from error

    async def _state(self, connection: Connection, limits: Sequence[Limit]) -> Sequence[LimitState]:
        rows = await connection.fetch(schema.READ, [limit.name for limit in limits])
        now, living = await connection.fetchrow(schema.MOMENT, int(self._lease * 500))
        accounts = {name: Account.load(state) for name, state in rows}
        states = []
        for limit in limits:
            account = accounts.get(limit.name, Account())
            account.bury({*living, self._holder})
            account.catch_up(limit, now)
            states.append(account.state(limit))
        return states

    async def _serve(self, connection: Connection) -> None:
        if connection is not self._connection:
            await answered(connection, self._begin(connection))
            self._connection = connection
        try:
            while True:
                await self._answer(connection, self._home.time() + self._lease / 3)
                async with self._using:
                    await answered(connection, self._renew(connection))
        finally:
            self._connection = None
            self._desk.stir()

    async def _answer(self, connection: Connection, until: float) -> None:
        while (left := until - self._home.time()) > 0:
            if await self._desk.something_waits(left):
                async with self._using:
                    await answered(connection, self._desk.answer(connection))

    async def _begin(self, connection: Connection) -> None:
        await connection.add_listener(self._channel, self._rung)
        await self._renew(connection)
        # What was rung since the last connection was not heard.
        self._bells.ring()

    def _rung(self, *heard: Any) -> None:
        # (connection, process, channel, what was said)
        self._bells.ring(schema.ids_in(heard[-1]))

    async def _renew(self, connection: Connection) -> None:
        lease = int(self._lease * 1000)
        async with connection.transaction():
            await connection.execute(schema.LOCKED)
            await connection.execute(schema.SPARE, lease)
            await connection.execute(schema.BURY, lease, self._holder)
            await connection.execute(schema.RENEW, lease, self._holder)

    async def _leave(self, connection: Connection) -> None:
        await connection.execute(schema.LEAVE, self._holder)
        await connection.execute(schema.RING, self._channel, schema.EVERYBODY)
