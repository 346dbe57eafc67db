"""An accepted task reaches the pool, and the pool holds it once; on every broker."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from stagepost.broker import Broker, Delivery
from stagepost.brokers.direct import DirectBroker
from support.waiting import PATIENCE
from support.world import LANES, World, a_world, open_sqlite, standing

BROKERS: dict[str, Callable[[], Broker]] = {
    "direct": DirectBroker,
}


@pytest.fixture(params=BROKERS)
async def broker(request: pytest.FixtureRequest) -> AsyncIterator[Broker]:
    broker = BROKERS[request.param]()
    yield broker
    await broker.close()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


async def consumed(broker: Broker) -> list[Delivery]:
    """Everything that is delivered until the broker is closed."""
    return [delivery async for batch in broker.consume(list(LANES)) for delivery in batch]


async def test_an_accepted_task_reaches_the_pool_once(broker: Broker, world: World) -> None:
    lanes = ["interactive", "batch", "interactive"]
    deliveries = [Delivery(await world.submit(lane=lane), lane, 1) for lane in lanes]
    await broker.publish(deliveries)
    await broker.publish(deliveries[:1])
    if broker.direct:
        claims = await world.claim(10)
        assert sorted(claimed.task_id for claimed in claims) == sorted(
            d.task_id for d in deliveries
        )
    assert await world.claim(10) == []


async def test_what_is_published_is_delivered_at_least_once(broker: Broker) -> None:
    consuming = await standing(consumed(broker))
    deliveries = [Delivery(f"task {n}", "interactive", 1) for n in range(10)]
    await broker.publish(deliveries)
    await broker.close()
    async with asyncio.timeout(PATIENCE):
        found = await consuming
    # A direct broker has delivered before anything is published.
    assert set(found) == (set() if broker.direct else set(deliveries))


async def test_nothing_is_published_as_well(broker: Broker) -> None:
    await broker.publish([])


async def test_closing_ends_every_consumer_in_its_own_loop(broker: Broker) -> None:
    here = await standing(consumed(broker))
    there = await standing(asyncio.to_thread(lambda: asyncio.run(consumed(broker))))
    await broker.close()
    async with asyncio.timeout(PATIENCE):
        assert await here == []
        assert await there == []
        # After the end there is nothing to wait for.
        assert await consumed(broker) == []
    await broker.close()


async def test_a_consumer_that_is_cancelled_harms_no_other(broker: Broker) -> None:
    gone, stays = await standing(consumed(broker)), await standing(consumed(broker))
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert not stays.done()
    await broker.close()
    async with asyncio.timeout(PATIENCE):
        assert await stays == []


async def test_no_lanes_are_no_deliveries(broker: Broker) -> None:
    async def none() -> list[object]:
        return [batch async for batch in broker.consume([])]

    consuming = await standing(none())
    await broker.close()
    async with asyncio.timeout(PATIENCE):
        assert await consuming == []
