"""Which blobs something refers to: the others may be swept."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stagepost.errors import LeaseLost
from stagepost.outcome import Succeeded
from stagepost.records import Idempotency, UploadRecord
from stagepost.stores.sqlite import SqliteStore
from stagepost.task import Lease, Payload
from support.fences import artifact
from support.tasks import failed
from support.world import World, a_world, checkpoint, new_id, open_sqlite, refused


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


async def staged(world: World) -> str:
    key = new_id()
    await world.store.stage(key)
    assert not await kept(world, key)
    return key


async def kept(world: World, key: str) -> bool:
    assert isinstance(world.store, SqliteStore)
    found = await world.store._readers.call(
        lambda db: db.execute("SELECT kept FROM blobs WHERE key = ?", (key,)).get
    )
    return bool(found)


async def save(world: World, lease: Lease, path: str, key: str) -> None:
    step = checkpoint(path)._replace(value=Payload(None, 9, key))
    await world.store.checkpoint(lease, step)


async def test_an_upload_is_kept_with_its_task_only(world: World) -> None:
    key, repeated = await staged(world), await staged(world)
    once = Idempotency("submit", "key", "content")
    upload = UploadRecord(key, "acme", "a.pdf", "application/pdf", 1, "sha")
    await world.submit(uploads=(upload,), idempotency=once)
    await world.submit(uploads=(upload._replace(upload_id=repeated),), idempotency=once)
    assert await kept(world, key)
    assert not await kept(world, repeated)


async def test_steps_artifacts_and_results_keep_their_blobs(world: World) -> None:
    claimed = await world.running()
    step, file, replaced, result = [await staged(world) for _ in range(4)]
    await save(world, claimed.lease, "read#1", step)
    await world.store.attach(claimed.lease, artifact("a", replaced))
    assert await kept(world, replaced)
    await world.store.attach(claimed.lease, artifact("a", file))
    await world.store.attach(claimed.lease, artifact("a", file))
    await world.store.settle(claimed.lease, Succeeded(Payload(None, 9, result)))
    assert [await kept(world, key) for key in (step, file, result)] == [True] * 3
    assert not await kept(world, replaced)


async def test_what_is_refused_keeps_nothing(world: World) -> None:
    stale = await world.running()
    await world.store.checkpoint(stale.lease, checkpoint())
    await world.lose()
    step, file, result = [await staged(world) for _ in range(3)]
    await refused(save(world, stale.lease, "late#1", step), LeaseLost)
    await refused(world.store.attach(stale.lease, artifact("a", file)), LeaseLost)
    outcome = Succeeded(Payload(None, 9, result))
    await refused(world.store.settle(stale.lease, outcome), LeaseLost)
    assert [await kept(world, key) for key in (step, file, result)] == [False] * 3


async def test_a_redrive_lets_the_blobs_of_dropped_steps_go(world: World) -> None:
    claimed = await world.running()
    first, second = await staged(world), await staged(world)
    await save(world, claimed.lease, "a#1", first)
    await save(world, claimed.lease, "b#1", second)
    await world.store.settle(claimed.lease, failed(None))
    await world.redrive(claimed.task_id, from_step="b")
    assert [await kept(world, key) for key in (first, second)] == [True, False]
    again = await world.reclaim(claimed.task_id)
    await world.store.settle(again.lease, failed(None))
    await world.redrive(claimed.task_id, fresh=True)
    assert not await kept(world, first)
