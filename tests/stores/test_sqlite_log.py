"""The write-ahead log stays short, and nobody waits for it to be shortened."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from stagepost.records import Filter
from stagepost.stores.sqlite import SqliteStore, checkpointer
from stagepost.stores.sqlite.folder import DATABASE
from support.tasks import succeeded
from support.waiting import until
from support.world import EVERYBODY, World, a_world, open_sqlite

PAGE = 4096 + 24
START, RESET = 50, 400


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(checkpointer, "_START", START)
    monkeypatch.setattr(checkpointer, "_RESET", RESET)
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


def log_pages(world: World) -> int:
    return (world.folder / f"{DATABASE}-wal").stat().st_size // PAGE


async def work(world: World, rounds: int) -> int:
    """Write on and on; answers the longest log seen."""
    longest = 0
    for _ in range(rounds):
        await asyncio.gather(*(world.submit() for _ in range(20)))
        for claimed in await world.claim(20):
            await world.store.settle(claimed.lease, succeeded())
        longest = max(longest, log_pages(world))
    return longest


async def test_the_log_is_bounded_under_sustained_load(world: World) -> None:
    longest = await work(world, 40)
    # A batch may add to it after the length was seen.
    assert longest < RESET + 200
    written = (world.folder / DATABASE).stat().st_size // 4096
    assert written > 100


async def test_the_log_is_bounded_while_readers_come_and_go(world: World) -> None:
    ended = False

    async def read() -> int:
        reads = 0
        while not ended:
            await world.store.find(EVERYBODY, Filter(limit=200))
            reads += 1
        return reads

    readers = [asyncio.ensure_future(read()) for _ in range(3)]
    longest = await work(world, 40)
    ended = True
    assert all(reads > 10 for reads in await asyncio.gather(*readers))
    # A moment at which none reads comes soon, if not at once.
    assert longest < 4 * RESET


def count_calls(watcher: checkpointer.Checkpointer, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often the writer itself tried to start the log anew, and at which length."""
    tries: list[int] = []
    reset = watcher._reset

    def counted(connection: apsw.Connection) -> None:
        tries.append(watcher._pages)
        reset(connection)

    monkeypatch.setattr(watcher, "_reset", counted)
    return tries


async def test_a_reader_that_stays_holds_up_no_commit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log can't be started anew then; the writer asks seldom, and never for long."""
    assert isinstance(world.store, SqliteStore)
    watcher = world.store._checkpointer
    tries = count_calls(watcher, monkeypatch)
    reader = apsw.Connection(str(world.folder / DATABASE), flags=apsw.SQLITE_OPEN_READONLY)
    await world.submit()
    reader.execute("BEGIN; SELECT count(*) FROM tasks").fetchall()
    longest = await work(world, 40)
    assert longest > 2 * RESET
    assert 1 <= len(tries) <= longest // (RESET // 2)
    reader.execute("COMMIT")
    reader.close()
    # Once it has gone the log is started anew, and reused from its front.
    await until(lambda: not watcher._wanted.is_set())
    before = log_pages(world)
    await work(world, 40)
    assert log_pages(world) <= before + RESET


async def test_the_writer_is_patient_for_a_moment_only() -> None:
    assert checkpointer._PATIENCE <= 200


async def test_moving_the_log_loses_nothing(world: World) -> None:
    await work(world, 30)
    tasks = await world.store.find(EVERYBODY, Filter(limit=10_000))
    assert len(tasks) == 600
    await world.reopen()
    assert await world.store.find(EVERYBODY, Filter(limit=10_000)) == tasks


async def test_closing_in_the_middle_of_a_checkpoint_ends_its_thread(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(world.store, SqliteStore)
    watcher = world.store._checkpointer
    begun, may_end = threading.Event(), threading.Event()

    def checkpoint(_connection: apsw.Connection, _mode: str) -> None:
        begun.set()
        assert may_end.wait(60)

    monkeypatch.setattr(watcher, "_checkpoint", checkpoint)
    watcher._wanted.set()
    await asyncio.to_thread(begun.wait, 60)
    closing = asyncio.create_task(world.store.close(), name="close")
    await until(lambda: watcher._closing)
    may_end.set()
    await closing
    assert not watcher._thread.is_alive()
