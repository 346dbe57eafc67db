"""What several processes take away at once from one database, and what one of them still needs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stagepost.errors import Gone, UploadSwept
from stagepost.mass import Kind, MassChange
from stagepost.records import Filter, Scope, UploadRecord
from stagepost.retention import Erasure
from stagepost.store import Store
from stagepost.task import Status
from support.postgres_worlds import PostgresWorlds
from support.tasks import failed, succeeded
from support.world import DAY, EVERYBODY, World, a_world, new_id, new_task, refused

ROUNDS = 40


@pytest.fixture
async def world(postgres_worlds: PostgresWorlds, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(postgres_worlds.open, tmp_path / "data") as world:
        yield world


async def sweep(store: Store, key: str) -> None:
    """Forget the file as soon as nothing refers to it."""
    for _ in range(3):
        await store.retention.forget_blobs([key], older_than=0.0)


async def test_a_file_that_a_submit_names_is_not_swept_under_its_hands(
    world: World, stores: list[Store]
) -> None:
    accepted = 0
    for number in range(ROUNDS):
        upload = UploadRecord(new_id(), "acme", "a.pdf", "application/pdf", 7, "sha")
        await world.store.stage(upload.upload_id)
        first = await world.settled(succeeded(), uploads=(upload,))
        wish = Erasure("eve", (await world.task(first)).seq, "hash")
        new = new_task(uploads=(upload,), lane="batch")

        async def after(turns: int, store: Store, of: object = new) -> object:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await store.submit(of)  # type: ignore[arg-type]

        _, told, _ = await asyncio.gather(
            stores[0].retention.erase(first, EVERYBODY, wish),
            after(number, stores[1]),
            sweep(stores[2], upload.upload_id),
            return_exceptions=True,
        )
        lost = await world.store.retention.strange_blobs([upload.upload_id])
        if isinstance(told, UploadSwept):
            continue
        assert not isinstance(told, BaseException), told
        accepted += 1
        await world.cancel(new.id)
        assert not lost
        assert not await world.store.retention.unreferenced(older_than=0.0, limit=10)
        assert await world.store.uploads("acme", [upload.upload_id]) == [upload]
    assert accepted > 0


async def test_each_task_is_pruned_by_one_of_many(world: World, stores: list[Store]) -> None:
    ids = [await world.settled(succeeded()) for _ in range(30)]
    world.clock.advance(DAY)

    async def prune(store: Store) -> int:
        after: str | None = ""
        changed = 0
        while after is not None:
            page = await store.retention.prune_tasks(after, older_than=DAY, limit=7)
            changed += page.changed
            after = page.after
        return changed

    assert sum(await asyncio.gather(*map(prune, stores))) == len(ids)
    for task_id in ids:
        await refused(world.view(task_id), Gone)


async def test_a_task_is_erased_or_sent_back_but_not_both(
    world: World, stores: list[Store]
) -> None:
    for _ in range(ROUNDS // 2):
        task_id = await world.settled(failed(None))
        wish = Erasure("eve", (await world.task(task_id)).seq, "hash")
        erased, sent = await asyncio.gather(
            stores[1].retention.erase(task_id, EVERYBODY, wish),
            world.redrive(task_id),
            return_exceptions=True,
        )
        assert isinstance(erased, BaseException) != isinstance(sent, BaseException)
        if isinstance(erased, BaseException):
            assert await world.status(task_id) is Status.QUEUED
            await world.cancel(task_id)
        else:
            await refused(world.view(task_id), Gone)


async def test_of_a_redrive_each_task_is_sent_by_one_of_many(
    world: World, stores: list[Store]
) -> None:
    ids = [await world.settled(failed(None)) for _ in range(30)]
    of = MassChange(
        id=new_id(), kind=Kind.REDRIVE, scope=Scope("acme"), by="ada", attempts={"review": 2},
        where=Filter(statuses=(Status.DEAD_LETTER,)), per_minute=100_000,
    )  # fmt: skip
    await world.store.mass.begin(of)
    for _ in range(30):
        world.clock.advance(0.002)
        await asyncio.gather(*(store.mass.advance(of.id) for store in stores))
    progress = await world.store.mass.progress(of.id, of.kind, EVERYBODY)
    assert (progress.matched, progress.sent) == (30, 30)
    for task_id in ids:
        assert (await world.kinds(task_id)).count("redriven") == 1
    for claimed in await world.claim(30):
        await world.store.settle(claimed.lease, succeeded())
    await asyncio.gather(*(store.mass.advance(of.id) for store in stores))
    assert (await world.store.mass.progress(of.id, of.kind, EVERYBODY)).completed == 30
