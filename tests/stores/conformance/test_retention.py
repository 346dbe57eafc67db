"""What is pruned by age, what is erased on request, and what is left of it."""

import pytest

from stagepost.errors import Conflict, Gone, NotFound
from stagepost.outcome import Cancelled, Outcome
from stagepost.quota import Quota
from stagepost.records import Filter, Idempotency, Resume, Scope, UploadRecord
from stagepost.retention import Erasure, Page, Tombstone
from stagepost.task import Status
from support.contents import Contents, holding
from support.fences import artifact
from support.tasks import failed, succeeded, waiting
from support.world import ASKED, DAY, EVERYBODY, World, checkpoint, new_id, new_task, refused

MONTH = 30 * DAY
WEEK = 7 * DAY


async def prune(world: World, older_than: float = MONTH, limit: int = 100) -> int:
    """A whole sweep over the tasks."""
    after: str | None = ""
    changed = 0
    while after is not None:
        page = await world.store.retention.prune_tasks(after, older_than=older_than, limit=limit)
        changed += page.changed
        after = page.after
    return changed


async def prune_events(world: World, older_than: float = WEEK, limit: int = 100) -> int:
    """A whole sweep over the events."""
    after: str | None = ""
    changed = 0
    while after is not None:
        page = await world.store.retention.prune_events(after, older_than=older_than, limit=limit)
        changed += page.changed
        after = page.after
    return changed


async def full(world: World, outcome: Outcome) -> str:
    """A task with something in every table, whose claim has ended so."""
    upload = UploadRecord(new_id(), "acme", "a.pdf", "application/pdf", 7, "sha of a.pdf")
    await world.store.stage(upload.upload_id)
    claimed = await world.running(
        tags=("eu",), uploads=(upload,), input='"' + "x" * 20_000 + '"',
    )  # fmt: skip
    await world.store.checkpoint(claimed.lease, checkpoint())
    await world.store.attach(claimed.lease, artifact(blob=new_id()))
    await world.store.settle(claimed.lease, outcome)
    return claimed.task_id


async def erase(world: World, task_id: str, scope: Scope = EVERYBODY) -> Tombstone:
    """Erase a task as one that has just looked at it."""
    task = await world.task(task_id)
    stone, _ = await world.store.retention.erase(
        task_id, scope, Erasure("eve", task.seq, "hash of the input", "hash of the result")
    )
    return stone


async def nothing_is_left(world: World, task_id: str) -> None:
    store = world.store
    await refused(world.view(task_id), Gone)
    assert not await store.events(task_id, 0, 100)
    assert not await store.steps(task_id)
    assert not await store.artifacts(task_id)
    assert not await store.failures(task_id)


@pytest.mark.parametrize("outcome", [succeeded(), Cancelled(ASKED)], ids=["done", "cancelled"])
async def test_a_task_is_pruned_when_it_has_been_over_for_long_enough(
    world: World, outcome: Outcome
) -> None:
    task_id = await full(world, outcome)
    world.clock.advance(MONTH - 1)
    assert await prune(world) == 0
    assert (await world.view(task_id)).tags == ("eu",)
    world.clock.advance(2)
    assert await prune(world) == 1
    await nothing_is_left(world, task_id)
    assert await prune(world) == 0
    assert not await world.store.find(EVERYBODY, Filter(tag="eu"))


async def test_what_is_not_over_or_needs_a_person_is_not_pruned(world: World) -> None:
    dead = await full(world, failed(None))
    parked = await world.settled(waiting(10 * MONTH))
    retrying = await world.settled(failed(10 * MONTH), ttl=20 * MONTH)
    later = await world.submit(delay=10 * MONTH)
    running = await world.running(ttl=20 * MONTH)
    queued = await world.submit(ttl=20 * MONTH)
    world.clock.advance(5 * MONTH)
    assert await prune(world) == 0
    assert await prune_events(world) == 0
    assert await world.kinds(dead) == ["queued", "started", "step", "failed"]
    for task_id in (dead, parked, retrying, later, running.task_id, queued):
        await world.view(task_id)


async def test_age_counts_from_the_end_and_not_from_the_beginning(world: World) -> None:
    slow = await world.running(ttl=3 * MONTH)
    world.clock.advance(2 * MONTH)
    await world.store.settle(slow.lease, succeeded())
    world.clock.advance(MONTH - 1)
    assert await prune(world) == 0
    world.clock.advance(1)
    assert await prune(world) == 1


async def test_a_sweep_goes_page_by_page_and_ends_where_the_young_ones_begin(world: World) -> None:
    old = [await world.settled(succeeded()) for _ in range(5)]
    world.clock.advance(MONTH)
    young = [await world.settled(succeeded()) for _ in range(3)]
    retention = world.store.retention
    assert await retention.prune_tasks("", older_than=MONTH, limit=2) == Page(old[1], 2)
    assert await retention.prune_tasks(old[1], older_than=MONTH, limit=2) == Page(old[3], 2)
    assert await retention.prune_tasks(old[3], older_than=MONTH, limit=2) == Page(None, 1)
    assert await retention.prune_tasks(young[0], older_than=MONTH, limit=2) == Page(None, 0)
    for task_id in young:
        assert await world.status(task_id) is Status.COMPLETED


async def test_events_go_earlier_but_for_the_end(world: World) -> None:
    task_id = await full(world, succeeded())
    other = await world.settled(Cancelled(ASKED))
    kinds = await world.kinds(task_id)
    world.clock.advance(WEEK - 1)
    assert await prune_events(world) == 0
    world.clock.advance(1)
    assert await prune_events(world, limit=1) == len(kinds) - 1 + 2
    (end,) = await world.store.events(task_id, 0, 100)
    assert (end.seq, end.kind) == (len(kinds), "completed")
    assert [event.kind for event in await world.store.events(other, 0, 100)] == ["cancelled"]
    assert (await world.view(task_id)).result is not None
    assert await prune_events(world) == 0


async def test_of_a_pruned_task_others_see_as_little_as_before(world: World) -> None:
    task_id = await full(world, succeeded())
    world.clock.advance(MONTH)
    await prune(world)
    told = await refused(world.store.get(task_id, Scope("acme", "ada")), Gone)
    assert "was pruned on" in str(told)
    for scope in (Scope("other"), Scope("acme", "bob")):
        missing = await refused(world.store.get(task_id, scope), NotFound)
        assert not isinstance(missing, Gone)
        assert await world.store.retention.tombstone(task_id, scope) is None
    stone = await world.store.retention.tombstone(task_id, Scope("acme"))
    assert stone == Tombstone(task_id, "acme", "ada", world.clock.now(), status=Status.COMPLETED)


async def test_tombstones_of_pruned_tasks_go_in_the_end_and_those_of_erased_ones_stay(
    world: World,
) -> None:
    pruned, erased = await world.settled(succeeded()), await world.settled(succeeded())
    await erase(world, erased)
    world.clock.advance(MONTH)
    await prune(world)
    retention = world.store.retention
    world.clock.advance(10 * DAY)
    assert await retention.prune_tombstones(older_than=11 * DAY, limit=10) == 0
    assert await retention.prune_tombstones(older_than=10 * DAY, limit=10) == 1
    told = await refused(world.view(pruned), NotFound)
    assert not isinstance(told, Gone)
    await refused(world.view(erased), Gone)


@pytest.mark.parametrize(
    "outcome", [succeeded(), Cancelled(ASKED), failed(None)], ids=["done", "cancelled", "dead"]
)
async def test_an_erased_task_leaves_its_hashes(world: World, outcome: Outcome) -> None:
    task_id = await full(world, outcome)
    now = world.clock.now()
    stone = await erase(world, task_id, Scope("acme", "ada"))
    assert (stone.task_id, stone.by, stone.at) == (task_id, "eve", now)
    assert stone.hashes is not None
    assert stone.hashes.input == "hash of the input"
    assert stone.hashes.result == "hash of the result"
    assert stone.hashes.uploads == ("sha of a.pdf",)
    assert stone.hashes.artifacts == ("sha",)
    await nothing_is_left(world, task_id)
    assert "was erased on" in str(await refused(world.view(task_id), Gone))
    await world.reopen()
    assert await world.store.retention.tombstone(task_id, EVERYBODY) == stone


async def test_of_an_erased_task_nothing_but_its_tombstone_names_it(
    world: World, contents: Contents
) -> None:
    await world.store.quotas.set(Quota("acme", 5))
    task_id = await full(world, succeeded())
    later = await world.submit(delay=60.0, unique_key="a", concurrency_key="k")
    await world.cancel(later)
    await world.store.quotas.unset("acme")
    for each in (task_id, later):
        assert "backlog" in await holding(contents, each)
        wish = Erasure("eve", (await world.task(each)).seq, "hash")
        _, blobs = await world.store.retention.erase(each, EVERYBODY, wish)
        await world.store.retention.forget_blobs(blobs, older_than=DAY)
        assert await holding(contents, each) == {"tombstones"}


async def test_to_erase_again_answers_the_same(world: World) -> None:
    task_id = await full(world, succeeded())
    stone = await erase(world, task_id)
    world.clock.advance(DAY)
    wish = Erasure("bob", 1, "another")
    assert await world.store.retention.erase(task_id, EVERYBODY, wish) == (stone, ())
    await refused(world.store.retention.erase(task_id, Scope("other"), wish), NotFound)


async def test_whoever_comes_too_late_is_told_that_it_is_gone(world: World) -> None:
    """One that has looked at the task just before it went."""
    store = world.store
    for take in (erase, lambda world, _: prune(world, 0.0)):
        task_id = await world.settled(Cancelled(ASKED))
        await take(world, task_id)
        for scope in (EVERYBODY, Scope("acme", "ada")):
            await refused(store.cancel(task_id, scope, ASKED), Gone)
            await refused(store.discard(task_id, scope, ASKED), Gone)
            await refused(store.redrive(task_id, scope, "ada", Resume(), 3), Gone)
        for scope in (Scope("other"), Scope("acme", "bob")):
            told = await refused(store.cancel(task_id, scope, ASKED), NotFound)
            assert not isinstance(told, Gone)


async def test_what_can_not_be_erased(world: World) -> None:
    retention = world.store.retention
    wish = Erasure("eve", 2, "hash")
    queued = await world.submit(lane="batch")
    await refused(retention.erase(queued, EVERYBODY, wish), Conflict)
    await refused(retention.erase(new_id(), EVERYBODY, wish), NotFound)
    await refused(retention.erase("no id", EVERYBODY, wish), NotFound)
    await world.cancel(queued)
    done = await world.settled(succeeded())
    await refused(retention.erase(done, Scope("other"), wish), NotFound)
    # Somebody looked at it before it was done.
    await refused(retention.erase(done, EVERYBODY, wish), Conflict)
    assert await world.kinds(done) == ["queued", "started", "completed"]
    await prune(world, 0.0)
    await refused(retention.erase(done, EVERYBODY, wish), Gone)


ENDS = [
    (succeeded(), Status.COMPLETED),
    (Cancelled(ASKED), Status.CANCELLED),
    (failed(None), Status.DEAD_LETTER),
]


@pytest.mark.parametrize(("outcome", "status"), ENDS, ids=["done", "cancelled", "dead"])
async def test_an_idempotency_key_outlives_its_task_and_knows_how_it_had_ended(
    world: World, outcome: Outcome, status: Status
) -> None:
    once = Idempotency("submit", "key", "content")
    claimed = await world.running(idempotency=once)
    await world.store.settle(claimed.lease, outcome)
    await erase(world, claimed.task_id)
    again = await world.store.submit(new_task(idempotency=once))
    assert (again.task_id, again.status, again.replayed) == (claimed.task_id, status, True)


async def test_the_key_of_a_pruned_task_knows_how_it_had_ended(world: World) -> None:
    once = Idempotency("submit", "key", "content")
    claimed = await world.running(idempotency=once)
    await world.store.settle(claimed.lease, Cancelled(ASKED))
    await prune(world, 0.0)
    again = await world.store.submit(new_task(idempotency=once))
    assert (again.task_id, again.status) == (claimed.task_id, Status.CANCELLED)


async def test_idempotency_keys_go_after_a_day_though_no_new_one_comes(world: World) -> None:
    for number in range(3):
        await world.submit(idempotency=Idempotency("submit", f"{number}", "content"))
    retention = world.store.retention
    world.clock.advance(DAY)
    assert await retention.prune_keys(2) == 0
    world.clock.advance(0.001)
    assert [await retention.prune_keys(2) for _ in range(3)] == [2, 1, 0]
    again = await world.store.submit(new_task(idempotency=Idempotency("submit", "0", "other")))
    assert not again.replayed
