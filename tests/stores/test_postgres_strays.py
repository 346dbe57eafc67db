"""Rows that a task leaves in the pool while a claim of another process holds them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from stagepost.records import Claimed
from stagepost.rules import Rule, RuleKind
from support.postgres_worlds import PostgresWorlds
from support.world import ASKED, EVERYBODY, World, a_world

SLOTS = 4


def ids(claims: Sequence[Claimed]) -> list[str]:
    return [claimed.task_id for claimed in claims]


@pytest.fixture
async def world(postgres_worlds: PostgresWorlds, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(postgres_worlds.open, tmp_path / "data") as world:
        yield world


@asynccontextmanager
async def claimed_elsewhere(worlds: PostgresWorlds, world: World) -> AsyncIterator[None]:
    """A claim of another process that holds the pool and will take nothing of it."""
    async with worlds.connection(world) as other:
        await other.execute("BEGIN; SELECT 1 FROM pool FOR UPDATE")
        yield
        await other.execute("ROLLBACK")


async def pooled(worlds: PostgresWorlds, world: World) -> list[str]:
    async with worlds.connection(world) as beside:
        return [str(row[0]) for row in await beside.fetch("SELECT task_id FROM pool")]


async def strays(
    worlds: PostgresWorlds, world: World, many: int, **options: object
) -> Sequence[str]:
    """Cancelled tasks that are still in the pool."""
    submitted = [await world.submit(**options) for _ in range(many)]
    async with claimed_elsewhere(worlds, world):
        for task_id in submitted:
            await world.store.cancel(task_id, EVERYBODY, ASKED)
    assert sorted(await pooled(worlds, world)) == sorted(submitted)
    return submitted


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("limited", [True, False])
async def test_a_claim_drops_them_and_takes_what_is_behind(
    world: World, postgres_worlds: PostgresWorlds, *, late: bool, limited: bool
) -> None:
    if limited:
        await world.store.rules.put(Rule(RuleKind.LANE, "interactive", concurrency=99))
    hand = await world.worker()
    await strays(postgres_worlds, world, 3 * SLOTS, deadline=world.clock.now() + 5_000)
    if late:
        world.clock.advance(10)
    behind = await world.submit()
    found = [ids(await world.claim(SLOTS, by=hand)) for _ in range(4)]
    assert [behind] in found
    assert await pooled(postgres_worlds, world) == []


async def test_what_looks_for_late_tasks_drops_them(
    world: World, postgres_worlds: PostgresWorlds
) -> None:
    await strays(postgres_worlds, world, 3, deadline=world.clock.now() + 5_000)
    world.clock.advance(10)
    assert await world.store.expire_queued(100) == 0
    assert await pooled(postgres_worlds, world) == []


async def test_a_task_that_came_back_is_started_once_and_from_its_own_place(
    world: World, postgres_worlds: PostgresWorlds
) -> None:
    """The stray has an earlier place than others; the task itself stands behind them."""
    hand = await world.worker()
    first = await world.submit(max_attempts=1, deadline=world.clock.now() + 5_000)
    world.clock.advance(10)
    async with claimed_elsewhere(postgres_worlds, world):
        await world.store.expire_queued(100)
    world.clock.advance(1)
    second = await world.submit()
    world.clock.advance(1)
    await world.redrive(first)
    found = [ids(await world.claim(1, by=hand)) for _ in range(4)]
    assert [each for each in found if each] == [[second], [first]]
    assert await pooled(postgres_worlds, world) == []
