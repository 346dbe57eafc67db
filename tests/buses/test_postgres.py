"""What a bus between processes adds: two of them on one server."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from buses.ear import Ear, bell, token
from stagepost import postgres_line
from stagepost.bus import TOKENS_KEPT, Committed
from stagepost.buses import postgres as bus_module
from stagepost.buses.postgres import PostgresBus, line, outgoing
from stagepost.buses.postgres.wire import Channels
from stagepost.errors import Retryable, StoreRefused
from support.postgres import Server
from support.postgres import server as own_server
from support.waiting import until

CHANNELS = Channels.of("stagepost")


@asynccontextmanager
async def two(url: str, **options: Any) -> AsyncIterator[tuple[PostgresBus, PostgresBus, Ear, Ear]]:
    """Two buses with a listener each, as in two processes."""
    here, there = await PostgresBus.open(url), await PostgresBus.open(url, **options)
    near, far = Ear(), Ear()
    here.listen(near)
    there.listen(far)
    try:
        yield here, there, near, far
    finally:
        await here.close()
        await there.close()


async def queried(url: str, sql: str, *args: object) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(sql, *args)
    finally:
        await connection.close()


async def backends(url: str, last_query: str) -> list[int]:
    """The server's processes of the bus connections whose last query has this in it."""
    rows = await queried(
        url,
        "SELECT pid FROM pg_stat_activity "
        "WHERE application_name = 'stagepost bus' AND query ILIKE $1",
        f"%{last_query}%",
    )
    return [row["pid"] for row in rows]


async def test_bells_reach_the_other_process_once_and_in_order(
    postgres_server: Server,
) -> None:
    async with two(postgres_server.url) as (here, there, near, far):
        for number in range(1_000):
            here.ring(bell(number)._replace(counts={("type", "lane", "queued"): 1}))
        await until(lambda: len(far.events) == 1_000)
        assert far.events == [f"task {number}" for number in range(1_000)]
        cancels = [task_id for news in far.bells for task_id in news.cancels]
        assert cancels == [f"cancel {number}" for number in range(1_000)]
        # What a process counts is its own.
        assert all(not news.counts for news in far.bells)
        assert len(far.bells) < 100, "they are merged"
        there.ring(bell(1_000))
        await until(lambda: len(near.events) == 1_001)
        # Its own came one for one, and did not come back.
        assert near.bells[0].counts
        assert near.events == [f"task {number}" for number in range(1_001)]


async def test_ids_that_ring_often_are_told_once_in_a_batch(
    postgres_server: Server,
) -> None:
    async with two(postgres_server.url) as (here, _, _, far):
        for _ in range(500):
            here.ring(Committed(["busy"]))
        here.ring(Committed(["last"]))
        await until(lambda: "last" in far.events)
        assert 1 <= far.events.count("busy") < 20


async def test_a_lone_bell_does_not_wait_for_others(postgres_server: Server) -> None:
    async with two(postgres_server.url) as (here, _, _, far):
        for number in range(20):
            here.ring(bell(number))
            await until(lambda n=number: len(far.events) == n + 1)  # type: ignore[misc]


async def test_text_is_heard_and_kept_in_the_other_process(postgres_server: Server) -> None:
    async with two(postgres_server.url) as (here, there, near, far):
        written = ""
        for piece in ("Der Käufer ", "haftet. ", "合同", "\U0001f680", "\x00 ", "x" * 30_000):
            here.emit("task", token(piece, len(written)))
            written += piece
            await asyncio.sleep(0.002)
        await until(lambda: far.text == written)
        assert near.text == written
        assert there.kept("task") == here.kept("task") == token(written)
        here.emit("task", token("new", 0, step="next"))
        await until(lambda: there.kept("task") == token("new", 0, step="next"))
        here.forget("task")
        await until(lambda: there.kept("task") is None)
        assert here.kept("task") is None


async def test_a_task_that_moves_takes_its_text_along(postgres_server: Server) -> None:
    async with two(postgres_server.url) as (here, there, _, _):
        here.emit("task", token("first try"))
        await until(lambda: there.kept("task") is not None)
        there.emit("task", token("second try", attempt=2))
        await until(lambda: here.kept("task") == token("second try", attempt=2))
        assert there.kept("task") == token("second try", attempt=2)


async def test_text_goes_only_where_it_is_wanted(postgres_server: Server) -> None:
    async with two(postgres_server.url, text=False) as (here, there, _, far):
        here.emit("task", token("x"))
        here.ring(bell(1))
        await until(lambda: far.bells)
        assert far.tokens == []
        assert there.kept("task") is None


async def test_much_text_at_once_is_cut_and_never_queued(postgres_server: Server) -> None:
    async with two(postgres_server.url) as (here, there, near, far):
        here.emit("small", token("kept before"))
        await until(lambda: there.kept("small") is not None)
        here.emit("task", token("x" * 3 * outgoing._MOST_TEXT))
        here.emit("task", token("y", 3 * outgoing._MOST_TEXT))
        await until(lambda: there.kept("small") is None)
        here.emit("task", token("z", 3 * outgoing._MOST_TEXT + 1))
        await until(lambda: far.text.endswith("z"))
        heard_here = sum(len(piece.text) for task_id, piece in near.tokens if task_id == "task")
        assert heard_here == 3 * outgoing._MOST_TEXT + 2
        kept = here.kept("task")
        assert kept is not None
        assert len(kept.text) == TOKENS_KEPT


async def test_engines_of_one_database_keep_apart_by_their_schemas(
    postgres_server: Server,
) -> None:
    async with (
        two(postgres_server.url) as (_, _, _, elsewhere),
        two(f"{postgres_server.url}?schema=another") as (here, _, _, far),
    ):
        here.ring(bell(1))
        await until(lambda: far.bells)
        assert elsewhere.bells == []


async def test_rings_from_many_threads_all_arrive(postgres_server: Server) -> None:
    async with two(postgres_server.url) as (here, _, _, far):

        def ring(name: str) -> None:
            for number in range(200):
                here.ring(Committed([f"{name} {number}"]))

        threads = [threading.Thread(target=ring, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        await until(lambda: len(far.events) == 800)
        assert len(set(far.events)) == 800
        for thread in threads:
            await asyncio.to_thread(thread.join)


# What is lost


async def test_a_listening_connection_that_is_lost_is_made_anew_and_everything_looked_at(
    postgres_server: Server,
) -> None:
    async with two(postgres_server.url) as (here, there, _, far):
        here.emit("task", token("x"))
        await until(lambda: there.kept("task") is not None)
        before = far.looks
        await queried(
            postgres_server.url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'",
        )
        await until(lambda: far.looks > before)
        assert there.kept("task") is None, "its forgetting may have been missed"
        here.ring(bell(1))
        await until(lambda: far.events == ["task 1"])


async def test_a_ringing_connection_that_is_lost_costs_the_others_a_look(
    postgres_server: Server,
) -> None:
    async with two(postgres_server.url) as (here, _, _, far):
        here.ring(bell(1))
        await until(lambda: far.events == ["task 1"])
        before = far.looks
        # It dies while a NOTIFY is on its way: whether that one was done nobody knows.
        for pid in await backends(postgres_server.url, "pg_notify"):
            os.kill(pid, signal.SIGSTOP)
            here.ring(bell(2))
            await until(lambda: here._outgoing.empty)
            await queried(postgres_server.url, "SELECT pg_terminate_backend($1)", pid)
            os.kill(pid, signal.SIGCONT)
        await until(lambda: far.looks > before)
        here.ring(bell(3))
        await until(lambda: "task 3" in far.events)


async def test_a_server_that_falls_silent_is_noticed(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_module, "_PROBE", 0.1)
    for module in (line, postgres_line):
        monkeypatch.setattr(module, "PATIENCE", 0.3)
    async with two(postgres_server.url) as (here, _, _, far):
        before = far.looks
        while len(stopped := await backends(postgres_server.url, "SELECT 1")) < 2:  # noqa: ASYNC110  # the server has no event of ours
            await asyncio.sleep(0.01)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            await until(lambda: far.looks > before)
            here.ring(bell(1))
            await until(lambda: far.events == ["task 1"])
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)


async def test_a_server_that_is_away_holds_nobody_up_and_fills_no_memory() -> None:
    with own_server() as server:
        async with two(server.url) as (here, there, near, far):
            await here.ping()
            await asyncio.to_thread(server.stop)
            with pytest.raises(Retryable, match="no connection"):
                await here.ping()
            for number in range(100_000):
                here.ring(Committed([f"task {number}"]))
                here.emit(f"task {number % 100}", token("some text", number * 9))
                here.forget(f"task {number % 100}")
                if number % 1_000 == 0:
                    await asyncio.sleep(0)
            waiting = here._outgoing
            assert len(waiting._events) <= outgoing._MOST_IDS
            assert len(waiting._said) <= outgoing._MOST_PIECES
            await until(lambda: len(near.events) == 100_000)
            await asyncio.to_thread(server.start)
            # Everybody is connected again, and here has told that there was more.
            await until(lambda: near.looks and far.looks and here._outgoing.empty)
            await here.ping()
            here.ring(bell(-1))
            await until(lambda: far.events[-1:] == ["task -1"])
            there.emit("task", token("x"))
            await until(lambda: here.kept("task") == token("x"))


async def test_a_bus_that_is_closed_tells_its_last_words_and_harms_nobody(
    postgres_server: Server,
) -> None:
    async with two(postgres_server.url) as (here, _, near, far):
        for number in range(100):
            here.ring(bell(number))
        await here.close()
        await until(lambda: len(far.events) == 100)
        here.ring(bell(100))
        here.emit("task", token("x"))
        await until(lambda: len(near.events) == 101)


def test_ringing_after_the_loop_has_closed_raises_nothing(postgres_server: Server) -> None:
    async def opened() -> PostgresBus:
        bus = await PostgresBus.open(postgres_server.url)
        await bus.close()
        return bus

    bus = asyncio.run(opened())
    bus.ring(bell(1))
    bus.emit("task", token("x"))
    bus.forget("task")


async def test_what_others_say_on_the_channels_is_ignored(postgres_server: Server) -> None:
    async with two(postgres_server.url) as (here, there, _, far):
        before = far.looks
        for payload in ("", "x", "[]", "{}", '{"from":1,"events":3}', '{"from":"a","said":[[]]}'):
            for channel in (CHANNELS.bells, CHANNELS.texts):
                await queried(postgres_server.url, "SELECT pg_notify($1, $2)", channel, payload)
        later = json.dumps({"from": "later", "events": ["known"], "unheard-of": [1]})
        await queried(postgres_server.url, "SELECT pg_notify($1, $2)", CHANNELS.bells, later)
        here.ring(bell(1))
        await until(lambda: far.events == ["known", "task 1"])
        assert far.looks == before
        assert there.kept("task") is None


# Opening


def changed(url: str, **parts: str) -> str:
    for old, new in parts.items():
        url = url.replace({"user": "//stagepost:", "database": "/stagepost"}[old], new)
    return url


OPENINGS: dict[str, tuple[Callable[[str], str], str]] = {
    "absent": (lambda _: "postgresql://a:secret@127.0.0.1:9/b", "can't reach PostgreSQL"),
    "user": (lambda url: changed(url, user="//nobody:"), "user or password"),
    "database": (lambda url: url + "-missing", "database does not exist"),
    "nonsense": (lambda _: "postgresql://a:secret@b:c:d/e", "is not understood"),
}


@pytest.mark.parametrize("opening", OPENINGS)
async def test_what_can_not_be_opened_is_refused_with_a_remedy(
    opening: str, postgres_server: Server
) -> None:
    url, words = OPENINGS[opening][0](postgres_server.url), OPENINGS[opening][1]
    with pytest.raises(StoreRefused, match="STAGEPOST_BUS") as refused:
        await PostgresBus.open(url)
    assert words in str(refused.value)
    password = url.partition("@")[0].rpartition(":")[2]
    assert password not in str(refused.value)


async def test_an_address_that_passes_no_notifications_is_refused(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(_bus: PostgresBus, _connection: object) -> None:
        """As a pooler: LISTEN is answered, and ends with its transaction."""

    monkeypatch.setattr(PostgresBus, "_listen", deaf)
    monkeypatch.setattr(bus_module, "PATIENCE", 0.2)
    with pytest.raises(StoreRefused, match="passes no notifications"):
        await PostgresBus.open(postgres_server.url)
    await _gone(lambda: backends(postgres_server.url, "pg_notify"))


async def _gone(found: Callable[[], Awaitable[list[int]]]) -> None:
    async with asyncio.timeout(10):
        while await found():  # noqa: ASYNC110  # the server has no event of ours
            await asyncio.sleep(0.01)


async def test_a_standby_is_refused() -> None:
    with own_server() as server:
        server.make_standby()
        with pytest.raises(StoreRefused, match="a standby does not"):
            await PostgresBus.open(server.url)
