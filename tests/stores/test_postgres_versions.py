"""Workers of several versions, and what they learn, as processes on one database have it."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stagepost.estimates import KEPT
from stagepost.outcome import Drained
from stagepost.store import Store
from support.postgres_worlds import PostgresWorlds
from support.tasks import succeeded
from support.world import World, a_world, demand

VERSIONS = ((1,), (2,), (2, 1))
TASKS = 90
CLAIMS = 3
"""Of each task: it is given back twice, then completed."""


@pytest.fixture
async def world(postgres_worlds: PostgresWorlds, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(postgres_worlds.open, tmp_path / "data") as world:
        yield world


async def test_each_task_stays_with_its_version_whoever_claims(
    world: World, stores: list[Store]
) -> None:
    submitted = {await world.submit() for _ in range(TASKS)}
    seen: dict[str, list[int]] = defaultdict(list)
    done: set[str] = set()

    async def work(store: Store, versions: tuple[int, ...]) -> None:
        hand = await world.worker(versions={"review": versions})
        # Bounded: three times as many rounds as all the claims there are.
        for _ in range(3 * TASKS * CLAIMS):
            if len(done) == TASKS:
                return
            for claim in await store.claim(demand(hand, 5), wait=0.02):
                assert claim.code_version in versions
                assert claim.code_version == versions[0] or seen[claim.task_id]
                seen[claim.task_id].append(claim.code_version)
                last = len(seen[claim.task_id]) == CLAIMS
                await store.settle(claim.lease, succeeded() if last else Drained())
                if last:
                    done.add(claim.task_id)

    await asyncio.gather(*map(work, stores, VERSIONS))
    assert done == submitted
    assert {len(set(versions)) for versions in seen.values()} == {1}
    assert {version for versions in seen.values() for version in versions} == {1, 2}


async def test_all_processes_teach_one_history(world: World, stores: list[Store]) -> None:
    places = [(name, 0) for name in "abcdef"]

    async def teach(store: Store, first: int) -> None:
        for number in range(10):
            order = places if number % 2 else places[::-1]
            await store.history.add(dict.fromkeys(order, (first + number,)))

    await asyncio.gather(*(teach(store, 100 * n) for n, store in enumerate(stores)))
    history = await world.store.history.all()
    taught = [100 * n + number for n in range(len(stores)) for number in range(10)]
    assert len(taught) <= KEPT
    for name, _ in places:
        assert sorted(history[name][0]) == taught
