"""What is PostgreSQL's alone: processes that die, a database that goes, answers that are lost."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from limiters.worlds import START, World, postgres, standing, wanting
from stagepost.clock import SystemClock
from stagepost.errors import LimiterUnavailable, QueueFull, StoreRefused
from stagepost.limit import Limit
from stagepost.limiters.postgres import PostgresLimiter, desk, schema
from support.postgres import Server, server
from support.postgres_proxy import Fault, a_proxy
from support.waiting import PATIENCE, until
from support.world import new_id

ONE = Limit("gpu", at_once=1)
RATE = Limit("pages", 10, 60)


@pytest.fixture
async def world(postgres_server: Server) -> AsyncIterator[World]:
    async with postgres(postgres_server) as world:
        yield world


@pytest.fixture(scope="module")
def harmed() -> Iterator[Server]:
    """A server that these tests may stop."""
    with server() as harmed:
        yield harmed


async def other(world: World) -> PostgresLimiter:
    found = await world.another()
    assert isinstance(found, PostgresLimiter)
    return found


async def abandon(limiter: PostgresLimiter) -> None:
    """As a killed process does: it says nothing any more."""
    serving, limiter._serving = limiter._serving, None
    assert serving is not None
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


async def pass_lease(world: World, silent: PostgresLimiter) -> None:
    """A lease goes by in which all but one are heard."""
    await world.connection.execute("UPDATE test_clock SET now = now + 16000")
    await world.connection.execute(
        "UPDATE limiter_holders SET renewed_at = renewed_at + 16000, "
        "expires_at = expires_at + 16000 WHERE holder <> $1",
        silent._holder,
    )


async def test_what_a_dead_process_held_is_free_after_its_lease(world: World) -> None:
    dead = await other(world)
    assert (await world.ask(ONE, by=dead)).granted
    await abandon(dead)
    assert not (await world.ask(ONE, key="next")).granted
    await pass_lease(world, dead)
    assert (await world.state(ONE)).held == 0
    assert (await world.ask(ONE, key="next")).granted


async def test_what_a_closed_process_held_is_free_at_once(world: World) -> None:
    leaving = await other(world)
    assert (await world.ask(ONE, by=leaving)).granted
    waiting = await standing(world, world.ask(ONE, patience=1_000))
    await leaving.close()
    assert (await asyncio.wait_for(waiting, PATIENCE)).granted


async def test_after_a_time_in_which_nobody_was_heard_nobody_is_dead(world: World) -> None:
    """The database was away for an hour, or its clock has jumped."""
    living = await other(world)
    assert (await world.ask(ONE, by=living)).granted
    await world.connection.execute("UPDATE test_clock SET now = now + 3600000")
    assert not (await world.ask(ONE, key="next")).granted
    # Nor once one of them, or a new one, has been heard again.
    await other(world)
    assert not (await world.ask(ONE, key="next")).granted
    expires = await world.connection.fetchval(
        "SELECT expires_at FROM limiter_holders WHERE holder = $1", living._holder
    )
    assert expires == START + 3_600_000 + 15_000


async def test_one_that_was_stopped_in_the_middle_holds_nobody_up_for_long(world: World) -> None:
    assert (await world.ask(RATE)).granted
    stopped = await asyncpg.connect(
        **_of(world.connection), server_settings={"idle_in_transaction_session_timeout": "7s"}
    )
    await stopped.execute("BEGIN")
    await stopped.execute(
        f"SELECT FROM {await world.connection.fetchval('SHOW search_path')}.limiter_accounts "
        "FOR UPDATE"
    )
    with pytest.raises(LimiterUnavailable, match="does not answer"):
        await world.ask(RATE)
    stopped.terminate()
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                assert (await world.ask(RATE)).granted
            except LimiterUnavailable:
                continue
            break


def _of(connection: Any) -> dict[str, Any]:
    host, port = connection._addr
    params = connection._params
    return {
        "host": host,
        "port": port,
        "user": params.user,
        "password": params.password,
        "database": params.database,
    }


@pytest.mark.parametrize("how", ["stop", "crash"])
async def test_while_it_is_away_nothing_is_granted_and_then_all_goes_on(
    harmed: Server, how: str
) -> None:
    url = harmed.url_of(f"limiter_{new_id()[-12:]}")
    limiter = await PostgresLimiter.open(url, SystemClock())
    first, second = wanting(ONE, key="first"), wanting(ONE, key="second")
    assert (await limiter.reserve(first)).granted
    await asyncio.to_thread(getattr(harmed, how))
    with pytest.raises(LimiterUnavailable):
        await limiter.reserve(second)
    with pytest.raises(LimiterUnavailable):
        await limiter.ping()
    await asyncio.wait_for(limiter.settle(first), PATIENCE)
    await asyncio.to_thread(harmed.start)
    # What could not be told while it was away is told now.
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                verdict = await limiter.reserve(second, patience=PATIENCE)
            except LimiterUnavailable:
                continue
            break
    assert verdict.granted
    await limiter.close()


@pytest.mark.parametrize("answered", [True, False])
async def test_a_grant_whose_answer_was_lost_is_not_made_twice(
    postgres_server: Server, *, answered: bool
) -> None:
    parts = urlsplit(postgres_server.url)
    assert parts.hostname
    assert parts.port
    schema = f"limiter_{new_id()[-12:]}"
    async with a_proxy(parts.hostname, parts.port) as proxy:
        url = postgres_server.url.replace(f":{parts.port}/", f":{proxy.port}/")
        limiter = await PostgresLimiter.open(f"{url}?schema={schema}", SystemClock())
        two = Limit("gpu", at_once=2)
        await limiter.ping()
        proxy.fault = fault = Fault(answered=answered)
        verdict = await limiter.reserve(wanting(two, key="lost"))
        assert fault.done.is_set()
        assert verdict.granted
        assert (await limiter.state([two]))[0].held == 1
        await limiter.close()


async def test_the_queue_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "_MOST_WAITING", 2)
    limiter = world.limiter
    assert isinstance(limiter, PostgresLimiter)
    await limiter._using.acquire()
    asking = [asyncio.ensure_future(world.ask(RATE)) for _ in range(4)]
    await until(lambda: len(limiter._desk._questions) == 2 and any(a.done() for a in asking))
    limiter._using.release()
    answers = await asyncio.gather(*asking, return_exceptions=True)
    full = [answer for answer in answers if isinstance(answer, QueueFull)]
    assert len(full) in {1, 2}
    assert len(answers) - len(full) >= 2


async def test_an_address_without_a_server_is_refused_with_the_remedy() -> None:
    url = "postgresql://ada:secret@127.0.0.1:1/nowhere"
    with pytest.raises(StoreRefused, match="STAGEPOST_LIMITER") as refusal:
        await PostgresLimiter.open(url, SystemClock())
    assert "secret" not in str(refusal.value)


async def test_many_starts_at_once_make_the_tables_once(postgres_server: Server) -> None:
    url = postgres_server.url_of(f"limiter_{new_id()[-12:]}")
    opening = [PostgresLimiter.open(url, SystemClock()) for _ in range(6)]
    limiters = await asyncio.gather(*opening)
    for limiter in limiters:
        await limiter.ping()
        await limiter.close()


@pytest.mark.parametrize("ids", [{"a"}, {f"task-{n}/0" for n in range(100)}])
def test_who_is_rung_is_understood(ids: set[str]) -> None:
    assert schema.ids_in(schema.said_to(ids)) == ids


def test_too_many_to_be_named_are_all_rung() -> None:
    many = {f"{n:0100}" for n in range(100)}
    assert schema.said_to(many) == schema.EVERYBODY
    assert schema.ids_in(schema.EVERYBODY) is None
