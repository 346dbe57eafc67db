"""Several stores on one database, as several processes have them."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stagepost.errors import Conflict, LeaseLost
from stagepost.outcome import Waiting
from stagepost.records import Claimed, Demand, Idempotency
from stagepost.signals import NewWait, Pending, Signal
from stagepost.store import Store
from stagepost.stores.postgres.standing import Claims
from stagepost.task import SETTLED, Status
from stagepost.waiting import SignalSent
from support.postgres_worlds import PostgresWorlds
from support.tasks import failed, succeeded
from support.waiting import PATIENCE
from support.world import (
    ASKED,
    EVERYBODY,
    Hand,
    World,
    a_world,
    checkpoint,
    demand,
    new_id,
    new_task,
    refused,
    standing,
)


@pytest.fixture
async def world(postgres_worlds: PostgresWorlds, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(postgres_worlds.open, tmp_path / "data") as world:
        yield world


async def test_no_wake_is_lost_between_processes(world: World, others: list[Store]) -> None:
    """One parks, another sends a signal, the third looks for what is due, all at once."""
    sender, keeper = others
    wait = NewWait("wait_for go", "wait_for go", "hash", "go")
    claims = [await world.running() for _ in range(40)]

    async def live(claimed: Claimed) -> None:
        waits = world.store.waits
        while isinstance(await waits.listen(claimed.lease, wait), Pending):
            outcome = Waiting((SignalSent("go", wait.path),))
            await world.store.settle(claimed.lease, outcome)
            async with asyncio.timeout(PATIENCE):
                while await world.status(claimed.task_id) is not Status.QUEUED:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            return
        await world.store.settle(claimed.lease, succeeded())

    async def send(claimed: Claimed) -> None:
        await asyncio.sleep(random.uniform(0, 0.1))
        await sender.waits.send(claimed.task_id, EVERYBODY, Signal(new_id(), "go", "1", "ada"))

    async def keep() -> None:
        for _ in range(20):
            await keeper.release_due(10)
            await asyncio.sleep(0.01)

    await asyncio.gather(keep(), *map(live, claims), *map(send, claims))
    woken = {claimed.task_id: claimed for claimed in await world.claim(100)}
    for claimed in woken.values():
        text = await world.store.waits.listen(claimed.lease, wait)
        assert str(text).startswith("[1,")
    assert woken, "some were parked before their signal came"


async def deadlocks(worlds: PostgresWorlds) -> int:
    rows = await worlds.run(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = $1", "stagepost"
    )
    return int(rows[0][0])


async def test_a_task_is_claimed_by_one_of_them(world: World, others: list[Store]) -> None:
    submitted = await asyncio.gather(*(world.submit() for _ in range(300)))
    stores = [world.store, *others]

    async def work(store: Store, hand: Hand) -> list[str]:
        taken: list[str] = []
        for _ in range(200):
            claims = await store.claim(demand(hand, 7))
            if not claims and len(taken) > 0:
                break
            for claimed in claims:
                await store.settle(claimed.lease, succeeded())
            taken += [claimed.task_id for claimed in claims]
        return taken

    hands = [await world.worker() for _ in stores]
    shares = await asyncio.gather(*map(work, stores, hands))
    left = [claimed.task_id for claimed in await world.claim(300)]
    taken = [task_id for share in shares for task_id in share] + left
    assert sorted(taken) == sorted(submitted)
    assert all(shares)


async def test_a_late_writer_elsewhere_is_refused(world: World, others: list[Store]) -> None:
    stale = await world.running()
    await world.store.checkpoint(stale.lease, checkpoint())
    hand = await world.worker()
    world.clock.advance(60)
    await others[0].beat(hand.id, "running")
    assert (await others[0].rescue(older_than=15)).tasks == (stale.task_id,)
    (current,) = await others[0].claim(demand(hand, 1))
    await refused(world.store.settle(stale.lease, succeeded('"late"')), LeaseLost)
    await refused(world.store.checkpoint(stale.lease, checkpoint("late#1")), LeaseLost)
    await others[1].settle(current.lease, succeeded('"mine"'))
    assert (await world.view(stale.task_id)).result == succeeded('"mine"').result


async def test_a_waiting_claim_is_woken_by_what_another_has_pooled(
    world: World, others: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Claims, "SWEEP", 3_600.0)
    hand = await world.worker()
    waiting = await standing(others[0].claim(demand(hand, 1), wait=3_600.0))
    task_id = await world.submit()
    async with asyncio.timeout(PATIENCE):
        assert [claimed.task_id for claimed in await waiting] == [task_id]


async def test_without_a_bell_the_sweep_finds_it(
    world: World, others: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Claims, "SWEEP", 0.05)
    monkeypatch.setattr(others[0]._engine._claims, "wake", lambda: None)  # type: ignore[attr-defined]
    hand = await world.worker()
    waiting = await standing(others[0].claim(demand(hand, 1), wait=3_600.0))
    task_id = await world.submit()
    async with asyncio.timeout(PATIENCE):
        assert [claimed.task_id for claimed in await waiting] == [task_id]


async def test_rates_are_those_of_all(world: World, others: list[Store]) -> None:
    await world.submit()
    claimed = await world.running(priority=60)
    await world.store.settle(claimed.lease, succeeded())
    async with asyncio.timeout(PATIENCE):
        while True:
            (lane,) = await others[0].lanes(["interactive"])
            if (lane.arrivals, lane.completions) == (2, 1):
                break
            await asyncio.sleep(0.01)


async def test_one_of_them_leads(world: World, others: list[Store]) -> None:
    stores = [world.store, *others]
    for _ in range(3):
        answers = await asyncio.gather(
            *(store.lead("scheduler", f"holder {n}", 10.0) for n, store in enumerate(stores))
        )
        assert sum(answers) == 1
        world.clock.advance(10)


async def test_of_two_rescuers_with_one_snapshot_one_wins(
    world: World, others: list[Store]
) -> None:
    claimed = await world.running()
    rescues = await asyncio.gather(
        *(store.rescue(older_than=0) for store in (world.store, *others))
    )
    assert sorted(len(rescue.tasks) for rescue in rescues) == [0, 0, 1]
    assert await world.kinds(claimed.task_id) == ["queued", "started", "retrying"]


async def test_of_one_idempotency_key_one_task_comes(world: World, others: list[Store]) -> None:
    keys = [Idempotency("submit", f"key {n}", "content") for n in range(20)]
    stores = [world.store, *others]

    async def submit(store: Store) -> list[str]:
        answers = await asyncio.gather(
            *(store.submit(new_task(idempotency=key)) for key in random.sample(keys, len(keys)))
        )
        return [answer.task_id for answer in answers]

    found = await asyncio.gather(*map(submit, stores))
    assert len({task_id for ids in found for task_id in ids}) == len(keys)


async def test_people_workers_and_loops_do_not_lock_each_other_out(
    world: World, others: list[Store], postgres_worlds: PostgresWorlds
) -> None:
    """Claims, ends, cancels, redrives, rescues and drains of the same tasks, all at once."""
    before = await deadlocks(postgres_worlds)
    stores = [world.store, *others]
    ids = await asyncio.gather(*(world.submit(priority=n % 5) for n in range(60)))
    turns = 30

    async def work(store: Store, seed: int) -> None:
        choose = random.Random(seed)
        for _ in range(turns):
            hand = await world.worker()
            claims = await store.claim(Demand(hand.id, 8, hand.turns, hand.types))
            await asyncio.gather(*(end(store, claimed, choose) for claimed in claims))

    async def end(store: Store, claimed: Claimed, choose: random.Random) -> None:
        outcome = choose.choice([failed(None), failed(None), succeeded(), None])
        if outcome is not None:
            await suppressing(store.settle(claimed.lease, outcome))

    async def people(store: Store, seed: int) -> None:
        choose = random.Random(seed)
        for _ in range(4 * turns):
            task_id = choose.choice(ids)
            if choose.random() < 0.2:
                await suppressing(store.cancel(task_id, EVERYBODY, ASKED))
            else:
                await suppressing(world.redrive(task_id))

    async def loops(store: Store) -> None:
        for _ in range(turns):
            await store.rescue(older_than=0)
            await store.release_due(20)
            await store.expire_queued(20)

    await asyncio.gather(
        *(work(store, seed) for seed, store in enumerate(stores)),
        *(people(store, seed) for seed, store in enumerate(stores)),
        *(loops(store) for store in stores[:2]),
    )
    assert await deadlocks(postgres_worlds) == before
    await world.store.rescue(older_than=0)
    statuses = Counter([await world.status(task_id) for task_id in ids])
    assert Status.RUNNING not in statuses
    assert statuses.keys() & SETTLED
    for task_id in ids:
        kinds = await world.kinds(task_id)
        assert kinds.count("completed") + kinds.count("cancelled") <= 1
    queued = sum(status is Status.QUEUED for status in [await world.status(i) for i in ids])
    hand = await world.worker()
    assert len(await world.claim(100, by=hand)) == queued


async def suppressing(call: object) -> None:
    try:
        await call  # type: ignore[misc]
    except Conflict:
        return
