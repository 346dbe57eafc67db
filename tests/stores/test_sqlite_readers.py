"""Readers: bounded in number and in time, and apart from the writer."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from stagepost.errors import StoreUnavailable
from stagepost.stores.sqlite import SqliteStore, readers
from stagepost.stores.sqlite.readers import Readers
from support.waiting import PATIENCE, until
from support.world import World, a_world, open_sqlite, refused

ENDLESS = """WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
    SELECT count(*) FROM numbers"""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


def readers_of(world: World) -> Readers:
    assert isinstance(world.store, SqliteStore)
    return world.store._readers


async def test_a_read_has_an_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_LIMIT", 0.05)
    async with asyncio.timeout(PATIENCE):
        refusal = await refused(
            readers_of(world).call(lambda db: db.execute(ENDLESS).get), StoreUnavailable
        )
    assert "too long" in str(refusal)
    # The reader goes on with the next one.
    task_id = await world.submit()
    assert await world.kinds(task_id) == ["queued"]


async def test_readers_and_the_writer_do_not_wait_for_each_other(world: World) -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()

    def read(db: apsw.Connection) -> int:
        before = db.execute("SELECT count(*) FROM tasks").get
        begun.release()
        assert go_on.wait(PATIENCE)
        assert db.execute("SELECT count(*) FROM tasks").get == before
        return int(before)

    reads = [asyncio.ensure_future(readers_of(world).call(read)) for _ in range(2)]
    await asyncio.to_thread(lambda: [begun.acquire(timeout=PATIENCE) for _ in reads])
    await asyncio.gather(*(world.submit() for _ in range(5)))
    go_on.set()
    assert await asyncio.gather(*reads) == [0, 0]
    assert (
        await readers_of(world).call(lambda db: db.execute("SELECT count(*) FROM tasks").get) == 5
    )


async def test_reads_that_wait_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_MOST_WAITING", 3)
    go_on = threading.Event()
    reads = [
        asyncio.ensure_future(readers_of(world).call(lambda _: go_on.wait(PATIENCE)))
        for _ in range(3)
    ]
    await asyncio.sleep(0)
    refusal = await refused(world.store.workers(), StoreUnavailable)
    assert "Too much is waiting" in str(refusal)
    go_on.set()
    assert await asyncio.gather(*reads) == [True] * 3
    await until(lambda: readers_of(world)._waiting == 0)
    assert await world.store.workers() == []


async def test_a_reader_cannot_write(world: World) -> None:
    await refused(
        readers_of(world).call(lambda db: db.execute("DELETE FROM tasks").fetchall()),
        StoreUnavailable,
    )


async def test_a_caller_that_is_cancelled_gives_its_place_back(world: World) -> None:
    go_on = threading.Event()
    reads = [
        asyncio.ensure_future(readers_of(world).call(lambda _: go_on.wait(PATIENCE)))
        for _ in range(6)
    ]
    await asyncio.sleep(0.01)
    for read in reads:
        read.cancel()
    go_on.set()
    await asyncio.gather(*reads, return_exceptions=True)
    await until(lambda: readers_of(world)._waiting == 0)
