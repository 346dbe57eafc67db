"""The server goes and comes back."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from stagepost.errors import StoreUnavailable
from stagepost.maintenance.rescuer import Rescuer
from stagepost.task import Status
from support.postgres import Server, server
from support.postgres_worlds import PostgresWorlds, folder_of_times
from support.tasks import succeeded
from support.waiting import PATIENCE
from support.world import World, a_world, checkpoint, note, refused, standing

LEASE = 15.0


@pytest.fixture(scope="module")
def harmed() -> Iterator[Server]:
    """A server that these tests may stop."""
    with server() as harmed:
        yield harmed


@pytest.fixture
async def world(harmed: Server, tmp_path: Path) -> AsyncIterator[World]:
    with folder_of_times() as times:
        worlds = PostgresWorlds(harmed, times, durable=True)
        async with a_world(worlds.open, tmp_path / "data") as world:
            yield world


async def back(world: World) -> None:
    """Return once the store answers again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await world.store.ping()
            except StoreUnavailable:
                await asyncio.sleep(0.05)
            else:
                return


@pytest.mark.parametrize("how", ["stop", "crash"])
async def test_while_it_is_away_calls_are_refused_and_then_all_goes_on(
    world: World, harmed: Server, how: str
) -> None:
    claimed, kept = await world.running(), await world.submit()
    await world.store.checkpoint(claimed.lease, checkpoint(), note(20))
    await asyncio.to_thread(getattr(harmed, how))
    lost = [await refused(world.submit(), StoreUnavailable) for _ in range(3)]
    assert all("database" in str(refusal) for refusal in lost)
    await refused(world.store.settle(claimed.lease, succeeded()), StoreUnavailable)
    await refused(world.view(kept), StoreUnavailable)
    await refused(world.store.ping(), StoreUnavailable)
    await asyncio.to_thread(harmed.start)
    await back(world)
    await world.store.settle(claimed.lease, succeeded())
    assert await world.kinds(claimed.task_id) == [
        "queued", "started", "progress", "step", "completed",
    ]  # fmt: skip
    assert [task.task_id for task in await world.claim(5)] == [kept]


async def test_a_waiting_claim_waits_on_through_a_restart(world: World, harmed: Server) -> None:
    hand = await world.hand()
    waiting = await standing(world.claim(by=hand, wait=3_600.0))
    await asyncio.to_thread(harmed.stop)
    await asyncio.to_thread(harmed.start)
    await back(world)
    task_id = await world.submit()
    async with asyncio.timeout(PATIENCE):
        try:
            claims = await waiting
        except StoreUnavailable:
            # Tried in the very moment: its worker tries again.
            claims = await world.claim(by=hand, wait=PATIENCE)
    assert [claimed.task_id for claimed in claims] == [task_id]


async def test_after_an_outage_longer_than_the_lease_nobody_is_rescued(
    world: World, harmed: Server
) -> None:
    """A hundred tasks run, the database is away for three minutes; no attempt is spent."""
    ids = await asyncio.gather(*(world.submit() for _ in range(100)))
    hand = await world.hand()
    assert len(await world.claim(100, by=hand)) == 100
    rescuer = Rescuer(world.store, world.clock, LEASE)

    async def pass_by(seconds: float, *, beats: bool) -> None:
        for _ in range(round(seconds / (LEASE / 5))):
            world.clock.advance(LEASE / 5)
            if beats:
                await world.store.beat(hand.id, "running")
            assert (await rescuer.look()).tasks == ()

    await pass_by(2 * LEASE, beats=True)
    await asyncio.to_thread(harmed.stop)
    await pass_by(180.0, beats=False)
    await asyncio.to_thread(harmed.start)
    await back(world)
    # The rescuer comes first, and the worker is late by all but a lease.
    await pass_by(LEASE * 0.8, beats=False)
    await pass_by(3 * LEASE, beats=True)
    for task_id in ids[::10]:
        task = await world.task(task_id)
        assert (task.status, task.attempt, task.lost_claims) == (Status.RUNNING, 1, 0)
    # It does rescue: once the worker is silent for good.
    world.clock.advance(LEASE / 5)
    silent = 0
    for _ in range(20):
        world.clock.advance(LEASE / 5)
        silent += len((await rescuer.look()).tasks)
    assert silent == 100
