"""The answer to a COMMIT is lost: the store looks what was done, and says that.

Each verb is done once through a proxy that lets its writes through and cuts the connection, before
the answer or at once. What it answers, and what is kept, is what it is without the fault.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stagepost.errors import LeaseLost, StoreUnavailable, TenantFull
from stagepost.mass import Kind, MassChange
from stagepost.outcome import Cancelled, Drained, Outcome, Waiting
from stagepost.quota import Quota
from stagepost.records import ApiKey, Filter, Idempotency, UploadRecord, WorkerRecord
from stagepost.retention import Erasure
from stagepost.signals import NewWait, Pending, Signal
from stagepost.task import Status
from stagepost.waiting import SignalSent
from support.fences import artifact
from support.lost_answers import Scene
from support.postgres_proxy import Fault
from support.tasks import failed, succeeded, waiting
from support.world import (
    ASKED,
    EVERYBODY,
    World,
    checkpoint,
    new_id,
    new_task,
    note,
    refused,
)

KEY = Idempotency("submit", "key", "content")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"priority": 1},
        {"idempotency": KEY},
        {"unique_key": "a"},
        {"idempotency": KEY, "unique_key": "a", "debounce": True},
    ],
    ids=str,
)
async def test_a_submit_is_kept_once(scene: Scene, changes: dict[str, Any]) -> None:
    world, new = scene.world, new_task(**changes)
    submitted = await scene.losing(world.store.submit(new))
    assert (submitted.task_id, submitted.status) == (new.id, Status.QUEUED)
    assert not submitted.replayed
    assert await world.kinds(new.id) == ["queued"]
    assert [claimed.task_id for claimed in await world.claim(5)] == [new.id]


async def test_a_submit_counts_once_in_a_quota(scene: Scene) -> None:
    world = scene.world
    await world.store.quotas.set(Quota("acme", 3))
    for changes in ({}, {"unique_key": "a"}):
        await scene.losing(world.store.submit(new_task(**changes)))
    assert (await world.store.quotas.get("acme")).waiting == 2
    await world.submit()
    await refused(world.submit(), TenantFull)


async def test_an_answer_in_place_of_a_new_task_is_the_same_again(scene: Scene) -> None:
    world = scene.world
    first = await world.store.submit(new_task(unique_key="a", debounce=True, delay=60.0))
    new = new_task(unique_key="a", debounce=True, delay=60.0, input='"2"', idempotency=KEY)
    answer = await scene.losing(world.store.submit(new))
    assert (answer.task_id, answer.replayed) == (first.task_id, True)
    assert (await world.view(first.task_id)).input == '"2"'
    assert (await world.store.submit(new_task(idempotency=KEY))).task_id == first.task_id


async def test_many_submits_at_once_are_each_kept_once(scene: Scene) -> None:
    news = [new_task(priority=n % 3) for n in range(60)]
    answers = await scene.losing(asyncio.gather(*map(scene.world.store.submit, news)))
    assert [answer.task_id for answer in answers] == [new.id for new in news]
    for new in news[::7]:
        assert await scene.world.kinds(new.id) == ["queued"]
    assert len(await scene.world.claim(100)) == 60


async def test_a_claim_takes_each_task_once_and_loses_none(scene: Scene) -> None:
    world = scene.world
    submitted = [await world.submit() for _ in range(3)]
    await world.hand()
    claimed = await scene.losing(world.claim(3))
    assert [task.task_id for task in claimed] == submitted
    for task in claimed:
        found = await world.task(task.task_id)
        assert (found.status, found.lease) == (Status.RUNNING, task.lease)
        assert (found.attempt, found.lost_claims) == (1, 0)
        await world.store.settle(task.lease, succeeded())
    assert await world.claim(5) == []


ENDS: dict[str, tuple[Outcome, Status, str]] = {
    "succeeded": (succeeded(), Status.COMPLETED, "completed"),
    "failed": (failed(5.0), Status.FAILED, "retrying"),
    "dead": (failed(None), Status.DEAD_LETTER, "failed"),
    "waiting": (waiting(), Status.WAITING, "waiting"),
    "drained": (Drained(), Status.QUEUED, "queued"),
    "cancelled": (Cancelled(ASKED), Status.CANCELLED, "cancelled"),
}


@pytest.mark.parametrize("noted", [False, True], ids=["alone", "with progress"])
@pytest.mark.parametrize("end", ENDS)
async def test_an_end_counts_once(scene: Scene, end: str, noted: bool) -> None:  # noqa: FBT001
    outcome, status, kind = ENDS[end]
    world = scene.world
    claimed = await world.running()
    told = note(40, "nearly") if noted else None
    await scene.losing(world.store.settle(claimed.lease, outcome, told))
    assert await world.status(claimed.task_id) is status
    kinds = await world.kinds(claimed.task_id)
    assert kinds == ["queued", "started", *(["progress"] if noted else []), kind]
    await refused(world.store.settle(claimed.lease, outcome), LeaseLost)


async def test_a_late_end_is_refused_though_its_answer_is_lost(scene: Scene) -> None:
    world = scene.world
    stale = await world.running()
    await world.store.checkpoint(stale.lease, checkpoint())
    await world.lose()
    await world.reclaim(stale.task_id)
    await refused(scene.losing(world.store.settle(stale.lease, succeeded())), LeaseLost)
    assert await world.status(stale.task_id) is Status.RUNNING


async def test_a_checkpoint_is_saved_once(scene: Scene) -> None:
    world = scene.world
    claimed = await world.running()
    await scene.losing(world.store.checkpoint(claimed.lease, checkpoint(), note(30)))
    assert len(await world.store.steps(claimed.task_id)) == 1
    kinds = await world.kinds(claimed.task_id)
    assert [kind for kind in kinds if kind == "step"] == ["step"]
    assert (await world.task(claimed.task_id)).saved_steps == 1


WAIT = NewWait("wait_for go", "wait_for go", "hash", "go")


async def test_a_signal_is_kept_once_and_heard_once(scene: Scene) -> None:
    waits = scene.world.store.waits
    claimed = await scene.world.running()
    first = await scene.losing(waits.sleep(claimed.lease, "sleep", 60.0))
    assert await waits.sleep(claimed.lease, "sleep", 60.0) == first
    assert await scene.losing(waits.listen(claimed.lease, WAIT)) == Pending(None, None)
    for number in (1, 2):
        signal = Signal(new_id(), "go", str(number), "ada")
        await scene.losing(waits.send(claimed.task_id, EVERYBODY, signal))
    text = await scene.losing(waits.listen(claimed.lease, WAIT))
    assert text.startswith("[1,")
    assert (await scene.world.kinds(claimed.task_id)).count("step") == 1
    second = await waits.listen(claimed.lease, WAIT._replace(path="wait_for go#2"))
    assert str(second).startswith("[2,")
    third = WAIT._replace(path="wait_for go#3")
    assert await waits.listen(claimed.lease, third) == Pending(None, None)


async def test_a_wake_is_done_once(scene: Scene) -> None:
    world = scene.world
    claimed = await world.running()
    parked = Waiting((SignalSent("go", WAIT.path),))
    await world.store.waits.listen(claimed.lease, WAIT)
    await world.store.settle(claimed.lease, parked)
    signal = Signal(new_id(), "go", "1", "ada")
    await scene.losing(world.store.waits.send(claimed.task_id, EVERYBODY, signal))
    assert (await world.kinds(claimed.task_id))[-2:] == ["waiting", "queued"]
    again = await world.reclaim(claimed.task_id)
    await scene.losing(world.store.settle(again.lease, parked))
    assert (await world.kinds(claimed.task_id))[-2:] == ["started", "queued"]
    assert await world.last(claimed.task_id) == {"reason": "woken"}


async def test_an_artifact_is_kept_once(scene: Scene) -> None:
    claimed = await scene.world.running()
    await scene.losing(scene.world.store.attach(claimed.lease, artifact()))
    assert len(await scene.world.store.artifacts(claimed.task_id)) == 1


async def test_what_people_ask_for_is_done_once(scene: Scene) -> None:
    world = scene.world
    task_id = await world.settled(failed(None))
    task = await scene.losing(world.redrive(task_id))
    assert task.status is Status.QUEUED
    assert (await world.kinds(task_id)).count("redriven") == 1
    cancelled = await scene.losing(world.cancel(task_id))
    assert cancelled.status is Status.CANCELLED
    assert (await world.kinds(task_id)).count("cancelled") == 1
    dead = await world.settled(failed(None))
    discarded = await scene.losing(world.store.discard(dead, EVERYBODY, ASKED))
    assert discarded.status is Status.CANCELLED
    assert (await world.kinds(dead)).count("cancelled") == 1


UPLOAD = UploadRecord("file", "acme", "a.pdf", "application/pdf", 7, "sha")
KEYED = ApiKey("id", "ci", "acme", ("read",), "hash")

ONCE: dict[str, Callable[[World], Awaitable[Any]]] = {
    "register": lambda world: world.store.register(WorkerRecord(new_id(), "w", (), (), 1, "1")),
    "stage": lambda world: world.store.stage("blob"),
    "keep_upload": lambda world: world.store.keep_upload(UPLOAD),
    "add_key": lambda world: world.store.add_key(KEYED),
    "ping": lambda world: world.store.ping(),
}


@pytest.mark.parametrize("verb", ONCE)
async def test_a_verb_that_can_be_done_once_is_no_conflict_with_itself(
    scene: Scene, verb: str
) -> None:
    await scene.losing(ONCE[verb](scene.world))


async def test_what_the_loops_do_is_done_once(scene: Scene) -> None:
    world = scene.world
    claimed = await world.running()
    await scene.losing(world.store.rescue(older_than=0))
    assert (await world.kinds(claimed.task_id))[-1] == "retrying"
    world.clock.advance(1)
    await world.store.release_due(10)
    hand = await world.worker()
    (again,) = await world.claim(by=hand)
    await scene.losing(world.store.retire(hand.id))
    assert (await world.kinds(again.task_id))[-2:] == ["started", "queued"]
    assert await world.store.workers() == []


async def test_bells_ring_for_what_was_done_unheard(scene: Scene) -> None:
    world = scene.world
    claimed = await world.running()
    world.bells.clear()
    await scene.losing(world.store.settle(claimed.lease, succeeded()))
    assert claimed.task_id in [task_id for bell in world.bells for task_id in bell.events]


async def test_a_database_that_does_not_come_back_leaves_the_caller_in_doubt(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stagepost.stores.postgres.transaction._DOUBT_LIMIT", 0.3)
    world, new = scene.world, new_task()
    # So many connections that one is idle whatever else is going on.
    await asyncio.gather(world.submit(), *(world.store.ping() for _ in range(4)), world.claim())
    scene.proxy.fault = Fault(scene.answered)
    scene.proxy.refusing = True
    refusal = await refused(world.store.submit(new), StoreUnavailable)
    assert "look whether it was done" in str(refusal)
    scene.proxy.refusing = False


async def test_what_is_taken_away_is_taken_once(scene: Scene) -> None:
    world = scene.world
    task_id = await world.settled(succeeded())
    wish = Erasure("eve", (await world.task(task_id)).seq, "hash")
    stone, _ = await scene.losing(world.store.retention.erase(task_id, EVERYBODY, wish))
    assert stone == await world.store.retention.tombstone(task_id, EVERYBODY)
    await world.settled(succeeded())
    await scene.losing(world.store.retention.prune_tasks("", older_than=0.0, limit=10))
    assert await world.store.find(EVERYBODY, Filter()) == []
    await world.store.stage(key := new_id())
    await scene.losing(world.store.retention.forget_blobs([key], older_than=0.0))
    assert await world.store.retention.strange_blobs([key]) == [key]


async def test_a_change_of_many_is_kept_and_goes_on_once(scene: Scene) -> None:
    world = scene.world
    ids = [await world.settled(failed(None)) for _ in range(3)]
    dead = Filter(statuses=(Status.DEAD_LETTER,))
    of = MassChange(
        id=new_id(), kind=Kind.REDRIVE, scope=EVERYBODY, by="ada", where=dead, canary=2,
        attempts={"review": 2},
    )  # fmt: skip
    assert (await scene.losing(world.store.mass.begin(of))).matched == 3
    advanced = await scene.losing(world.store.mass.advance(of.id))
    assert advanced.progress.sent in {0, 2}
    progress = await world.store.mass.progress(of.id, of.kind, EVERYBODY)
    assert progress.sent == 2
    assert sum([(await world.kinds(each)).count("redriven") for each in ids]) == 2
    await scene.losing(world.store.mass.stop(of.id, of.kind, EVERYBODY, "enough"))
    assert (await world.store.mass.progress(of.id, of.kind, EVERYBODY)).why == "enough"
