"""Tasks that tasks have started."""

import asyncio
from dataclasses import replace

import pytest

from stagepost.errors import CancelAsked, Conflict, LeaseLost
from stagepost.stores.postgres import people
from stagepost.stores.sqlite import people as people_of_sqlite
from stagepost.task import CancelRequest, Status
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
from support.world import ASKED, DAY, EVERYBODY, World, checkpoint, new_id, refused


async def test_children_are_tasks_of_the_parents_tenant_user_and_trace(world: World) -> None:
    parent = await world.running(tenant="initech", user="bob", trace_id="a" * 32)
    batch = await spawned(world, parent.lease, 2)
    assert (batch.made, batch.left, batch.failed, batch.sealed) == (2, 2, 0, True)
    for place, child_id in enumerate(await children(world, batch)):
        child = await world.task(child_id)
        assert (child.tenant, child.user, child.trace_id) == ("initech", "bob", "a" * 32)
        assert (child.parent_id, child.batch_id, child.place) == (parent.task_id, batch.id, place)
        assert (child.type, child.lane, child.max_attempts) == ("page", "batch", 2)
        assert (child.status, child.hard_deadline) == (Status.QUEUED, False)
        assert await world.kinds(child_id) == ["queued"]
    assert (await world.task(parent.task_id)).parent_id is None


async def test_children_inherit_a_deadline_that_a_caller_gave(world: World) -> None:
    deadline = world.clock.now() + 5_000
    parent = await world.running(deadline=deadline)
    (child_id,) = await children(world, await spawned(world, parent.lease, 1))
    child = await world.task(child_id)
    assert (child.deadline, child.hard_deadline) == (deadline, True)


async def test_large_inputs_reach_their_children(world: World) -> None:
    parent = await world.running()
    wanted = page(new_batch(), 3, size=40_000)
    await world.store.children.spawn(parent.lease, wanted)
    claims = await claim_children(world, 3)
    assert {claim.task_id: claim.input for claim in claims} == dict(wanted.children)


async def test_a_page_is_made_once_however_often_it_is_asked_for(world: World) -> None:
    parent = await world.running()
    batch = new_batch()
    first = await world.store.children.spawn(parent.lease, page(batch, 3, last=False))
    # The same page with other ids, as a later claim asks for it.
    other = replace(batch, id=new_id())
    assert await world.store.children.spawn(parent.lease, page(other, 3, last=False)) == first
    second = await world.store.children.spawn(parent.lease, page(other, 2, first=3))
    assert (second.id, second.made, second.left, second.sealed) == (batch.id, 5, 5, True)
    assert len(await children(world, second)) == 5
    assert await world.store.children.spawn(parent.lease, page(other, 2, first=3)) == second


async def test_pages_at_once_make_no_child_twice(world: World) -> None:
    parent = await world.running()
    calls = [world.store.children.spawn(parent.lease, page(new_batch(), 5)) for _ in range(4)]
    made = await asyncio.gather(*calls)
    assert len({batch.id for batch in made}) == 1
    assert len(await children(world, made[0])) == 5


async def test_a_page_that_goes_on_from_nowhere_is_refused(world: World) -> None:
    parent = await world.running()
    await refused(world.store.children.spawn(parent.lease, page(new_batch(), 1, first=1)))
    batch = new_batch()
    await world.store.children.spawn(parent.lease, page(batch, 2, last=False))
    await refused(world.store.children.spawn(parent.lease, page(batch, 1, first=3)), Conflict)
    strange = replace(page(batch, 1, first=2), before="other inputs")
    await refused(world.store.children.spawn(parent.lease, strange), Conflict)
    found = await world.store.children.batch(parent.task_id, batch.path)
    assert found is not None
    assert found.made == 2


async def test_only_the_claim_that_owns_the_parent_starts_children(world: World) -> None:
    parent = await world.running()
    await world.lose()
    await refused(world.store.children.spawn(parent.lease, page(new_batch(), 1)), LeaseLost)
    assert await world.store.children.batch(parent.task_id, "pages") is None
    strange = parent.lease._replace(task_id="nobody", lease_id="nothing")
    await refused(world.store.children.spawn(strange, page(new_batch(), 1)), LeaseLost)


async def test_a_parent_that_was_asked_to_stop_starts_no_child(world: World) -> None:
    parent = await world.running()
    batch = new_batch()
    await world.store.children.spawn(parent.lease, page(batch, 2, last=False))
    await world.cancel(parent.task_id)
    await refused(world.store.children.spawn(parent.lease, page(batch, 2, first=2)), CancelAsked)
    await refused(world.store.children.spawn(parent.lease, page(new_batch("x"), 1)), CancelAsked)
    found = await again(world, "pages", parent.task_id)
    assert (found.made, found.left, found.failed) == (2, 0, 2)


async def test_children_count_as_progress_of_a_claim_that_is_lost(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 1)
    await world.lose()
    assert await world.kinds(parent.task_id) == ["queued", "started", "queued"]
    assert (await world.task(parent.task_id)).lost_claims == 0


async def test_a_batch_counts_what_becomes_of_its_children(world: World) -> None:
    parent = await world.running()
    batch = await spawned(world, parent.lease, 5)
    done, dead, retried, *_ = await claim_children(world, 3)
    await world.store.settle(done.lease, succeeded('"done"'))
    await world.store.settle(dead.lease, failed(None, message="No ink."))
    await world.store.settle(retried.lease, failed(5.0))
    last = (await children(world, batch))[-1]
    await world.cancel(last)
    now = await again(world, "pages", parent.task_id)
    assert (now.left, now.failed) == (2, 2)
    records = await world.store.children.results(batch.id, -1, 100)
    assert [record.status for record in records] == [
        "COMPLETED", "DEAD_LETTER", "FAILED", "QUEUED", "CANCELLED",
    ]  # fmt: skip
    assert records[0].result == succeeded('"done"').result
    assert [record.result for record in records[1:]] == [None] * 4
    assert (records[1].failure_kind, records[1].error_message) == ("SERVER_ERROR", "No ink.")
    counts = await world.store.children.counts(batch.id)
    assert counts == dict.fromkeys(
        [Status.COMPLETED, Status.DEAD_LETTER, Status.FAILED, Status.QUEUED, Status.CANCELLED], 1
    )
    assert await world.store.children.batches(parent.task_id) == [now]
    assert [r.place for r in await world.store.children.results(batch.id, 1, 2)] == [2, 3]


async def test_a_dead_child_that_is_redriven_is_waited_for_again(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 1)
    (claim,) = await claim_children(world, 1)
    await world.store.settle(claim.lease, failed(None))
    assert (await again(world, "pages", parent.task_id)).is_over(stop=True)
    await world.redrive(claim.task_id)
    now = await again(world, "pages", parent.task_id)
    assert (now.left, now.failed, now.is_over(stop=True)) == (1, 0, False)
    (claim,) = await claim_children(world, 1)
    await world.store.settle(claim.lease, failed(None))
    await world.store.discard(claim.task_id, EVERYBODY, ASKED)
    now = await again(world, "pages", parent.task_id)
    assert (now.left, now.failed) == (0, 1)


@pytest.mark.parametrize("running", [False, True])
async def test_a_cancel_reaches_all_descendants(world: World, *, running: bool) -> None:
    parent = await world.running()
    batch = await spawned(world, parent.lease, 3)
    child, *_ = await claim_children(world, 1)
    below = await spawned(world, child.lease, 3, type="line")
    if not running:
        await world.lose()
    asked = CancelRequest("ada", "wrong file")
    await world.cancel(parent.task_id, asked)
    await let_wake(world)
    if running:
        assert (await world.task(parent.task_id)).cancel == asked
        assert (await world.task(child.task_id)).cancel == asked
        assert await statuses(world, batch) == {Status.CANCELLED, Status.RUNNING}
    else:
        assert await statuses(world, batch) == {Status.CANCELLED}
    assert await statuses(world, below) == {Status.CANCELLED}
    event = (await world.store.events((await children(world, below))[0], 1, 10))[0]
    assert (event.kind, event.data) == ("cancelled", {"by": "ada", "reason": "wrong file"})


async def test_a_cancel_goes_in_pages(world: World) -> None:
    parent = await world.running()
    one = await spawned(world, parent.lease, 7)
    two = await spawned(world, parent.lease, 2, "others")
    await world.cancel(parent.task_id)
    before = 9
    for _ in range(20):
        if not await world.store.children.cancel_some(3):
            break
        left = sum([
            (await world.store.children.counts(batch.id)).get(Status.QUEUED, 0)
            for batch in (one, two)
        ])  # fmt: skip
        assert 0 <= before - left <= 3
        before = left
    assert await statuses(world, one) == await statuses(world, two) == {Status.CANCELLED}
    assert await world.store.children.cancel_some(3) == 0


async def test_detached_children_escape_the_cancel_of_their_parent(world: World) -> None:
    parent = await world.running()
    batch = await spawned(world, parent.lease, 2, detached=True)
    await world.cancel(parent.task_id)
    await let_wake(world)
    assert await statuses(world, batch) == {Status.QUEUED}


async def test_children_that_have_settled_stay_as_they_are(world: World) -> None:
    parent = await world.running()
    batch = await spawned(world, parent.lease, 3)
    done, dead_one, *_ = await claim_children(world, 2)
    below = await spawned(world, dead_one.lease, 1, type="line")
    await world.store.settle(done.lease, succeeded())
    await world.store.settle(dead_one.lease, failed(None))
    await world.cancel(parent.task_id)
    await let_wake(world)
    records = await world.store.children.results(batch.id, -1, 10)
    assert [r.status for r in records] == ["COMPLETED", "DEAD_LETTER", "CANCELLED"]
    assert await statuses(world, below) == {Status.CANCELLED}


async def test_a_redrive_sends_back_the_dead_children_first(world: World) -> None:
    parent = await world.running()
    batch = await spawned(world, parent.lease, 3)
    done, dead_one, *_ = await claim_children(world, 2)
    below = await spawned(world, dead_one.lease, 1, type="line", attempts=3)
    (line,) = await claim_children(world, 1, "line")
    await world.store.settle(line.lease, failed(None))
    await world.store.settle(done.lease, succeeded())
    await world.store.settle(dead_one.lease, failed(None))
    await world.store.settle(parent.lease, failed(None))
    task = await world.redrive(parent.task_id, attempts=7)
    assert task.status is Status.QUEUED
    records = await world.store.children.results(batch.id, -1, 10)
    assert [r.status for r in records] == ["COMPLETED", "QUEUED", "QUEUED"]
    assert await statuses(world, below) == {Status.QUEUED}
    assert await world.last(dead_one.task_id) == {"by": "ada", "resume": "checkpoints"}
    assert (await world.task(line.task_id)).max_attempts == 4
    now = await again(world, "pages", parent.task_id)
    assert (now.left, now.failed) == (2, 0)


async def test_many_dead_children_go_back_in_pages_before_their_parent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people_of_sqlite, "PAGE", 2)
    monkeypatch.setattr(people, "PAGE", 2)
    parent = await world.running()
    batch = await spawned(world, parent.lease, 5)
    for claim in await claim_children(world, 5):
        await world.store.settle(claim.lease, failed(None))
    await world.store.settle(parent.lease, failed(None))
    for dead in (3, 1):
        assert (await world.redrive(parent.task_id)).status is Status.DEAD_LETTER
        counts = await world.store.children.counts(batch.id)
        assert (counts[Status.DEAD_LETTER], counts[Status.QUEUED]) == (dead, 5 - dead)
    assert (await world.redrive(parent.task_id)).status is Status.QUEUED
    assert await statuses(world, batch) == {Status.QUEUED}


async def test_a_fresh_start_knows_no_earlier_child_and_has_it_cancelled(world: World) -> None:
    parent = await world.running()
    batch = await spawned(world, parent.lease, 2)
    (done,) = await claim_children(world, 1)
    await world.store.settle(done.lease, succeeded())
    await world.store.settle(parent.lease, failed(None))
    await world.redrive(parent.task_id, fresh=True)
    await let_wake(world)
    assert await world.store.children.batch(parent.task_id, "pages") is None
    assert await statuses(world, batch) == {Status.COMPLETED, Status.CANCELLED}
    (anew,) = await world.claim()
    other = await spawned(world, anew.lease, 1)
    assert (other.id != batch.id, other.made) == (True, 1)


async def test_a_start_from_a_step_drops_only_the_children_that_came_after_it(
    world: World,
) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 1, "early")
    await world.store.checkpoint(parent.lease, checkpoint("read"))
    await spawned(world, parent.lease, 1, "late")
    await spawned(world, parent.lease, 1, "later")
    await world.store.settle(parent.lease, failed(None))
    await world.redrive(parent.task_id, from_step="later")
    assert await paths(world, parent.task_id) == ["early", "late"]
    assert len(await world.store.steps(parent.task_id)) == 1
    (claim,) = await world.claim()
    await world.store.settle(claim.lease, failed(None))
    await world.redrive(parent.task_id, from_step="read")
    assert await paths(world, parent.task_id) == ["early"]
    assert await world.store.steps(parent.task_id) == []


async def paths(world: World, task_id: str) -> list[str]:
    """Where a task's batches stand."""
    return [batch.path for batch in await world.store.children.batches(task_id)]


async def test_what_was_made_survives_a_restart(world: World) -> None:
    parent = await world.running(ttl=DAY)
    batch = await spawned(world, parent.lease, 3)
    await world.reopen()
    assert await world.store.children.batch(parent.task_id, "pages") == batch
    assert len(await children(world, batch)) == 3


async def test_what_nobody_knows_has_no_children(world: World) -> None:
    assert await world.store.children.batch("nobody", "pages") is None
    assert await world.store.children.batches("nobody") == []
    assert await world.store.children.counts(new_id()) == {}
    assert await world.store.children.results(new_id(), -1, 10) == []
    assert await world.store.children.wake(10) == 0
