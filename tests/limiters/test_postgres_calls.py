"""Calls of models where answers of the database are lost, or the process that made them dies."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import asyncpg
import pytest

from limiters.worlds import postgres
from stagepost.clock import SystemClock
from stagepost.errors import LimiterUnavailable
from stagepost.limit import Calendar, Limit, Pace
from stagepost.limiter import Charge, Notice, Reservation, pauses
from stagepost.limiters.postgres import PostgresLimiter, desk
from support.postgres import Server
from support.postgres_proxy import Fault, PostgresProxy, a_proxy
from support.waiting import PATIENCE
from support.world import new_id

REQUESTS = Limit("model:a/b:requests", 60, pace=Pace(), at_once=2)
TOKENS = Limit("model:a/b:tokens", 60_000, pace=Pace(charge="actual"))
TASK = Limit("budget:task/7", 500_000, calendar=Calendar.EVER)
ALL = [REQUESTS, TOKENS, TASK]


def call(key: str) -> Reservation:
    return Reservation(key, [Charge(REQUESTS, 1), Charge(TOKENS, 1_000), Charge(TASK, 1_000)])


async def used(limiter: PostgresLimiter) -> list[int]:
    return [state.used for state in await limiter.state(ALL)]


@asynccontextmanager
async def proxied(server: Server) -> AsyncIterator[tuple[PostgresLimiter, PostgresProxy]]:
    parts = urlsplit(server.url)
    assert parts.hostname
    assert parts.port
    async with a_proxy(parts.hostname, parts.port) as proxy:
        url = server.url.replace(f":{parts.port}/", f":{proxy.port}/")
        schema = f"limiter_{new_id()[-12:]}"
        limiter = await PostgresLimiter.open(f"{url}?schema={schema}", SystemClock())
        await limiter.ping()
        yield limiter, proxy
        await limiter.close()


@pytest.mark.parametrize("answered", [True, False])
async def test_a_settle_whose_answer_was_lost_is_made_once(
    postgres_server: Server, *, answered: bool
) -> None:
    async with proxied(postgres_server) as (limiter, proxy):
        assert (await limiter.reserve(call("a"))).granted
        proxy.fault = fault = Fault(answered=answered)
        await asyncio.wait_for(
            limiter.settle(call("a"), {TOKENS.name: 300, TASK.name: 200}), PATIENCE
        )
        async with asyncio.timeout(PATIENCE):
            await fault.done.wait()
            while await _or_away(limiter) != [1, 300, 200]:  # noqa: ASYNC110  # told again
                await asyncio.sleep(0.02)
        await limiter.settle(call("a"), {TOKENS.name: 1, TASK.name: 1})
        assert await used(limiter) == [1, 300, 200]


@pytest.mark.parametrize("answered", [True, False])
async def test_a_grant_whose_answer_was_lost_is_spent_once(
    postgres_server: Server, *, answered: bool
) -> None:
    async with proxied(postgres_server) as (limiter, proxy):
        proxy.fault = fault = Fault(answered=answered)
        assert (await limiter.reserve(call("a"))).granted
        assert fault.done.is_set()
        assert await used(limiter) == [1, 1_000, 1_000]


async def _or_away(limiter: PostgresLimiter) -> list[int]:
    try:
        return await used(limiter)
    except LimiterUnavailable:
        return []


async def test_what_a_dead_process_reserved_is_spent_and_what_it_held_is_free(
    postgres_server: Server,
) -> None:
    async with postgres(postgres_server) as world:
        leaving = await world.another()
        assert (await leaving.reserve(call("a"))).granted
        await leaving.close()
        await world.limiter.settle(call("a"), {TOKENS.name: 0, TASK.name: 0})
        states = await world.limiter.state(ALL)
        assert [state.used for state in states] == [1, 1_000, 1_000]
        assert states[0].held == 0


async def test_who_got_no_answer_makes_no_call_and_has_spent_nothing(
    postgres_server: Server,
) -> None:
    async with postgres(postgres_server) as world:
        limiter = world.limiter
        assert isinstance(limiter, PostgresLimiter)
        assert (await limiter.reserve(call("a"))).granted
        await world.move(10)
        schema = await world.connection.fetchval("SELECT current_schema()")
        stuck = await asyncpg.connect(postgres_server.url)
        await stuck.execute("BEGIN")
        await stuck.execute(f"SELECT FROM {schema}.limiter_accounts FOR UPDATE")
        with pytest.raises(LimiterUnavailable):
            await limiter.reserve(call("b"))
        await stuck.close()
        async with asyncio.timeout(PATIENCE):
            while await _or_away(limiter) != [1, 1_000, 1_000]:  # noqa: ASYNC110  # told again
                await asyncio.sleep(0.02)
            # Of the two at once only "a" holds one.
            assert (await limiter.reserve(call("c"))).granted
        assert await used(limiter) == [2, 2_000, 2_000]


async def test_what_was_told_while_it_was_away_is_told_later_the_newest_of_it(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "_MOST_NOTICES", 3)
    async with postgres(postgres_server) as world:
        limiter = world.limiter
        assert isinstance(limiter, PostgresLimiter)
        await limiter._using.acquire()
        telling = [
            asyncio.ensure_future(limiter.heed([Notice(TOKENS, most=9_000 - n, pause=100.0 / n)]))
            for n in (1, 2, 3, 50)
        ]
        telling.append(asyncio.ensure_future(limiter.heed(pauses([TOKENS], 5.0))))
        await asyncio.sleep(0.05)
        limiter._using.release()
        await asyncio.wait_for(asyncio.gather(*telling), PATIENCE)
        (state,) = await limiter.state([TOKENS])
        # Of the pauses of 100, 50, 33, 2 and 5 s the last three were kept.
        assert state.most == 8_950
        assert state.paused == pytest.approx(33.3, abs=0.1)
