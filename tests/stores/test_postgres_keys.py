"""Keys and quotas that several processes keep together."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from stagepost.errors import Conflict, IdempotencyInProgress, StoreUnavailable, TenantFull
from stagepost.quota import Quota
from stagepost.records import Filter, Idempotency, Resume, Scope, Submitted
from stagepost.store import Store
from stagepost.stores.postgres import aside, idempotency, submitting, unique
from stagepost.stores.postgres.quotas import Limits
from stagepost.task import SETTLED, Status
from support.postgres_worlds import PostgresWorlds
from support.tasks import failed, succeeded
from support.waiting import PATIENCE
from support.world import (
    ASKED,
    EVERYBODY,
    Hand,
    World,
    a_world,
    demand,
    new_id,
    new_task,
    refused,
    standing,
)

KEY = Idempotency("submit", "key", "content")


async def deadlocks(worlds: PostgresWorlds) -> int:
    rows = await worlds.run(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = $1", "stagepost"
    )
    return int(rows[0][0])


@pytest.fixture
async def world(postgres_worlds: PostgresWorlds, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(postgres_worlds.open, tmp_path / "data") as world:
        yield world


async def hold(connection: asyncpg.Connection, key: Idempotency) -> None:
    await connection.execute("BEGIN")
    await connection.execute(
        "INSERT INTO idempotency VALUES ('acme', 'ada', $1, $2, $3, $4, $5)",
        *key,
        new_id(),
        1_700_000_000_000,
    )


# Idempotency-Key


async def test_while_another_has_not_ended_a_submit_waits(
    world: World, postgres_worlds: PostgresWorlds
) -> None:
    async with postgres_worlds.connection(world) as other:
        await hold(other, KEY)
        waiting = await standing(world.store.submit(new_task(idempotency=KEY)))
        for options in ({}, {"priority": 5}):
            await world.submit(**options)
        await other.execute("ROLLBACK")
        async with asyncio.timeout(PATIENCE):
            answer = await waiting
    assert not answer.replayed
    assert (await world.store.submit(new_task(idempotency=KEY))).task_id == answer.task_id


async def test_a_process_that_is_killed_in_the_middle_leaves_the_key_free(
    world: World, postgres_worlds: PostgresWorlds
) -> None:
    async with postgres_worlds.connection(world) as other:
        await hold(other, KEY)
        waiting = await standing(world.store.submit(new_task(idempotency=KEY)))
        other.terminate()
        async with asyncio.timeout(PATIENCE):
            assert not (await waiting).replayed


async def test_after_its_patience_only_those_with_that_key_are_refused(
    world: World, postgres_worlds: PostgresWorlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = submitting._NOW_PATIENTLY.replace(idempotency.PATIENCE, "300ms")
    assert brief != submitting._NOW_PATIENTLY
    monkeypatch.setattr(submitting, "_NOW_PATIENTLY", brief)
    keys = [Idempotency("submit", f"key {n}", "content") for n in range(12)]
    async with postgres_worlds.connection(world) as other:
        await hold(other, keys[3])
        answers = await asyncio.gather(
            *(world.store.submit(new_task(idempotency=key)) for key in keys),
            return_exceptions=True,
        )
        assert isinstance(answers.pop(3), IdempotencyInProgress)
        assert all(isinstance(answer, Submitted) for answer in answers)
        await other.execute("ROLLBACK")
    assert not (await world.store.submit(new_task(idempotency=keys[3]))).replayed
    assert len(await world.store.find(EVERYBODY, Filter(limit=50))) == len(keys)


async def test_a_key_outlives_its_task(world: World, postgres_worlds: PostgresWorlds) -> None:
    first = await world.store.submit(new_task(idempotency=KEY, unique_key="a"))
    async with postgres_worlds.connection(world) as other:
        await other.execute("DELETE FROM tasks WHERE id = $1", first.task_id)
        left = await other.fetchval("SELECT count(*) FROM unique_keys")
    assert left == 0
    again = await world.store.submit(new_task(idempotency=KEY, unique_key="a"))
    assert again == first._replace(status=Status.COMPLETED, replayed=True)
    assert not (await world.store.submit(new_task(unique_key="a"))).replayed


# Unique keys


async def test_of_one_unique_key_one_task_comes(stores: list[Store]) -> None:
    async def submit(store: Store) -> list[Submitted]:
        keys = [f"key {n}" for n in range(20)]
        return await asyncio.gather(
            *(
                store.submit(new_task(unique_key=key, debounce=True, delay=60.0))
                for key in random.sample(keys, len(keys))
            )
        )

    found = [answer for answers in await asyncio.gather(*map(submit, stores)) for answer in answers]
    assert len({answer.task_id for answer in found}) == 20
    assert sum(not answer.replayed for answer in found) == 20


async def test_a_submit_waits_for_a_redrive_that_has_not_ended(
    world: World, postgres_worlds: PostgresWorlds
) -> None:
    first = await world.settled(failed(None), unique_key="a")
    async with postgres_worlds.connection(world) as other:
        await other.execute("BEGIN")
        await other.execute(unique._LOCK, [unique._lock_of(("acme", "review", "a"))])
        await other.execute("UPDATE tasks SET status = 'QUEUED', dead = false WHERE id = $1", first)
        waiting = await standing(world.store.submit(new_task(unique_key="a")))
        await other.execute("COMMIT")
        async with asyncio.timeout(PATIENCE):
            answer = await waiting
    assert (answer.task_id, answer.status, answer.replayed) == (first, Status.QUEUED, True)


async def hold_unique(connection: asyncpg.Connection, *keys: str) -> None:
    """As a process does that stands still in the middle of a submit."""
    await connection.execute("BEGIN")
    locks = sorted(unique._lock_of(("acme", "review", key)) for key in keys)
    await connection.execute(unique._LOCK, locks)


async def test_a_unique_key_that_is_held_keeps_nobody_else_back(
    world: World, postgres_worlds: PostgresWorlds
) -> None:
    async with postgres_worlds.connection(world) as other:
        await hold_unique(other, "held")
        waiting = await standing(world.store.submit(new_task(unique_key="held", idempotency=KEY)))
        news = [
            *(new_task(unique_key=f"key {n}") for n in range(300)),
            *(new_task(unique_key="held", tenant=f"tenant {n}") for n in range(50)),
            *(new_task(idempotency=KEY._replace(key=f"other {n}")) for n in range(50)),
        ]
        random.Random(3).shuffle(news)
        async with asyncio.timeout(PATIENCE):
            answers = await asyncio.gather(*map(world.store.submit, news))
        assert not waiting.done()
        assert {answer.task_id for answer in answers} == {new.id for new in news}
        await other.execute("COMMIT")
        async with asyncio.timeout(PATIENCE):
            answer = await waiting
    assert not answer.replayed
    again = await world.store.submit(new_task(idempotency=KEY, unique_key="held"))
    assert (again.task_id, again.replayed) == (answer.task_id, True)


async def test_many_that_wait_for_one_key_get_the_same_task(
    world: World, postgres_worlds: PostgresWorlds
) -> None:
    async with postgres_worlds.connection(world) as other:
        await hold_unique(other, "a", "b")
        waiting = [
            await standing(asyncio.gather(*(world.store.submit(each) for each in news)))
            for news in [[new_task(unique_key=key) for _ in range(40)] for key in ("a", "b")]
        ]
        await world.submit(unique_key="c")
        await other.execute("ROLLBACK")
        async with asyncio.timeout(PATIENCE):
            found = [await each for each in waiting]
    for answers in found:
        assert len({answer.task_id for answer in answers}) == 1
        assert sum(not answer.replayed for answer in answers) == 1


async def test_after_its_patience_only_those_with_that_unique_key_are_refused(
    world: World, postgres_worlds: PostgresWorlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "PATIENCE", 0.3)
    news = [new_task(unique_key="held", idempotency=KEY) for _ in range(3)]
    others = [new_task(unique_key=f"key {n}") for n in range(12)]
    async with postgres_worlds.connection(world) as other:
        await hold_unique(other, "held")
        answers = await asyncio.gather(
            *(world.store.submit(each) for each in (*news, *others)), return_exceptions=True
        )
        assert {type(answer) for answer in answers[:3]} == {unique.UniqueKeyHeld}
        assert all(isinstance(answer, Submitted) for answer in answers[3:])
        await other.execute("ROLLBACK")
    # Who was refused has used no key.
    assert not (await world.store.submit(new_task(unique_key="held", idempotency=KEY))).replayed


async def test_no_more_wait_for_held_keys_than_there_is_room_for(
    world: World, postgres_worlds: PostgresWorlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "_MOST", 2)
    async with postgres_worlds.connection(world) as other:
        await hold_unique(other, "a", "b")
        waiting = [
            await standing(world.store.submit(new_task(unique_key=key))) for key in ("a", "b")
        ]
        calls = [world.store.submit(new_task(unique_key="a")) for _ in range(8)]
        answers = await asyncio.gather(
            *(asyncio.wait_for(call, PATIENCE) for call in calls), return_exceptions=True
        )
        assert unique.UniqueKeyHeld in set(map(type, answers))
        await other.execute("ROLLBACK")
        async with asyncio.timeout(PATIENCE):
            assert not any([(await each).replayed for each in waiting])


async def test_a_store_that_closes_refuses_what_waits_for_a_key(
    stores: list[Store], world: World, postgres_worlds: PostgresWorlds
) -> None:
    async with postgres_worlds.connection(world) as other:
        await hold_unique(other, "held")
        waiting = await standing(stores[1].submit(new_task(unique_key="held")))
        async with asyncio.timeout(PATIENCE):
            await stores[1].close()
            await refused(waiting, StoreUnavailable)
        await other.execute("ROLLBACK")
    assert not (await world.store.submit(new_task(unique_key="held"))).replayed


def test_of_one_batch_so_many_unique_keys_are_locked_and_no_more() -> None:
    news = [new_task(unique_key=f"key {n}") for n in range(unique.MOST_LOCKS + 5)]
    news.insert(0, new_task(idempotency=KEY))
    assert submitting.seconds(news) == {id(new) for new in news[-5:]}
    locks = {unique._lock_of(unique.key_of(new)) for new in news[1:]}
    assert len(locks) == len(news) - 1, "keys share no lock"


async def alive(world: World, key: str) -> list[str]:
    """The tasks with a key that are not over, by the table of keys and that of tasks."""
    found = await world.store.find(EVERYBODY, Filter(tag=key, limit=1_000))
    return [task.id for task in found if task.status not in SETTLED]


async def test_there_are_never_two_whatever_comes_together(
    world: World, stores: list[Store], postgres_worlds: PostgresWorlds
) -> None:
    """Submits, ends, redrives, cancels and run times of the same few keys, all at once."""
    keys = ["a", "b", "c"]
    turns = 25
    most: Counter[str] = Counter()
    over = asyncio.Event()

    async def people(store: Store, seed: int) -> None:
        choose = random.Random(seed)
        for turn in range(turns):
            names = choose.sample(keys, 2)
            news = [
                new_task(
                    unique_key=name,
                    tags=(name,),
                    debounce=choose.random() < 0.5,
                    delay=choose.choice([0.0, 60.0]),
                    idempotency=Idempotency("s", f"{seed}/{turn}/{name}", "content"),
                )
                for name in names
            ]
            await asyncio.gather(*(store.submit(new) for new in news))

    async def work(store: Store, hand: Hand, seed: int) -> None:
        choose = random.Random(seed)
        while not over.is_set():
            for claimed in await store.claim(demand(hand, 3)):
                outcome = succeeded() if choose.random() < 0.3 else failed(None)
                await store.settle(claimed.lease, outcome)
            await store.release_due(10)
            await asyncio.sleep(0.002)

    async def operate(store: Store, seed: int) -> None:
        choose = random.Random(seed)
        while not over.is_set():
            dead = await store.find(EVERYBODY, Filter(statuses=(Status.DEAD_LETTER,), limit=50))
            for task in choose.sample(list(dead), min(3, len(dead))):
                await suppressing(store.redrive(task.id, EVERYBODY, "ada", Resume(), 2))
            for key in keys:
                most[key] = max(most[key], len(await alive(world, key)))
                for task_id in (await alive(world, key))[:1]:
                    if choose.random() < 0.3:
                        await suppressing(store.cancel(task_id, EVERYBODY, ASKED))

    async def submit_all() -> None:
        await asyncio.gather(*(people(store, seed) for seed, store in enumerate(stores)))
        over.set()

    hands = [await world.worker() for _ in stores[:2]]
    before = await deadlocks(postgres_worlds)
    async with asyncio.timeout(60):
        await asyncio.gather(
            submit_all(),
            *(
                work(store, hand, seed)
                for seed, (store, hand) in enumerate(zip(stores, hands, strict=False))
            ),
            *(operate(store, seed) for seed, store in enumerate(stores[:2])),
        )
    assert await deadlocks(postgres_worlds) == before
    assert set(most.values()) == {1}
    for key in keys:
        assert len(await alive(world, key)) <= 1


async def suppressing(call: Any) -> None:
    try:
        await call
    except Conflict:
        return


# Quotas


async def test_one_quota_is_kept_by_all(world: World, stores: list[Store]) -> None:
    await world.store.quotas.set(Quota("acme", 50))
    for store in stores:
        store._engine.limits.forget()  # type: ignore[attr-defined]

    async def flood(store: Store) -> list[Submitted | BaseException]:
        found: list[Submitted | BaseException] = []
        for size in (1, 7, 30, 40):
            found += await asyncio.gather(
                *(store.submit(new_task(priority=n % 2)) for n in range(size)),
                return_exceptions=True,
            )
        return found

    answers = [answer for found in await asyncio.gather(*map(flood, stores)) for answer in found]
    assert sum(isinstance(answer, Submitted) for answer in answers) == 50
    assert all(isinstance(answer, Submitted | TenantFull) for answer in answers)
    assert len(await world.store.find(Scope("acme"), Filter(limit=200))) == 50
    assert (await stores[1].quotas.get("acme")).waiting == 50


async def test_a_quota_that_another_process_sets_counts_within_a_second(
    world: World, stores: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Limits, "AGE", 3_600.0)
    await stores[1].submit(new_task())
    await world.store.quotas.set(Quota("acme", 0))
    await refused(world.store.submit(new_task()), TenantFull)
    await stores[1].submit(new_task())
    monkeypatch.setattr(Limits, "AGE", 0.0)
    stores[1]._engine.limits.forget()  # type: ignore[attr-defined]
    await refused(stores[1].submit(new_task()), TenantFull)
