"""A limiter whose clock is in the test's hand, and short words for what a test does with it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from stagepost.clock import Clock
from stagepost.limit import Limit
from stagepost.limiter import Charge, Limiter, LimitState, Reservation, Verdict
from stagepost.limiters.memory import MemoryLimiter
from stagepost.limiters.postgres import PostgresLimiter
from stagepost.testing import FakeClock
from support.postgres import Server
from support.world import new_id

START = 1_700_000_000_000

_BY_HAND = f"""
CREATE TABLE test_clock (now bigint);
INSERT INTO test_clock VALUES ({START});
CREATE OR REPLACE FUNCTION limiter_now() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT now FROM test_clock'
"""


@dataclass
class World:
    """One limiter and its clock; `another` opens one more on the same books."""

    limiter: Limiter
    clock: FakeClock
    another: Callable[[], Awaitable[Limiter]]
    move: Callable[[float], Awaitable[None]]
    connection: Any = None
    others: list[Limiter] = field(default_factory=list)

    async def ask(
        self,
        limit: Limit,
        units: int = 1,
        key: str = "",
        patience: float = 0.0,
        by: Limiter | None = None,
    ) -> Verdict:
        """Ask for units of one limit."""
        wanted = wanting(limit, units, key)
        return await (by or self.limiter).reserve(wanted, patience=patience)

    async def end(self, limit: Limit, key: str, by: Limiter | None = None) -> None:
        """The work under a key is done."""
        await (by or self.limiter).settle(wanting(limit, 1, key))

    async def state(self, limit: Limit) -> LimitState:
        """How much is used."""
        (state,) = await self.limiter.state([limit])
        return state

    async def settled(self, task: "asyncio.Task[Verdict]") -> Verdict:
        """The verdict of one that waits in place, while the time goes on in small steps."""
        for _ in range(2_000):
            if task.done():
                break
            await self.move(0.05)
            await asyncio.sleep(0.002)
        return await asyncio.wait_for(task, 10)


def wanting(limit: Limit, units: int = 1, key: str = "") -> Reservation:
    """A reservation of one charge."""
    return Reservation(key or new_id(), [Charge(limit, units)])


async def standing(world: World, call: Awaitable[Verdict]) -> "asyncio.Task[Verdict]":
    """One that waits in place, after it has had time to get its place."""
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0.1)
    assert not task.done()
    return task


@asynccontextmanager
async def memory() -> AsyncIterator[World]:
    """Within this process."""
    clock = FakeClock()
    limiter = MemoryLimiter(clock)

    async def another() -> Limiter:
        return limiter

    async def move(seconds: float) -> None:
        clock.advance(seconds)
        await asyncio.sleep(0)

    yield World(limiter, clock, another, move)
    await limiter.close()


@asynccontextmanager
async def postgres(server: Server, lease: float = 15.0) -> AsyncIterator[World]:
    """On a real PostgreSQL, whose `limiter_now` reads what the test says."""
    schema = f"limiter_{new_id()[-12:]}"
    url, clock = server.url_of(schema), FakeClock()
    limiter = await PostgresLimiter.open(url, clock, lease=lease)
    connection = await asyncpg.connect(server.url, server_settings={"search_path": schema})
    await connection.execute(_BY_HAND)
    # By the hand's time from the first on.
    await connection.execute(f"UPDATE limiter_holders SET renewed_at = {START}")
    await connection.execute(f"UPDATE limiter_holders SET expires_at = {START} + 15000")
    world = World(limiter, clock, lambda: _another(world, url, clock, lease), move=_still)

    async def move(seconds: float) -> None:
        moved = round(seconds * 1000)
        await connection.execute("UPDATE test_clock SET now = now + $1", moved)
        # As their heartbeats would in the meantime.
        await connection.execute(
            "UPDATE limiter_holders SET renewed_at = renewed_at + $1, expires_at = expires_at + $1",
            moved,
        )
        clock.advance(seconds)

    world.move = move
    world.connection = connection
    try:
        yield world
    finally:
        for other in [limiter, *world.others]:
            await other.close()
        await connection.execute(f"DROP SCHEMA {schema} CASCADE")
        with suppress(asyncpg.PostgresError, OSError):
            await connection.close()


async def _another(world: World, url: str, clock: Clock, lease: float) -> Limiter:
    limiter = await PostgresLimiter.open(url, clock, lease=lease)
    world.others.append(limiter)
    return limiter


async def _still(_seconds: float) -> None:
    raise AssertionError("the world is not made yet")
