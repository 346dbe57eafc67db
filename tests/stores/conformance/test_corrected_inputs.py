"""A corrected input is kept for as long as a redrive has to hand it on, and goes with its task."""

import asyncio

import pytest

from stagepost.errors import Conflict, Gone
from stagepost.mass import Kind, MassChange, State
from stagepost.records import Filter, Resume
from stagepost.retention import Erasure
from stagepost.task import Status
from support.contents import Contents, holding
from support.tasks import failed, succeeded
from support.world import EVERYBODY, World, new_id, refused

SECRET = "a name that nobody may know"
CORRECTED = Resume(input=f'{{"text":"{SECRET}"}}')


def redrive(*task_ids: str, per_minute: int | None = None) -> MassChange:
    return MassChange(
        id=new_id(), kind=Kind.REDRIVE, scope=EVERYBODY, by="ada", attempts={"review": 2},
        where=Filter(statuses=(Status.DEAD_LETTER,)), task_ids=tuple(sorted(task_ids)),
        resume=CORRECTED, per_minute=per_minute,
    )  # fmt: skip


async def dead(world: World) -> str:
    return await world.settled(failed(None))


async def complete(world: World) -> None:
    [claimed] = await world.claim()
    await world.store.settle(claimed.lease, succeeded())


async def erase(world: World, task_id: str) -> None:
    wish = Erasure("eve", (await world.task(task_id)).seq, "hash")
    await world.store.retention.erase(task_id, EVERYBODY, wish)


async def test_it_is_erased_with_its_task(world: World, contents: Contents) -> None:
    task_id = await dead(world)
    of = redrive(task_id)
    await world.store.mass.begin(of)
    assert await holding(contents, SECRET) == {"mass_changes"}
    await world.store.mass.advance(of.id)
    # It has been handed on: it is the task's.
    assert await holding(contents, SECRET) == {"tasks"}
    await complete(world)
    await erase(world, task_id)
    assert await holding(contents, SECRET) == set()
    assert (await world.store.mass.advance(of.id)).progress.state is State.DONE


async def test_of_a_redrive_that_has_not_come_to_it(world: World, contents: Contents) -> None:
    task_id = await dead(world)
    of = redrive(task_id)
    await world.store.mass.begin(of)
    await erase(world, task_id)
    assert await holding(contents, SECRET) == set()
    progress = await world.store.mass.progress(of.id, of.kind, EVERYBODY)
    assert (progress.state, progress.sent) == (State.STOPPED, 0)
    assert progress.why == f"the task {task_id}, for which its input was, has been erased"
    await world.store.mass.advance(of.id)
    assert await world.store.mass.open(10) == []


async def test_a_redrive_of_several_does_not_go_on_without_it(
    world: World, contents: Contents
) -> None:
    first, second = sorted([await dead(world), await dead(world)])
    of = redrive(first, second, per_minute=1)
    await world.store.mass.begin(of)
    assert (await world.store.mass.advance(of.id)).progress.sent == 1
    await complete(world)
    assert await holding(contents, SECRET) == {"tasks", "mass_changes"}
    await erase(world, first)
    assert await holding(contents, SECRET) == set()
    world.clock.advance(3_600)
    for _ in range(3):
        progress = (await world.store.mass.advance(of.id)).progress
    assert (progress.state, progress.sent, progress.open) == (State.STOPPED, 1, False)
    assert await world.status(second) is Status.DEAD_LETTER
    assert (await world.view(second)).input == '{"page":1}'


async def test_a_redrive_of_others_goes_on_and_keeps_its_own(
    world: World, contents: Contents
) -> None:
    other, first, second = [await dead(world) for _ in range(3)]
    of = redrive(first, second, per_minute=1)
    await world.store.mass.begin(of)
    await erase(world, other)
    assert await holding(contents, SECRET) == {"mass_changes"}
    for _ in range(2):
        await world.store.mass.advance(of.id)
        world.clock.advance(60)
    for task_id in (first, second):
        assert (await world.view(task_id)).input == CORRECTED.input
    assert await holding(contents, SECRET) == {"tasks"}


async def test_one_that_is_stopped_keeps_none(world: World, contents: Contents) -> None:
    of = redrive(await dead(world), await dead(world), per_minute=1)
    await world.store.mass.begin(of)
    await world.store.mass.stop(of.id, of.kind, EVERYBODY, "enough")
    assert await holding(contents, SECRET) == set()


async def test_none_is_kept_for_a_task_that_was_just_erased(
    world: World, contents: Contents
) -> None:
    task_id = await dead(world)
    await erase(world, task_id)
    await refused(world.store.mass.begin(redrive(task_id)), Gone)
    assert await holding(contents, SECRET) == set()


@pytest.mark.parametrize("begun", [True, False], ids=["begun", "new"])
async def test_of_a_redrive_and_an_erasure_at_once_one_wins(
    world: World, contents: Contents, *, begun: bool
) -> None:
    for _ in range(10):
        task_id = await dead(world)
        of = redrive(task_id)
        if begun:
            await world.store.mass.begin(of)
        verb = world.store.mass.advance(of.id) if begun else world.store.mass.begin(of)
        _, erased = await asyncio.gather(verb, erase(world, task_id), return_exceptions=True)
        if erased is None:
            await refused(world.view(task_id), Gone)
            assert await holding(contents, SECRET) == set()
            continue
        assert isinstance(erased, Conflict)
        if begun:
            await complete(world)
        await erase(world, task_id)
        assert await holding(contents, SECRET) == set()
