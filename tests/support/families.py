"""Parents and children, on a bare store."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from stagepost.batch import Batch, NewBatch, Page
from stagepost.records import Claimed, UploadRecord
from stagepost.task import Lease, Status
from support.world import World, new_id


def new_batch(path: str = "pages", **changes: Any) -> NewBatch:
    """A batch of the default kind; its children's type is one that no worker of a test asks for."""
    values: dict[str, Any] = {
        "id": new_id(), "path": path, "name": path, "type": "page", "lane": "batch",
        "attempts": 2, "ttl": 3_600.0,
    }  # fmt: skip
    return NewBatch(**(values | changes))


def page(
    batch: NewBatch,
    many: int,
    first: int = 0,
    *,
    last: bool = True,
    size: int = 3,
    uploads: tuple[UploadRecord, ...] = (),
) -> Page:
    """The next so many children, whose inputs all name these files."""
    children = [(new_id(), '"' + "x" * (size - 2) + '"') for _ in range(many)]
    named = {child_id: uploads for child_id, _ in children} if uploads else {}
    return Page(batch, first, children, f"to {first}", f"to {first + many}", last, named)


async def spawned(
    world: World, lease: Lease, many: int, path: str = "pages", **changes: Any
) -> Batch:
    """A batch that was made at once."""
    return await world.store.children.spawn(lease, page(new_batch(path, **changes), many))


async def children(world: World, batch: Batch) -> list[str]:
    """Their ids, by place."""
    return [child.task_id for child in await world.store.children.results(batch.id, -1, 10_000)]


async def claim_children(world: World, many: int, kind: str = "page") -> Sequence[Claimed]:
    """Claims of children by a worker that runs nothing else."""
    hand = await world.worker(types=(kind,))
    return await world.claim(many, by=hand)


async def let_wake(world: World) -> None:
    """Let the engine's loop work everything off."""
    for _ in range(1_000):
        woken = await world.store.children.wake(1_000)
        cancelled = await world.store.children.cancel_some(1_000)
        if not woken and not cancelled:
            return
    raise AssertionError("there is no end of notes")


async def becomes(world: World, task_id: str, status: Status) -> None:
    """Wait, at most 10 s, until a task is there: another loop may be working on it right now."""
    limit = time.monotonic() + 10
    await let_wake(world)
    while await world.status(task_id) is not status:
        assert time.monotonic() < limit, f"the task has not become {status}"
        await asyncio.sleep(0.02)
        await let_wake(world)


async def statuses(world: World, batch: Batch) -> set[Status]:
    """Where a batch's children stand."""
    return set(await world.store.children.counts(batch.id))


async def again(world: World, path: str, parent_id: str) -> Batch:
    """A batch as it stands now."""
    await let_wake(world)
    batch = await world.store.children.batch(parent_id, path)
    assert batch is not None
    return batch
