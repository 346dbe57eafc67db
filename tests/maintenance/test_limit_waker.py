"""Tasks whose limit is free are woken, also those that do not wait yet."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stagepost.errors import StoreUnavailable
from stagepost.limiters.memory import MemoryLimiter
from stagepost.limiting import place_in_line
from stagepost.maintenance.limit_waker import LimitWaker
from stagepost.outcome import Waiting
from stagepost.task import Status
from stagepost.waiting import LimitFree
from support.waiting import until
from support.world import World, a_world, open_sqlite


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


@pytest.fixture
async def waker(world: World) -> AsyncIterator[LimitWaker]:
    waker = LimitWaker(MemoryLimiter(world.clock), world.store, world.clock)
    running = asyncio.create_task(waker.run())
    yield waker
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


PARKED = Waiting((LimitFree("gpu", 600.0),))


def call(waker: LimitWaker, task_id: str) -> None:
    limiter: Any = waker._limiter
    limiter._calls.put([place_in_line(task_id, "read[1]/:limit gpu")])


async def reached(world: World, task_id: str, status: Status) -> None:
    async with asyncio.timeout(10):
        while await world.status(task_id) is not status:  # noqa: ASYNC110  # the store rings none
            await asyncio.sleep(0.01)


async def test_one_that_waits_is_woken(world: World, waker: LimitWaker) -> None:
    task_id = await world.settled(PARKED)
    call(waker, task_id)
    await reached(world, task_id, Status.QUEUED)


async def test_one_that_is_about_to_wait_is_woken_once_it_does(
    world: World, waker: LimitWaker
) -> None:
    claimed = await world.running()
    call(waker, claimed.task_id)
    await until(lambda: waker._called)
    await world.store.settle(claimed.lease, PARKED)
    await reached(world, claimed.task_id, Status.QUEUED)


async def test_one_that_never_waits_is_forgotten(world: World, waker: LimitWaker) -> None:
    call(waker, (await world.running()).task_id)
    await until(lambda: waker._called)
    world.clock.advance(3.1)
    await until(lambda: not waker._called)


async def test_while_the_store_is_away_it_goes_on_trying(
    world: World, waker: LimitWaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = await world.settled(PARKED)
    limits: Any = world.store.limits
    tries = 0

    async def away(_ids: Sequence[str]) -> Sequence[str]:
        nonlocal tries
        tries += 1
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(limits, "wake", away)
        call(waker, task_id)
        await until(lambda: tries)
    await reached(world, task_id, Status.QUEUED)
