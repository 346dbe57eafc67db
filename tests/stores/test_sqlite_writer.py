"""The writer: group commits, bad intents, full queues, and the end."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from stagepost.errors import Conflict, QueueFull, StoreUnavailable, Unwritable
from stagepost.records import Filter
from stagepost.stores.sqlite import SqliteStore, intents
from stagepost.stores.sqlite.intents import Intent, Kind
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.sqlite.writer import Writer
from stagepost.task import Lease, Status
from support.leftovers import nothing_left
from support.tasks import succeeded
from support.waiting import PATIENCE, until
from support.world import (
    EVERYBODY,
    World,
    a_world,
    checkpoint,
    new_id,
    new_task,
    note,
    open_sqlite,
    refused,
    standing,
)

ALL = Filter(limit=10_000)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    with nothing_left():
        async with a_world(open_sqlite, tmp_path / "data") as world:
            yield world


def writer_of(world: World) -> Writer:
    assert isinstance(world.store, SqliteStore)
    return world.store._writer


@asynccontextmanager
async def held(world: World) -> AsyncIterator[None]:
    """The writer is busy for the length of the block, so that what is put gathers in one batch."""
    busy, go_on = threading.Event(), threading.Event()

    def hold(tx: Transaction, arguments: list[None]) -> Sequence[None]:
        busy.set()
        assert go_on.wait(PATIENCE)
        return arguments

    holding = asyncio.ensure_future(writer_of(world).call(Kind.LIFE, hold, None))
    await until(busy.is_set)
    try:
        yield
    finally:
        go_on.set()
        await holding


async def gather_held(world: World, *calls: Any) -> list[Any]:
    """Results of calls that are written in one batch."""
    async with held(world):
        waiting = asyncio.gather(*calls, return_exceptions=True)
        await asyncio.sleep(0.02)
    return await waiting


async def settled(world: World, lease: Lease) -> None:
    """A settlement that is asked for only when it is awaited."""
    await world.store.settle(lease, succeeded())


async def test_what_gathers_is_one_commit(world: World) -> None:
    await gather_held(world, *(world.submit() for _ in range(50)))
    assert [len(bell.events) for bell in world.bells] == [50]


async def test_a_claim_sees_what_its_batch_queued(world: World) -> None:
    hand = await world.hand()
    claims, *_ = await gather_held(world, world.claim(9, by=hand), *(world.submit() for _ in "ab"))
    assert len(claims) == 2
    assert len(world.bells) == 1


async def test_an_end_is_written_after_what_its_claim_has_in_flight(world: World) -> None:
    claimed = await world.running()
    store, lease = world.store, claimed.lease
    answers = await gather_held(
        world,
        world.cancel(claimed.task_id),
        settled(world, lease),
        store.checkpoint(lease, checkpoint()),
        store.progress(lease, note(20)),
    )
    assert [type(answer) for answer in answers[1:]] == [type(None)] * 3
    assert isinstance(answers[0], Conflict)
    assert await world.kinds(claimed.task_id) == [
        "queued", "started", "progress", "step", "completed",
    ]  # fmt: skip


async def test_a_last_word_in_the_batch_of_a_rescue_counts(world: World) -> None:
    claimed = await world.running()
    world.clock.advance(60)
    rescue, answer = await gather_held(
        world,
        world.store.rescue(older_than=15),
        settled(world, claimed.lease),
    )
    assert (rescue.tasks, answer) == ((), None)
    assert await world.status(claimed.task_id) is Status.COMPLETED


async def test_the_writer_sleeps_while_claims_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.hand()
    inbox, looks = writer_of(world)._inbox, []
    wait = inbox.wait

    def counted(timeout: float | None) -> None:
        looks.append(timeout)
        wait(timeout)

    monkeypatch.setattr(inbox, "wait", counted)
    assert await world.claim(wait=0.2) == []
    assert len(looks) < 10


# Bad intents


def half_done(tx: Transaction, arguments: list[Exception]) -> Sequence[None]:
    """Writes something, and then meets a fault."""
    tx.execute("INSERT INTO meta VALUES ('half', 'done')")
    tx.events.append("half")
    tx.cancels.append("half")
    tx.counts["type", "lane", "half"] += 1
    raise arguments[0]


def wrong_count(tx: Transaction, arguments: list[None]) -> Sequence[None]:
    return [None, None, None]


FAULTS = [
    (RuntimeError("a fault"), StoreUnavailable),
    (ValueError("a fault"), Unwritable),
    (OverflowError("a fault"), Unwritable),
    (Conflict("taken"), Conflict),
    (AssertionError("a fault"), StoreUnavailable),
]


@pytest.mark.parametrize(("fault", "told"), FAULTS, ids=repr)
async def test_a_bad_intent_harms_no_neighbour(
    world: World, fault: Exception, told: type[Exception]
) -> None:
    hand = await world.hand()
    claimed = await world.running()
    world.bells.clear()
    writer = writer_of(world)
    bad = writer.call(Kind.CHANGE, half_done, fault)
    answers = await gather_held(
        world,
        world.submit(),
        bad,
        world.store.checkpoint(claimed.lease, checkpoint(), note(9)),
        world.submit(priority=1),
        world.claim(9, by=hand),
    )
    assert [type(answer) for answer in answers] == [str, told, type(None), str, list]
    assert [task.task_id for task in answers[4]] == [answers[3], answers[0]]
    assert len(world.bells) == 1
    assert len(world.bells[0].events) == 6
    assert world.bells[0].cancels == []
    assert world.bells[0].counts == {
        ("review", "interactive", "queued"): 2,
        ("review", "interactive", "started"): 2,
    }
    assert await world.kinds(claimed.task_id) == ["queued", "started", "progress", "step"]
    # Nothing of it was kept: the same can be written again.
    await refused(writer.call(Kind.CHANGE, half_done, fault), told)


async def test_of_many_bad_intents_each_is_told(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    writer = writer_of(world)
    bad = [writer.call(Kind.CHANGE, half_done, Conflict(str(n))) for n in range(20)]
    answers = await gather_held(world, *bad, *(world.submit() for _ in range(20)))
    assert [str(answer) for answer in answers[:20]] == [str(n) for n in range(20)]
    assert {await world.status(task_id) for task_id in answers[20:]} == {Status.QUEUED}
    told = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == 1


async def test_an_applier_that_miscounts_is_a_fault_of_its_own(world: World) -> None:
    bad = writer_of(world).call(Kind.CHANGE, wrong_count, None)
    answers = await gather_held(world, bad, world.submit())
    assert [type(answer) for answer in answers] == [Unwritable, str]


async def test_a_bad_claim_harms_no_waiting_one(world: World) -> None:
    waiting = await standing(world.claim(wait=60.0))

    def fail(tx: Transaction, arguments: list[None]) -> Sequence[None]:
        raise RuntimeError("a fault")

    bad = writer_of(world).call(Kind.CLAIM, fail, None, wait=60.0)
    answer, task_id = await gather_held(world, bad, world.submit())
    assert isinstance(answer, StoreUnavailable)
    assert [claimed.task_id for claimed in await waiting] == [task_id]


async def test_an_applier_that_ends_the_transaction_does_not_end_the_writer(world: World) -> None:
    def commit(tx: Transaction, arguments: list[None]) -> Sequence[None]:
        tx.execute("COMMIT")
        return [None]

    await refused(writer_of(world).call(Kind.CHANGE, commit, None), StoreUnavailable)
    assert await world.status(await world.submit()) is Status.QUEUED


async def test_answers_to_callers_that_have_gone_are_dropped(world: World) -> None:
    async with held(world):
        calls = [asyncio.ensure_future(world.submit()) for _ in range(5)]
        await asyncio.sleep(0.01)
        for call in calls[:3]:
            call.cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [True] * 3 + [
        False
    ] * 2
    assert len(await world.store.find(EVERYBODY, ALL)) == 5


# Bounds


async def test_a_full_queue_refuses_submits_and_lets_the_others_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed = await world.running()
    hand = await world.hand()
    monkeypatch.setattr(intents, "MOST_INTENTS", 4)
    async with held(world):
        submits = [asyncio.ensure_future(world.submit()) for _ in range(4)]
        await asyncio.sleep(0.01)
        await refused(world.submit(), QueueFull)
        others = [
            asyncio.ensure_future(call)
            for call in (
                world.store.beat(hand.id, "running"),
                world.store.checkpoint(claimed.lease, checkpoint()),
                world.claim(9, by=hand),
                world.cancel(claimed.task_id),
            )
        ]
        await asyncio.sleep(0.02)
        assert not any(other.done() for other in others)
    await asyncio.gather(*submits, *others)
    assert await world.status(await world.submit()) is Status.QUEUED


async def test_large_intents_are_bounded_by_their_bytes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intents, "MOST_BYTES", 100_000)
    large = '"' + "x" * 30_000 + '"'
    async with held(world):
        submits = [asyncio.ensure_future(world.submit(input=large)) for _ in range(3)]
        await asyncio.sleep(0.01)
        await refused(world.submit(input=large), QueueFull)
        small = asyncio.ensure_future(world.submit())
        await asyncio.sleep(0.01)
    await asyncio.gather(*submits, small)
    # All that was taken is free again.
    await asyncio.gather(*(world.submit(input=large) for _ in range(3)))


async def test_waiting_for_room_has_an_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intents, "MOST_INTENTS", 1)
    monkeypatch.setattr(intents, "_ROOM_LIMIT", 0.02)
    async with held(world):
        waiting = asyncio.ensure_future(world.submit())
        await asyncio.sleep(0.01)
        refusal = await refused(world.store.stage(new_id()), StoreUnavailable)
    assert "has not kept up" in str(refusal)
    await waiting


async def test_no_kind_starves_under_a_flood_of_submits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intents, "_BATCH", 20)
    monkeypatch.setattr(intents, "_EACH", 2)
    claimed = await world.running()
    hand = await world.hand()
    ended: list[str] = []

    async def named(name: str, call: Any) -> None:
        await call
        ended.append(name)

    async with held(world):
        flood = [asyncio.ensure_future(named("submit", world.submit())) for _ in range(200)]
        await asyncio.sleep(0.01)
        store, lease = world.store, claimed.lease
        calls = {
            "progress": store.progress(lease, note(5)),
            "step": store.checkpoint(lease, checkpoint()),
            "change": world.cancel(claimed.task_id),
            "life": store.beat(hand.id, "running"),
        }
        others = [asyncio.ensure_future(named(name, call)) for name, call in calls.items()]
        await asyncio.sleep(0.01)
    await asyncio.gather(*flood, *others)
    # All of the other kinds were in the first batch, or close to it.
    assert max(ended.index(name) for name in calls) < 40


async def test_a_batch_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intents, "_BATCH", 20)
    monkeypatch.setattr(intents, "_EACH", 2)
    await gather_held(world, *(world.submit() for _ in range(50)))
    assert [len(bell.events) for bell in world.bells] == [20, 20, 10]


# The end


async def test_closing_answers_everybody(tmp_path: Path) -> None:
    with nothing_left():
        async with a_world(open_sqlite, tmp_path / "data") as world:
            hand = await world.hand()
            claimed = await world.running()
            store = world.store
            waiting = await standing(world.claim(by=hand, wait=60.0))
            async with held(world):
                calls = [
                    *(world.submit() for _ in range(10)),
                    store.settle(claimed.lease, succeeded()),
                    store.ping(),
                    *(world.view(claimed.task_id) for _ in range(50)),
                ]
                futures = [asyncio.ensure_future(call) for call in calls]
                await asyncio.sleep(0.01)
                closing = asyncio.ensure_future(store.close())
                await asyncio.sleep(0.01)
            async with asyncio.timeout(PATIENCE):
                answers = await asyncio.gather(*futures, return_exceptions=True)
                assert len(await waiting) <= 1
                await closing
            # What was queued is done; what was being read is read or refused in words.
            assert not any(isinstance(answer, BaseException) for answer in answers[:12])
            assert all(
                isinstance(answer, StoreUnavailable) or not isinstance(answer, BaseException)
                for answer in answers[12:]
            )
            await world.open()
            assert len(await world.store.find(EVERYBODY, ALL)) == 11


async def test_after_the_end_everything_is_refused_in_words(tmp_path: Path) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        claimed = await world.running()
        hand = await world.hand()
        store = world.store
        await store.close()
        for call in (
            world.submit(), world.claim(by=hand), store.ping(), store.beat(hand.id, "running"),
            store.settle(claimed.lease, succeeded()), world.view(claimed.task_id),
            store.find(EVERYBODY, ALL), store.release_due(1), store.rescue(older_than=0),
        ):  # fmt: skip
            refusal = await refused(call, StoreUnavailable)
            assert "closing" in str(refusal)
        await store.close()


async def test_a_put_that_comes_as_the_thread_ends_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        writer = writer_of(world)
        put = writer._inbox.put

        def end_and_put(intent: Intent) -> None:
            writer.end()
            put(intent)

        monkeypatch.setattr(writer._inbox, "put", end_and_put)
        async with asyncio.timeout(PATIENCE):
            await refused(world.store.submit(new_task()), StoreUnavailable)


async def test_a_store_opens_and_closes_again_and_again(tmp_path: Path) -> None:
    with nothing_left():
        for _ in range(5):
            async with a_world(open_sqlite, tmp_path / "data") as world:
                await asyncio.gather(*(world.submit() for _ in range(3)))
                await world.store.lanes(["interactive"])
