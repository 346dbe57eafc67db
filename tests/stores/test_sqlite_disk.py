"""A full or failing disk: said in one sentence, and nothing that was answered is lost."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stagepost.errors import StoreBroken, StoreRefused, StoreUnavailable
from stagepost.records import Filter
from stagepost.stores.sqlite import SqliteStore, checkpointer
from stagepost.task import Status
from stagepost.testing import FakeClock
from support.faulty_vfs import Fault, FaultyDisk, disk_full, faulty_disk, sync_failed, write_failed
from support.leftovers import nothing_left
from support.small_disk import SmallDisk, small_disk
from support.tasks import succeeded
from support.waiting import PATIENCE, until
from support.world import (
    EVERYBODY,
    World,
    a_world,
    checkpoint,
    open_sqlite,
    refused,
    standing,
)

BIG = '"' + "x" * 15_000 + '"'
ALL = Filter(limit=10_000)
GONE = "has been moved or removed"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


@pytest.fixture
async def world(disk: SmallDisk) -> AsyncIterator[World]:
    async with a_world(open_sqlite, disk.folder / "data") as world:
        yield world


async def submit_until_full(world: World, message: str = "is full; free some space") -> list[str]:
    """Submit until it is refused with such words; answers what was accepted before."""
    accepted: list[str] = []
    for _ in range(10_000):
        answer = await told(world.submit(input=BIG))
        if isinstance(answer, Exception):
            assert message in str(answer)
            return accepted
        accepted.append(answer)
    raise AssertionError("no write was ever refused")


async def told(call: Awaitable[Any]) -> Any:
    """What a call answered, or why it was refused."""
    answer: Any = (await asyncio.gather(call, return_exceptions=True))[0]
    assert isinstance(answer, StoreUnavailable) or not isinstance(answer, BaseException)
    return answer


# Full


async def test_a_full_disk_refuses_writes_and_loses_none(world: World, disk: SmallDisk) -> None:
    claimed = await world.running()
    before = [await world.submit(input=BIG) for _ in range(5)]
    disk.fill()
    accepted = before + await submit_until_full(world)
    for write in (
        world.submit(input=BIG),
        world.store.checkpoint(claimed.lease, checkpoint("a#1", BIG)),
        world.store.settle(claimed.lease, succeeded(BIG)),
    ):
        await refused(write, StoreUnavailable)
    # What is there can be read, and nothing of what was refused is there.
    tasks = await world.store.find(EVERYBODY, ALL)
    assert {task.id for task in tasks} == {claimed.task_id, *accepted}
    assert await world.status(claimed.task_id) is Status.RUNNING
    assert await world.store.steps(claimed.task_id) == []
    disk.free()
    await world.store.settle(claimed.lease, succeeded(BIG))
    accepted.append(await world.submit(input=BIG))
    await world.reopen()
    assert await world.status(claimed.task_id) is Status.COMPLETED
    assert len(await world.store.find(EVERYBODY, ALL)) == len(accepted) + 1


async def test_readiness_goes_and_comes_back(world: World, disk: SmallDisk) -> None:
    disk.fill()
    for _ in range(2_000):
        if await told(world.store.ping()) is not None:
            break
    else:
        raise AssertionError("the store never said so")
    disk.free()
    await world.store.ping()


async def test_a_waiting_claim_is_told_of_a_full_disk(world: World, disk: SmallDisk) -> None:
    waiting = await standing(world.claim(wait=60.0))
    disk.fill()
    await submit_until_full(world)
    async with asyncio.timeout(PATIENCE):
        answer = await told(waiting)
    # It was served with what came before the disk was full, or it was told.
    assert "full" in str(answer) if isinstance(answer, Exception) else len(answer) == 1


async def test_many_writers_at_once_on_a_full_disk_are_all_answered(
    world: World, disk: SmallDisk
) -> None:
    disk.fill()
    await submit_until_full(world)
    async with asyncio.timeout(PATIENCE):
        answers = await asyncio.gather(
            *(world.submit(input=BIG) for _ in range(300)), return_exceptions=True
        )
    assert {type(answer) for answer in answers} <= {StoreUnavailable, str}
    accepted = [answer for answer in answers if isinstance(answer, str)]
    disk.free()
    there = {task.id for task in await world.store.find(EVERYBODY, ALL)}
    assert set(accepted) <= there


# Gone


async def test_nothing_is_accepted_into_a_folder_that_was_moved_away(tmp_path: Path) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        kept = await world.submit()
        (tmp_path / "data").rename(tmp_path / "elsewhere")
        for write in (world.submit(), world.store.ping()):
            assert GONE in str(await refused(write, StoreUnavailable))
        (tmp_path / "elsewhere").rename(tmp_path / "data")
        again = await world.submit()
        assert {task.id for task in await world.store.find(EVERYBODY, ALL)} == {kept, again}


async def test_nothing_is_accepted_into_a_file_that_was_replaced(tmp_path: Path) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        await world.submit()
        database = tmp_path / "data" / "stagepost.db"
        database.rename(database.with_name("old.db"))
        assert GONE in str(await refused(world.submit(), StoreUnavailable))
        database.write_bytes(b"")
        assert GONE in str(await refused(world.submit(), StoreUnavailable))


# Full at the start


async def test_opening_on_a_full_disk(disk: SmallDisk) -> None:
    disk.fill()
    with nothing_left(), pytest.raises(StoreRefused, match="is full; free some space") as caught:
        SqliteStore(disk.folder / "data", FakeClock(), lambda _: None)
    assert "\n" not in str(caught.value)
    disk.free()
    async with a_world(open_sqlite, disk.folder / "data") as world:
        await world.submit()


async def test_opening_a_store_again_on_a_full_disk(disk: SmallDisk) -> None:
    async with a_world(open_sqlite, disk.folder / "data") as world:
        task_id = await world.submit()
    disk.fill()
    # It opens for reading, or says why not; it never loses anything.
    reopened = World(open_sqlite, disk.folder / "data", FakeClock())
    (refusal,) = await asyncio.gather(reopened.open(), return_exceptions=True)
    if refusal is None:
        assert await reopened.status(task_id) is Status.QUEUED
        await submit_until_full(reopened)
        await reopened.store.close()
    else:
        assert isinstance(refusal, StoreRefused)
        assert "is full" in str(refusal)
    disk.free()
    async with a_world(open_sqlite, disk.folder / "data") as world:
        assert await world.status(task_id) is Status.QUEUED
        await world.submit(input=BIG)


# Failing


@pytest.fixture
def faulty() -> Iterator[FaultyDisk]:
    with faulty_disk() as disk:
        yield disk


def at(operation: str, suffix: str, error: Exception) -> Fault:
    """A fault of one operation on the file of this ending."""

    def fault(met: str, path: str) -> Exception | None:
        return error if met == operation and path.endswith(suffix) else None

    return fault


FAILURES = {
    "sync": at("sync", "-wal", sync_failed()),
    "write": at("write", "-wal", write_failed()),
}


@pytest.mark.parametrize("fault", FAILURES.values(), ids=FAILURES)
async def test_after_a_failed_commit_nothing_more_is_written(
    faulty: FaultyDisk, tmp_path: Path, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        claimed = await world.running()
        accepted = [await world.submit() for _ in range(5)]
        waiting = await standing(world.claim(by=await world.worker({"batch": 1}), wait=60.0))
        faulty.fault = fault
        answers = await asyncio.gather(*(world.submit() for _ in range(10)), return_exceptions=True)
        for answer in answers:
            assert isinstance(answer, StoreBroken)
            assert str(answer).startswith("The disk of the data folder failed;")
        await refused(waiting, StoreUnavailable)
        # The disk may seem to work again; nobody can say what it has lost.
        faulty.fault = None
        for write in (world.submit(), world.store.ping(), world.claim(wait=60.0)):
            await refused(write, StoreBroken)
        await refused(world.store.settle(claimed.lease, succeeded()), StoreBroken)
        assert await world.status(claimed.task_id) is Status.RUNNING
    assert [r.levelno for r in caplog.records].count(logging.CRITICAL) == 1
    async with a_world(open_sqlite, tmp_path / "data") as world:
        # All that was answered is there; of the others, whatever the disk has kept.
        there = {task.id for task in await world.store.find(EVERYBODY, ALL)}
        assert {claimed.task_id, *accepted} <= there
        assert await world.status(claimed.task_id) is Status.RUNNING
        await world.submit()


async def test_writes_that_were_queued_when_the_disk_failed_are_not_taken(
    faulty: FaultyDisk, tmp_path: Path
) -> None:
    failures = 0

    def once(operation: str, path: str) -> Exception | None:
        nonlocal failures
        if operation == "sync" and path.endswith("-wal"):
            failures += 1
            return sync_failed() if failures == 1 else None
        return None

    async with a_world(open_sqlite, tmp_path / "data") as world:
        accepted = await world.submit()
        faulty.fault = once
        answers = await asyncio.gather(
            *(world.submit() for _ in range(300)), return_exceptions=True
        )
        assert {type(answer) for answer in answers} == {StoreBroken}
        assert failures == 1
    faulty.fault = None
    async with a_world(open_sqlite, tmp_path / "data") as world:
        assert await world.status(accepted) is Status.QUEUED


async def test_a_failed_checkpoint_of_the_log_ends_writing_too(
    faulty: FaultyDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointer, "_START", 1)
    async with a_world(open_sqlite, tmp_path / "data") as world:
        faulty.fault = at("sync", ".db", sync_failed())
        accepted = await submit_until_full(world, "The disk of the data folder failed")
    faulty.fault = None
    async with a_world(open_sqlite, tmp_path / "data") as world:
        there = {task.id for task in await world.store.find(EVERYBODY, ALL)}
        assert set(accepted) <= there


async def test_a_checkpoint_of_the_log_waits_while_the_disk_is_full(
    faulty: FaultyDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointer, "_START", 1)
    met: list[str] = []

    def fault(operation: str, path: str) -> Exception | None:
        if operation == "write" and path.endswith(".db"):
            met.append(path)
            return disk_full()
        return None

    async with a_world(open_sqlite, tmp_path / "data") as world:
        faulty.fault = fault
        accepted = [await world.submit() for _ in range(20)]
        await until(lambda: met)
        accepted.append(await world.submit())
        faulty.fault = None
        accepted.append(await world.submit())
    async with a_world(open_sqlite, tmp_path / "data") as world:
        assert len(await world.store.find(EVERYBODY, ALL)) == len(accepted)


@pytest.mark.parametrize("operation", ["write", "sync"])
async def test_opening_on_a_failing_disk(
    faulty: FaultyDisk, tmp_path: Path, operation: str
) -> None:
    faulty.fault = at(operation, "", write_failed() if operation == "write" else sync_failed())
    with nothing_left(), pytest.raises(StoreRefused, match=r"failed .*; look at the system's log"):
        SqliteStore(tmp_path / "data", FakeClock(), lambda _: None)


# Damage that shows later


async def test_damage_found_while_reading_and_writing(tmp_path: Path) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        for _ in range(50):
            await world.submit(input=BIG)
        await world.reopen()
        database = world.folder / "stagepost.db"
        with database.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (database.stat().st_size - 4096))
        refusal = await refused(world.store.find(EVERYBODY, ALL), StoreUnavailable)
        assert "damaged" in str(refusal)
        refusal = await refused(world.submit(), StoreUnavailable)
        assert "damaged" in str(refusal)
        await refused(world.store.ping(), StoreUnavailable)
