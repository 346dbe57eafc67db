"""What is pruned, erased and sent back of tasks that have started others, or wait for something."""

import asyncio

import pytest

from stagepost.errors import Conflict, Gone, UploadSwept
from stagepost.mass import Kind, MassChange
from stagepost.outcome import Cancelled, Outcome, Waiting
from stagepost.records import Claimed, Filter, UploadRecord
from stagepost.retention import Erasure
from stagepost.signals import NewWait, Signal
from stagepost.stores.postgres import people
from stagepost.stores.sqlite import people as people_of_sqlite
from stagepost.task import Status
from stagepost.waiting import SignalSent
from support.families import (
    again,
    children,
    claim_children,
    let_wake,
    new_batch,
    page,
    spawned,
    statuses,
)
from support.tasks import failed, succeeded
from support.world import ASKED, DAY, EVERYBODY, World, new_id, new_task, refused

MONTH = 30 * DAY
_MOMENT = 0.02  # seconds


async def prune(world: World, older_than: float = MONTH, limit: int = 100) -> int:
    """Sweeps over the tasks, until one finds nothing more.

    Another loop of the store may have a parent in hand, which is then left for the next.
    """
    changed, more = 0, 1
    while more:
        await let_wake(world)
        more = await _sweep(world, older_than, limit)
        changed += more
        await asyncio.sleep(_MOMENT)
    await let_wake(world)
    return changed + await _sweep(world, older_than, limit)


async def _sweep(world: World, older_than: float, limit: int) -> int:
    after: str | None = ""
    changed = 0
    while after is not None:
        found = await world.store.retention.prune_tasks(after, older_than=older_than, limit=limit)
        changed += found.changed
        after = found.after
    return changed


async def erase(world: World, task_id: str) -> None:
    """Erase a task as one that has just looked at it."""
    wish = Erasure("eve", (await world.task(task_id)).seq, "hash")
    await world.store.retention.erase(task_id, EVERYBODY, wish)


async def family(world: World, many: int, end: Outcome) -> tuple[Claimed, list[str]]:
    """A running parent, and so many children that have ended so."""
    parent = await world.running(ttl=10 * MONTH)
    batch = await spawned(world, parent.lease, many)
    for child in await claim_children(world, many):
        await world.store.settle(child.lease, end)
    await let_wake(world)
    return parent, await children(world, batch)


async def a_file(world: World) -> UploadRecord:
    """One that was sent on its own."""
    upload = UploadRecord(new_id(), "acme", "a.pdf", "application/pdf", 7, "sha of a.pdf")
    await world.store.stage(upload.upload_id)
    await world.store.keep_upload(upload)
    return upload


async def unused(world: World) -> list[str]:
    """The files that nothing refers to."""
    return list(await world.store.retention.unreferenced(older_than=0.0, limit=100))


# By age


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_children_go_with_their_parent_and_not_before(world: World, limit: int) -> None:
    parent, ids = await family(world, 3, succeeded())
    world.clock.advance(2 * MONTH)
    assert await prune(world, limit=limit) == 0
    await world.store.settle(parent.lease, succeeded())
    world.clock.advance(MONTH)
    assert await prune(world, limit=limit) == 4
    for task_id in (parent.task_id, *ids):
        await refused(world.view(task_id), Gone)
    assert not await world.store.children.batches(parent.task_id)


async def test_children_of_a_dead_letter_are_kept_for_its_redrive(world: World) -> None:
    parent, ids = await family(world, 2, succeeded())
    await world.store.settle(parent.lease, failed(None))
    world.clock.advance(2 * MONTH)
    assert await prune(world) == 0
    assert (await world.redrive(parent.task_id)).status is Status.QUEUED
    assert [await world.status(task_id) for task_id in ids] == [Status.COMPLETED] * 2


async def test_a_parent_stays_until_its_children_are_over(world: World) -> None:
    parent = await world.running()
    batch = await spawned(world, parent.lease, 2, detached=True, ttl=10 * MONTH)
    done, slow = await claim_children(world, 2)
    await world.store.settle(done.lease, succeeded())
    await world.store.settle(parent.lease, succeeded())
    world.clock.advance(2 * MONTH)
    assert await prune(world) == 0
    await world.store.settle(slow.lease, succeeded())
    assert await prune(world) == 2
    assert await children(world, batch) == [slow.task_id]
    world.clock.advance(MONTH)
    assert await prune(world) == 1


async def test_a_cancel_reaches_grandchildren_before_their_family_is_pruned(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 1)
    (child,) = await claim_children(world, 1)
    below = await spawned(world, child.lease, 1, type="line")
    await world.store.settle(child.lease, failed(None))
    await world.store.settle(parent.lease, Cancelled(ASKED))
    await world.cancel(parent.task_id)
    page_of = await world.store.retention.prune_tasks("", older_than=0.0, limit=100)
    assert page_of.changed in {0, 1}
    await let_wake(world)
    assert await statuses(world, below) == {Status.CANCELLED}
    await prune(world, 0.0)
    await refused(world.view(parent.task_id), Gone)


async def test_a_dead_child_goes_on_without_its_parent(world: World) -> None:
    parent, (child_id,) = await family(world, 1, failed(None))
    await world.store.settle(parent.lease, succeeded())
    world.clock.advance(MONTH)
    assert await prune(world) == 1
    await refused(world.view(parent.task_id), Gone)
    assert (await world.redrive(child_id)).status is Status.QUEUED
    await let_wake(world)
    (child,) = await claim_children(world, 1)
    await world.store.settle(child.lease, succeeded())
    await let_wake(world)
    assert await world.status(child_id) is Status.COMPLETED
    world.clock.advance(MONTH)
    assert await prune(world) == 1


# On request


@pytest.mark.parametrize("dead", [False, True])
async def test_what_a_parent_may_still_ask_for_is_not_erased(world: World, *, dead: bool) -> None:
    parent, (child_id,) = await family(world, 1, succeeded())
    if dead:
        await world.store.settle(parent.lease, failed(None))
    told = str(await refused(erase(world, child_id), Conflict))
    assert parent.task_id in told
    assert ("discard or erase it first" if dead else "is RUNNING") in told
    if dead:
        await erase(world, parent.task_id)
    else:
        await world.store.settle(parent.lease, succeeded())
    await erase(world, child_id)
    await refused(world.view(child_id), Gone)


async def test_a_parent_is_not_erased_while_its_children_go_on(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 1)
    (child,) = await claim_children(world, 1)
    await world.store.settle(parent.lease, succeeded())
    told = await refused(erase(world, parent.task_id), Conflict)
    assert "started others that are not over" in str(told)
    await world.store.settle(child.lease, succeeded())
    # At once: what the child has left to be counted counts.
    await erase(world, parent.task_id)
    await let_wake(world)
    assert not await world.store.children.batches(parent.task_id)
    await erase(world, child.task_id)


async def test_an_erased_task_hears_nothing_more(world: World) -> None:
    wait = NewWait("wait_for go#1", "wait_for go", "hash", "go")
    claimed = await world.running(unique_key="a", concurrency_key="k")
    await world.store.waits.listen(claimed.lease, wait)
    await world.store.settle(claimed.lease, Waiting((SignalSent("go", wait.path, None),)))
    signal = Signal(new_id(), "other", '"a secret"', "ada", ())
    await world.store.waits.send(claimed.task_id, EVERYBODY, signal)
    await world.cancel(claimed.task_id)
    await erase(world, claimed.task_id)
    await refused(world.store.waits.send(claimed.task_id, EVERYBODY, signal), Gone)
    after = await world.store.submit(new_task(unique_key="a", concurrency_key="k"))
    assert not after.replayed
    (next_one,) = await world.claim()
    assert next_one.task_id == after.task_id


# Files


async def test_a_file_stays_as_long_as_a_child_names_it(world: World) -> None:
    upload = await a_file(world)
    parent = await world.running(ttl=10 * MONTH)
    wanted = page(new_batch(), 2, uploads=(upload,))
    await world.store.children.spawn(parent.lease, wanted)
    assert not await unused(world)
    await world.store.settle(parent.lease, succeeded())
    first, second = await claim_children(world, 2)
    assert (await world.task(first.task_id)).upload_bytes == upload.size
    for child in (first, second):
        await world.store.settle(child.lease, succeeded())
    await erase(world, parent.task_id)
    await erase(world, first.task_id)
    assert not await unused(world)
    await erase(world, second.task_id)
    assert await unused(world) == [upload.upload_id]


async def test_no_child_begins_with_a_file_that_was_swept(world: World) -> None:
    gone = UploadRecord(new_id(), "acme", "a.pdf", "application/pdf", 7, "sha")
    parent = await world.running()
    call = world.store.children.spawn(parent.lease, page(new_batch(), 2, uploads=(gone,)))
    await refused(call, UploadSwept)
    assert not await world.store.children.batches(parent.task_id)
    assert [task.id for task in await world.store.find(EVERYBODY, Filter())] == [parent.task_id]
    assert (await spawned(world, parent.lease, 2)).made == 2


async def test_a_task_that_is_put_off_lets_go_of_the_files_before(world: World) -> None:
    first, second = await a_file(world), await a_file(world)
    burst = {"unique_key": "a", "debounce": True, "delay": 60.0}
    task = await world.store.submit(new_task(uploads=(first,), **burst))
    assert await unused(world) == [second.upload_id]
    again_sent = await world.store.submit(new_task(uploads=(second,), **burst))
    assert again_sent.task_id == task.task_id
    assert await unused(world) == [first.upload_id]
    # It may come again before a day is over; afterwards it is not there any more.
    await world.store.submit(new_task(uploads=(first,), **burst))
    await world.store.retention.forget_blobs([second.upload_id], older_than=0.0)
    await refused(world.store.submit(new_task(uploads=(second,), **burst)), UploadSwept)
    assert await world.store.uploads("acme", [first.upload_id, second.upload_id]) == [first]
    assert not await unused(world)


# Many at once


async def test_a_redrive_of_many_waits_for_the_pages_of_dead_children(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people_of_sqlite, "PAGE", 2)
    monkeypatch.setattr(people, "PAGE", 2)
    alone = await world.settled(failed(None))
    parent, ids = await family(world, 5, failed(None))
    await world.store.settle(parent.lease, failed(None))
    last = await world.settled(failed(None))
    of = MassChange(
        id=new_id(), kind=Kind.REDRIVE, scope=EVERYBODY, by="ada",
        where=Filter(statuses=(Status.DEAD_LETTER,), type="review"), attempts={"review": 2},
    )  # fmt: skip
    await world.store.mass.begin(of)
    sent, dead = [], []
    for _ in range(3):
        advance = await world.store.mass.advance(of.id)
        sent.append(advance.progress.sent)
        dead.append([await world.status(each) for each in ids].count(Status.DEAD_LETTER))
        assert advance.full
    assert (sent, dead) == ([1, 1, 3], [3, 1, 0])
    for task_id in (alone, parent.task_id, last, *ids):
        assert await world.status(task_id) is Status.QUEUED
    now = await again(world, "pages", parent.task_id)
    assert (now.left, now.failed) == (5, 0)
