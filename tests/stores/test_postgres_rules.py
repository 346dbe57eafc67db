"""Rules, limits and keys over several stores on one database, as several processes have them."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stagepost.rules import Rule, RuleKind
from stagepost.store import Store
from support.postgres_worlds import PostgresWorlds
from support.tasks import succeeded
from support.waiting import PATIENCE
from support.world import Hand, World, a_world, demand


@pytest.fixture
async def world(postgres_worlds: PostgresWorlds, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(postgres_worlds.open, tmp_path / "data") as world:
        yield world


class Watch:
    """What runs, as the workers see it."""

    def __init__(self) -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.done: set[str] = set()

    def began(self, name: str) -> None:
        self.now[name] += 1
        self.most[name] = max(self.most[name], self.now[name])


async def work(store: Store, hand: Hand, watch: Watch, until: int) -> None:
    """Claim and settle until so many tasks are done by all."""
    while len(watch.done) < until:
        claims = await store.claim(demand(hand, 3), wait=0.02)
        for claim in claims:
            watch.began(claim.tenant)
        await asyncio.sleep(0.001)
        for claim in claims:
            # Counted down before the store hears of it: another may take its place at once.
            watch.now[claim.tenant] -= 1
            await store.settle(claim.lease, succeeded())
            watch.done.add(claim.task_id)


async def run_all(world: World, stores: list[Store], many: int) -> Watch:
    watch = Watch()
    hands = [await world.worker() for _ in range(6)]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(
            *(work(stores[n % 3], hand, watch, many) for n, hand in enumerate(hands))
        )
    return watch


async def test_a_limit_is_never_passed_by_many_stores(world: World, stores: list[Store]) -> None:
    await world.store.rules.put(Rule(RuleKind.TENANT, "acme", concurrency=2))
    for store in stores[1:]:
        await asyncio.sleep(1.1)  # the rule reaches the others
        assert await store.claim(demand(await world.worker(), 1)) == ()
    await asyncio.gather(*(world.submit() for _ in range(60)))
    watch = await run_all(world, stores, 60)
    assert watch.most["acme"] == 2


async def test_tasks_of_one_key_run_one_by_one_on_many_stores(
    world: World, stores: list[Store]
) -> None:
    await asyncio.gather(
        *(
            world.submit(concurrency_key="k", tenant=tenant)
            for tenant in ("acme", "bolt")
            for _ in range(20)
        )
    )
    watch = await run_all(world, stores, 40)
    assert watch.most == {"acme": 1, "bolt": 1}


async def test_a_pause_reaches_every_store_within_a_second_or_so(
    world: World, stores: list[Store]
) -> None:
    hand = await world.worker()
    assert await stores[1].claim(demand(hand, 1)) == ()
    await world.store.rules.pause(RuleKind.LANE, "interactive", paused=True)
    await world.submit()
    await asyncio.sleep(1.1)
    assert await stores[1].claim(demand(hand, 1)) == ()
    await world.store.rules.pause(RuleKind.LANE, "interactive", paused=False)
    async with asyncio.timeout(PATIENCE):
        while not await stores[1].claim(demand(hand, 1), wait=0.1):
            pass


async def test_many_stores_share_one_line(world: World, stores: list[Store]) -> None:
    for tenant in ("one", "other"):
        await asyncio.gather(*(world.submit(tenant=tenant) for _ in range(150)))
    hands = [await world.worker() for _ in range(3)]

    async def take(store: Store, hand: Hand) -> list[str]:
        return [c.tenant for _ in range(10) for c in await store.claim(demand(hand, 4))]

    taken = await asyncio.gather(*map(take, stores, hands))
    shares = Counter(tenant for many in taken for tenant in many)
    assert sum(shares.values()) == 120
    # Claims at the same moment may each begin with the same tenant.
    assert 48 <= shares["one"] <= 72
