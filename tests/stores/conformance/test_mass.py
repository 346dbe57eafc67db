"""Changes of many tasks: each task once, whatever happens on the way."""

import asyncio
from typing import Any

import pytest

from stagepost.errors import Conflict, NotFound, UploadSwept
from stagepost.mass import PAGE, WINDOW, Kind, MassChange, Progress, State
from stagepost.outcome import Outcome
from stagepost.records import Filter, Resume, Scope, UploadRecord
from stagepost.task import Status
from support.tasks import failed, succeeded
from support.world import EVERYBODY, World, checkpoint, new_id, refused

DEAD = Filter(statuses=(Status.DEAD_LETTER,))
OPEN = Filter(
    statuses=(Status.PENDING, Status.QUEUED, Status.RUNNING, Status.WAITING, Status.FAILED)
)
ACME = Scope("acme")


def change(kind: Kind = Kind.REDRIVE, where: Filter = DEAD, **changes: Any) -> MassChange:
    values: dict[str, Any] = {"attempts": {"review": 2, "translate": 3}, "reason": "many"}
    return MassChange(
        id=new_id(), kind=kind, where=where, **{"scope": ACME, "by": "ada", **values, **changes}
    )


async def begin(world: World, of: MassChange) -> Progress:
    """Begin it and do its first page."""
    await world.store.mass.begin(of)
    return (await world.store.mass.advance(of.id)).progress


async def run(world: World, of: MassChange, turns: int = 10) -> Progress:
    """Some turns of the loop."""
    for _ in range(turns):
        for change_id in await world.store.mass.open(10):
            await world.store.mass.advance(change_id)
    return await world.store.mass.progress(of.id, of.kind, of.scope)


async def dead(world: World, many: int = 1, **changes: Any) -> list[str]:
    return [await world.settled(failed(None), **changes) for _ in range(many)]


async def statuses(world: World, ids: list[str]) -> list[Status]:
    return [await world.status(task_id) for task_id in ids]


async def test_a_redrive_sends_what_was_dead_and_counts_how_it_ends(world: World) -> None:
    ids = await dead(world, 3)
    of = change()
    progress = await begin(world, of)
    assert (progress.matched, progress.sent, progress.open) == (3, 3, True)
    assert await statuses(world, ids) == [Status.QUEUED] * 3
    assert (await world.task(ids[0])).max_attempts == 3
    assert (await world.last(ids[0])) == {"by": "ada", "resume": "checkpoints"}
    outcomes: tuple[Outcome, ...] = (succeeded(), failed(None), failed(5.0))
    claims = {claimed.task_id: claimed for claimed in await world.claim(3)}
    for task_id, outcome in zip(ids, outcomes, strict=True):
        await world.store.settle(claims[task_id].lease, outcome)
    progress = await run(world, of)
    assert (progress.completed, progress.failed, progress.state) == (1, 1, State.RUNNING)
    await world.cancel(ids[2])
    progress = await run(world, of)
    assert (progress.completed, progress.failed, progress.state) == (1, 1, State.DONE)
    assert not progress.open
    assert await world.store.mass.open(10) == []
    # The one that has failed again is not sent a second time.
    assert await world.status(ids[1]) is Status.DEAD_LETTER


async def test_only_what_the_filter_and_the_scope_hold(world: World) -> None:
    [mine] = await dead(world, tags=("eu",))
    others = [
        *await dead(world),
        *await dead(world, tags=("eu",), tenant="other"),
        *await dead(world, tags=("eu",), user="bob"),
    ]
    alien = (await world.running(by=await world.worker(types=("alien",)), type="alien")).lease
    await world.store.settle(alien, failed(None))
    of = change(where=Filter(statuses=DEAD.statuses, tag="eu"), scope=Scope("acme", "ada"))
    assert (await begin(world, of)).matched == 1
    assert await world.status(mine) is Status.QUEUED
    assert await statuses(world, others) == [Status.DEAD_LETTER] * 3
    # Nobody knows how many attempts a type without a handler has.
    every = change(scope=EVERYBODY)
    assert (await begin(world, every)).matched == 3
    assert await world.status(alien.task_id) is Status.DEAD_LETTER


async def test_by_id_those_that_are_dead_still(world: World) -> None:
    ids = await dead(world, 2)
    await world.redrive(ids[0])
    of = change(task_ids=tuple(sorted([*ids, new_id()])))
    progress = await run(world, of) if await begin(world, of) else None
    assert progress is not None
    assert (progress.matched, progress.sent) == (3, 1)
    assert (await world.kinds(ids[0])).count("redriven") == 1


async def test_what_dies_after_it_has_begun_is_not_meant(world: World) -> None:
    await dead(world, 2)
    of = change(per_minute=1)
    assert (await begin(world, of)).sent == 1
    world.clock.advance(1)
    late = await world.running(lane="batch", by=await world.worker(lanes={"batch": 1}))
    await world.store.settle(late.lease, failed(None))
    for _ in range(5):
        world.clock.advance(60)
        await run(world, of, 1)
    progress = await run(world, of)
    assert (progress.matched, progress.sent) == (2, 2)
    assert await world.status(late.task_id) is Status.DEAD_LETTER


async def test_a_window_a_pace_and_canaries_bound_what_is_on_its_way(world: World) -> None:
    await dead(world, WINDOW + 5)
    of = change()
    await begin(world, of)
    assert (await run(world, of)).sent == WINDOW
    for claimed in await world.claim(3):
        await world.store.settle(claimed.lease, succeeded())
    progress = await run(world, of)
    assert (progress.sent, progress.completed) == (WINDOW + 3, 3)
    await world.store.mass.stop(of.id, of.kind, ACME, "enough")

    paced = change(per_minute=60)
    await begin(world, paced)
    assert (await run(world, paced)).sent == 1
    world.clock.advance(1)
    assert (await run(world, paced)).sent == 2
    await world.store.mass.stop(paced.id, paced.kind, ACME, "enough")


async def test_it_stops_by_itself_when_they_fail_again(world: World) -> None:
    await dead(world, WINDOW + 5)
    of = change()
    await begin(world, of)
    for claimed in await world.claim(5):
        await world.store.settle(claimed.lease, failed(None))
    progress = await run(world, of)
    assert (progress.state, progress.sent, progress.failed) == (State.STOPPED, WINDOW, 5)
    assert "5 of the last 5 failed again" in (progress.why or "")
    # Those on their way are counted until the last one.
    assert progress.open
    for claimed in await world.claim(WINDOW):
        await world.store.settle(claimed.lease, succeeded())
    progress = await run(world, of)
    assert (progress.sent, progress.completed, progress.open) == (WINDOW, WINDOW - 5, False)


async def test_a_person_stops_it(world: World) -> None:
    ids = await dead(world, 3)
    of = change(per_minute=1)
    await begin(world, of)
    halted = await world.store.mass.stop(of.id, of.kind, ACME, "stopped by ada")
    assert (halted.state, halted.why) == (State.STOPPED, "stopped by ada")
    assert (await world.store.mass.stop(of.id, of.kind, ACME, "again")).why == "stopped by ada"
    world.clock.advance(3_600)
    assert (await run(world, of)).sent == 1
    assert sorted(await statuses(world, ids)) == ["DEAD_LETTER", "DEAD_LETTER", "QUEUED"]


async def test_where_they_go_on(world: World) -> None:
    claimed = await world.running()
    for path in ("a#1", "b#1"):
        await world.store.checkpoint(claimed.lease, checkpoint(path))
    await world.store.settle(claimed.lease, failed(None))
    [without] = await dead(world)
    of = change(resume=Resume(from_step="b"))
    advanced = await advance_first(world, of)
    assert [step.path for step in await world.store.steps(claimed.task_id)] == ["a#1"]
    # The other one has no such step and stays as it is.
    assert (advanced.progress.matched, advanced.progress.sent) == (2, 1)
    assert isinstance(advanced.refusal, NotFound)
    assert await world.status(without) is Status.DEAD_LETTER


async def advance_first(world: World, of: MassChange) -> Any:
    await world.store.mass.begin(of)
    return await world.store.mass.advance(of.id)


async def test_a_corrected_input_names_its_files(world: World) -> None:
    [task_id] = await dead(world)
    upload = UploadRecord(new_id(), "acme", "a.pdf", "application/pdf", 7, "sha")
    resume = Resume(input='{"file":"it"}', uploads=(upload,))
    refusal = (await advance_first(world, change(task_ids=(task_id,), resume=resume))).refusal
    assert isinstance(refusal, UploadSwept)
    await world.store.stage(upload.upload_id)
    assert (await begin(world, change(task_ids=(task_id,), resume=resume))).sent == 1
    assert (await world.view(task_id)).input == '{"file":"it"}'
    assert await world.store.uploads("acme", [upload.upload_id]) == [upload]


async def test_cancel_reaches_every_status_that_is_not_over(world: World) -> None:
    running = await world.running()
    retrying = await world.settled(failed(60.0))
    queued = await world.submit()
    later = await world.submit(delay=60)
    done = [await world.submit(lane="batch")]
    await world.cancel(done[0])
    [letter] = await dead(world, lane="batch")
    of = change(Kind.CANCEL, OPEN)
    progress = await begin(world, of)
    assert (progress.matched, progress.sent) == (4, 4)
    assert await statuses(world, [retrying, queued, later]) == [Status.CANCELLED] * 3
    asked = (await world.task(running.task_id)).cancel
    assert (asked and asked.by, asked and asked.reason) == ("ada", "many")
    assert running.task_id in [task_id for bell in world.bells for task_id in bell.cancels]
    assert await world.status(letter) is Status.DEAD_LETTER
    assert (await run(world, of)).state is State.DONE
    again = await begin(world, change(Kind.CANCEL, OPEN))
    assert (again.matched, again.sent) == (1, 0)


async def test_one_that_has_left_the_status_is_left_alone(world: World) -> None:
    ids = [await world.submit() for _ in range(PAGE + 1)]
    of = change(Kind.CANCEL, Filter(statuses=(Status.QUEUED,)))
    await begin(world, of)
    [last] = await world.claim(1)
    assert last.task_id == ids[-1]
    progress = await run(world, of)
    assert (progress.matched, progress.sent, progress.state) == (PAGE + 1, PAGE, State.DONE)
    assert (await world.task(last.task_id)).cancel is None


async def test_what_is_rare_among_many_is_found_look_by_look(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stagepost.mass.SCAN", 4)
    rare = []
    for number in range(13):
        tags = ("rare",) if number in {0, 7, 12} else ()
        task_id = await world.submit(tags=tags)
        rare += [task_id] if tags else []
    of = change(Kind.CANCEL, Filter(statuses=OPEN.statuses, tag="rare"))
    first = await begin(world, of)
    assert (first.matched, first.sent) == (3, 1)
    progress = await run(world, of)
    assert (progress.sent, progress.state) == (3, State.DONE)
    assert await statuses(world, rare) == [Status.CANCELLED] * 3


async def test_discard_gives_up_page_by_page(world: World) -> None:
    ids = await dead(world, PAGE + 2)
    of = change(Kind.DISCARD)
    assert (await begin(world, of)).sent == PAGE
    assert (await run(world, of)).state is State.DONE
    assert set(await statuses(world, ids)) == {Status.CANCELLED}
    assert await world.last(ids[-1]) == {"by": "ada", "reason": "many"}


async def test_of_many_that_advance_it_at_once_each_task_is_sent_by_one(world: World) -> None:
    ids = await dead(world, 20)
    of = change(per_minute=100_000)
    await world.store.mass.begin(of)
    for _ in range(20):
        world.clock.advance(0.003)
        await asyncio.gather(*(world.store.mass.advance(of.id) for _ in range(4)))
    progress = await world.store.mass.progress(of.id, of.kind, ACME)
    assert (progress.sent, progress.matched) == (20, 20)
    for task_id in ids:
        assert (await world.kinds(task_id)).count("redriven") == 1
    for claimed in await world.claim(20):
        await world.store.settle(claimed.lease, succeeded())
    await asyncio.gather(*(world.store.mass.advance(of.id) for _ in range(4)))
    assert (await run(world, of)).completed == 20


async def test_it_goes_on_after_a_restart(world: World) -> None:
    await dead(world, 5)
    careful = change(per_minute=60, canary=1, where=Filter(statuses=DEAD.statuses, type="review"))
    before = await begin(world, careful)
    await world.reopen()
    assert await world.store.mass.progress(careful.id, careful.kind, ACME) == before
    assert await world.store.mass.open(10) == [careful.id]
    [canary] = await world.claim(1)
    await world.store.settle(canary.lease, succeeded())
    for _ in range(10):
        world.clock.advance(1)
        await run(world, careful, 1)
    for claimed in await world.claim(5):
        await world.store.settle(claimed.lease, succeeded())
    progress = await run(world, careful)
    assert (progress.state, progress.sent, progress.completed) == (State.DONE, 5, 5)


async def test_it_is_seen_by_its_own_tenant_and_kind_only(world: World) -> None:
    await dead(world)
    of = change(scope=Scope("acme", "ada"))
    await begin(world, of)
    mass = world.store.mass
    for scope in (ACME, EVERYBODY, Scope("acme", "ada")):
        assert (await mass.progress(of.id, Kind.REDRIVE, scope)).matched == 1
    for scope in (Scope("other"), Scope("acme", "bob")):
        await refused(mass.progress(of.id, Kind.REDRIVE, scope), NotFound)
        await refused(mass.stop(of.id, Kind.REDRIVE, scope, "x"), NotFound)
    await refused(mass.progress(of.id, Kind.CANCEL, ACME), NotFound)
    await refused(mass.progress(new_id(), Kind.REDRIVE, ACME), NotFound)
    await refused(mass.advance(new_id()), NotFound)
    await refused(mass.progress("no id", Kind.REDRIVE, ACME), NotFound)


async def test_a_tenant_has_so_many_under_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stagepost.stores.masses.OPEN_MOST", 2)
    await dead(world, 2)
    first = change(per_minute=1)
    await begin(world, first)
    await begin(world, change(per_minute=1))
    await refused(world.store.mass.begin(change()), Conflict)
    await begin(world, change(scope=Scope("other")))


async def test_those_under_way_are_listed_page_by_page(world: World) -> None:
    await dead(world)
    changes = sorted([change(per_minute=1) for _ in range(3)], key=lambda each: each.id)
    await begin(world, changes[0])
    for of in changes[1:]:
        await world.store.mass.begin(of)
    ids = [of.id for of in changes]
    mass = world.store.mass
    assert await mass.open(2) == ids[:2]
    assert await mass.open(2, ids[0]) == ids[1:]
    assert await mass.open(2, ids[2]) == []


async def test_old_ones_are_forgotten(world: World) -> None:
    of, under_way = change(), change(per_minute=1)
    await begin(world, of)
    await run(world, of)
    await dead(world)
    await begin(world, under_way)
    world.clock.advance(100)
    mass = world.store.mass
    assert await mass.prune(older_than=101, limit=10) == 0
    assert await mass.prune(older_than=100, limit=10) == 1
    await refused(mass.progress(of.id, of.kind, ACME), NotFound)
    await mass.progress(under_way.id, under_way.kind, ACME)


async def test_a_key_goes_to_the_first_that_is_sent_back(world: World) -> None:
    """As if each were sent back by itself, whatever its priority."""
    sent = [
        *await dead(world, concurrency_key="k"),
        *await dead(world, concurrency_key="k", priority=5),
    ]
    await begin(world, change())
    assert await statuses(world, sent) == [Status.QUEUED] * 2
    views = [await world.view(task_id) for task_id in sent]
    assert [view.blocked for view in views] == [False, True]
