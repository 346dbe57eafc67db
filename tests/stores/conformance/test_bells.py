"""The doorbells: after each commit, complete and in order."""

import asyncio
from pathlib import Path

from stagepost.bus import Committed
from stagepost.errors import LeaseLost
from support.tasks import failed, succeeded, waiting
from support.waiting import PATIENCE
from support.world import ASKED, Opener, World, a_world, checkpoint, note, refused


def rung(world: World) -> list[str]:
    bells = [task_id for bell in world.bells for task_id in bell.events]
    world.bells.clear()
    return bells


async def test_every_event_rings_once(world: World) -> None:
    claimed = await world.running()
    task_id, lease = claimed.task_id, claimed.lease
    assert rung(world) == [task_id] * 2
    await world.store.progress(lease, note(1))
    await world.store.checkpoint(lease, checkpoint(), note(2))
    assert rung(world) == [task_id] * 3
    await world.store.settle(lease, failed(1.0), note(3))
    world.clock.advance(1)
    await world.store.release_due(1)
    assert rung(world) == [task_id] * 3
    again = await world.reclaim(task_id)
    await world.lose()
    await world.cancel(task_id)
    assert rung(world) == [task_id] * 3
    assert again.fence == 2
    assert len(await world.kinds(task_id)) == 11


async def test_what_changes_no_history_rings_no_bell(world: World) -> None:
    hand = await world.hand()
    await world.submit(delay=60.0)
    await world.store.beat(hand.id, "running")
    await world.claim()
    await world.store.ping()
    await world.store.stage("blob")
    assert world.bells == []


async def test_what_was_refused_rings_no_bell(world: World) -> None:
    claimed = await world.running()
    await world.store.settle(claimed.lease, succeeded())
    world.bells.clear()
    await asyncio.gather(
        *(refused(world.store.progress(claimed.lease, note(n)), LeaseLost) for n in range(3)),
        refused(world.cancel(claimed.task_id)),
    )
    assert world.bells == []


async def test_bells_under_load_are_complete_and_in_order(world: World) -> None:
    async def live() -> str:
        task_id = await world.submit()
        (claimed,) = await world.claim(wait=5.0)
        for n in range(3):
            await world.store.checkpoint(claimed.lease, checkpoint(f"step#{n}"), note(n))
        await world.store.settle(claimed.lease, waiting() if n % 2 else succeeded())
        return task_id

    await world.hand()
    task_ids = await asyncio.gather(*(live() for _ in range(40)))
    bells = rung(world)
    for task_id in task_ids:
        assert bells.count(task_id) == 9


async def test_a_bell_rings_only_for_what_is_committed(open_store: Opener, tmp_path: Path) -> None:
    """Whoever runs to the store when the bell rings finds the news there."""
    rung_for: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def committed(news: Committed) -> None:
        for task_id in news.events:
            loop.call_soon_threadsafe(rung_for.put_nowait, task_id)

    async with a_world(open_store, tmp_path / "data", committed) as world:
        for _ in range(10):
            claimed = await world.running()
            end = asyncio.ensure_future(world.store.settle(claimed.lease, succeeded()))
            for number in range(1, 4):
                task_id = await asyncio.wait_for(rung_for.get(), PATIENCE)
                assert len(await world.store.events(task_id, number - 1, 1)) == 1
            await end


async def test_a_fault_of_the_listener_harms_no_write(open_store: Opener, tmp_path: Path) -> None:
    def committed(_: Committed) -> None:
        raise RuntimeError("the bus is out of order")

    async with a_world(open_store, tmp_path / "data", committed) as world:
        task_id = await world.submit()
        assert await world.kinds(task_id) == ["queued"]


async def test_cancels_ring_with_the_tasks_that_are_asked(world: World) -> None:
    claims = [await world.running() for _ in range(3)]
    idle = await world.submit()
    world.bells.clear()
    await asyncio.gather(*(world.cancel(claimed.task_id, ASKED) for claimed in claims))
    await world.cancel(idle)
    asked = [task_id for bell in world.bells for task_id in bell.cancels]
    assert sorted(asked) == sorted(claimed.task_id for claimed in claims)
