"""The ledger on PostgreSQL: many processes, lost answers, and code that knows nothing of it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path

import pytest

from stagepost.calls import CallEnd, CallState
from stagepost.outcome import Drained
from stagepost.spending import Spent, UsageQuery
from stagepost.store import Store
from support.calls import KEY, answered, in_blob, new_call, refused_call, rejected, result, sent
from support.lost_answers import Scene
from support.postgres_worlds import PostgresWorlds
from support.tasks import succeeded
from support.world import DAY, EVERYBODY, World, a_world, new_id

ALWAYS = UsageQuery(date(2000, 1, 1), date(2100, 1, 1))


async def total(store: Store) -> Spent:
    found = await store.calls.usage(EVERYBODY, ALWAYS)
    return found[0].spent if found else Spent()


@pytest.fixture
async def world(postgres_worlds: PostgresWorlds, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(postgres_worlds.open, tmp_path) as world:
        yield world


# Lost answers


async def test_an_intent_whose_answer_was_lost_is_there_once(scene: Scene) -> None:
    world = scene.world
    claimed = await world.running()
    call = new_call()
    await scene.losing(world.store.calls.begin(claimed.lease, call))
    found = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert [(each.id, each.state) for each in found] == [(call.id, CallState.INTENT)]


@pytest.mark.parametrize("end", [result(), rejected(), refused_call()], ids=lambda end: end.state)
async def test_an_end_whose_answer_was_lost_counts_once(scene: Scene, end: CallEnd) -> None:
    world = scene.world
    claimed = await world.running()
    call = await sent(world, claimed)
    await scene.losing(world.store.calls.end(claimed.task_id, call.id, end))
    found = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert [(each.id, each.state) for each in found] == [(call.id, end.state)]
    spent = await total(world.store)
    assert (spent.calls, spent.cost) == (1, end.cost or 0)


async def test_a_batch_of_both_whose_answer_was_lost_is_done_once(scene: Scene) -> None:
    world = scene.world
    claimed = await world.running()
    begun = [await sent(world, claimed) for _ in range(20)]
    more = [new_call() for _ in range(20)]
    calls = world.store.calls
    await scene.losing(
        asyncio.gather(
            *(calls.end(claimed.task_id, call.id, result()) for call in begun),
            *(calls.begin(claimed.lease, call) for call in more),
        )
    )
    found = await calls.find(claimed.task_id, EVERYBODY, None, 100)
    assert [each.state for each in found] == [CallState.RESULT] * 20 + [CallState.INTENT] * 20
    assert (await total(world.store)).calls == 20


async def test_what_is_noted_is_noted_once(scene: Scene) -> None:
    world = scene.world
    claimed = await world.running()
    await sent(world, claimed)
    await world.store.settle(claimed.lease, Drained())
    assert await scene.losing(world.store.calls.note_unknown(10)) in {0, 1}
    assert await world.store.calls.note_unknown(10) == 0
    spent = await total(world.store)
    assert (spent.calls, spent.unknown, spent.cost) == (1, 1, 1_000)


# Many processes


async def test_ends_and_notes_of_many_processes_add_up(world: World, stores: list[Store]) -> None:
    await asyncio.gather(*(world.submit() for _ in range(6)))
    claims = await world.claim(6)
    calls = [(claimed, await sent(world, claimed, model=f"m{n}"))
             for claimed in claims for n in range(10)]  # fmt: skip
    await world.lose()

    async def end(number: int) -> None:
        claimed, call = calls[number]
        # Each is told to every process, and some of them are noted meanwhile.
        await asyncio.gather(
            *(store.calls.end(claimed.task_id, call.id, result()) for store in stores)
        )

    async def note(store: Store) -> None:
        for _ in range(10):
            await store.calls.note_unknown(7)

    await asyncio.gather(*map(end, range(30)), *map(note, stores))
    for store in stores:
        await store.calls.note_unknown(100)
    spent = await total(stores[1])
    assert spent == Spent(
        calls=60, unknown=30, input=9_000, cached=600, output=9_900, reasoning=150, cost=43_500,
        unknown_cost=30_000,
    )  # fmt: skip
    assert await stores[2].calls.unknown_by_type() == {"review": 30}
    await asyncio.gather(*map(end, range(30, 60)))
    spent = await total(stores[1])
    assert (spent.calls, spent.unknown, spent.cost, spent.unknown_cost) == (60, 0, 27_000, 0)


async def test_a_memo_is_every_processes(world: World, stores: list[Store]) -> None:
    claimed = await world.running()
    call = await answered(world, claimed)
    for store in stores:
        memo = await store.calls.memo(claimed.task_id, KEY)
        assert memo is not None
        assert memo.call_id == call.id


# Code that knows of no calls


async def test_it_takes_the_texts_with_the_task_all_the_same(
    world: World, postgres_worlds: PostgresWorlds
) -> None:
    claimed = await world.running()
    key = new_id()
    await world.store.stage(key)
    call = await answered(world, claimed, end=result(answer=in_blob(key)))
    await answered(world, claimed, end=refused_call(message="as you said: aardvark"))
    await world.store.settle(claimed.lease, succeeded())
    async with postgres_worlds.connection(world) as connection:
        await connection.execute("DELETE FROM tasks WHERE id = $1", claimed.task_id)
        assert await connection.fetchval("SELECT count(*) FROM call_bodies") == 0
        assert await connection.fetch("SELECT message FROM calls WHERE message <> ''") == []
    world.clock.advance(2 * DAY)
    assert await world.store.retention.unreferenced(older_than=DAY, limit=10) == [key]
    found = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert found[0].id == call.id
