"""Cancel, discard and redrive: what people ask for."""

import asyncio
from typing import Any

import pytest

from stagepost.errors import Conflict, NotFound
from stagepost.outcome import Cancelled, Drained, Outcome
from stagepost.records import Resume, Scope
from stagepost.task import CancelRequest, Payload, Status
from support.fences import artifact
from support.tasks import failed, succeeded, waiting
from support.world import (
    ASKED,
    EVERYBODY,
    World,
    checkpoint,
    new_id,
    refused,
)

OTHERS = (Scope("other"), Scope("acme", "bob"))


async def in_status(world: World, status: Status) -> str:
    match status:
        case Status.PENDING:
            return await world.submit(delay=60.0)
        case Status.QUEUED:
            return await world.submit()
        case Status.RUNNING:
            return (await world.running()).task_id
        case Status.WAITING:
            return await world.settled(waiting())
        case Status.FAILED:
            return await world.settled(failed(60.0))
        case Status.COMPLETED:
            return await world.settled(succeeded())
        case Status.DEAD_LETTER:
            return await world.settled(failed(None))
        case Status.CANCELLED:
            task_id = await world.submit()
            await world.cancel(task_id)
            return task_id


@pytest.mark.parametrize("status", [Status.PENDING, Status.QUEUED, Status.WAITING, Status.FAILED])
async def test_cancel_at_once(world: World, status: Status) -> None:
    task_id = await in_status(world, status)
    assert await world.status(task_id) is status
    cancelled = await world.cancel(task_id)
    task = await world.task(task_id)
    assert cancelled == task
    assert (task.status, task.cancel, task.ended_at) == (
        Status.CANCELLED,
        ASKED,
        world.clock.now(),
    )
    assert (await world.kinds(task_id))[-1] == "cancelled"
    assert await world.last(task_id) == {"by": "ada", "reason": "no need"}
    # It never starts any more, whatever time it was for, also after a restart.
    await world.reopen()
    world.clock.advance(3_600)
    await world.store.release_due(10)
    assert await world.claim(5, by=await world.worker()) == []


async def test_cancel_of_a_running_task_is_asked_of_its_worker(world: World) -> None:
    claimed = await world.running()
    hand = await world.hand()
    world.bells.clear()
    task = await world.cancel(claimed.task_id)
    assert (task.status, task.cancel) == (Status.RUNNING, ASKED)
    assert await world.kinds(claimed.task_id) == ["queued", "started"]
    assert [bell.cancels for bell in world.bells] == [[claimed.task_id]]
    assert (await world.store.beat(hand.id, "running")).cancels == ((claimed.task_id, ASKED),)
    # Asked again, nothing changes and nobody is told twice.
    assert await world.cancel(claimed.task_id, CancelRequest("bob")) == task
    assert len(world.bells) == 1
    await world.store.settle(claimed.lease, Cancelled(ASKED))
    assert await world.status(claimed.task_id) is Status.CANCELLED
    assert (await world.store.beat(hand.id, "running")).cancels == ()


async def test_a_handler_that_has_returned_wins(world: World) -> None:
    claimed = await world.running()
    await world.cancel(claimed.task_id)
    await world.store.settle(claimed.lease, succeeded())
    task = await world.task(claimed.task_id)
    assert (task.status, task.cancel) == (Status.COMPLETED, None)


@pytest.mark.parametrize("outcome", [failed(5.0), failed(None), waiting(), Drained()])
async def test_any_other_end_after_cancel_was_asked_is_cancelled(
    world: World, outcome: Outcome
) -> None:
    claimed = await world.running()
    await world.cancel(claimed.task_id)
    await world.store.settle(claimed.lease, outcome)
    assert await world.status(claimed.task_id) is Status.CANCELLED
    assert await world.kinds(claimed.task_id) == ["queued", "started", "cancelled"]
    assert await world.claim() == []


async def test_a_cancelled_task_whose_worker_dies_is_cancelled(world: World) -> None:
    claimed = await world.running()
    await world.cancel(claimed.task_id)
    await world.lose()
    assert await world.status(claimed.task_id) is Status.CANCELLED


async def test_cancel_twice_is_no_fault_and_one_event(world: World) -> None:
    task_id = await world.submit()
    answers = await asyncio.gather(*(world.cancel(task_id) for _ in range(3)))
    assert {answer.status for answer in answers} == {Status.CANCELLED}
    assert await world.kinds(task_id) == ["queued", "cancelled"]


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.DEAD_LETTER])
async def test_what_has_ended_is_not_cancelled(world: World, status: Status) -> None:
    task_id = await in_status(world, status)
    before = await world.view(task_id)
    await refused(world.cancel(task_id), Conflict)
    assert await world.view(task_id) == before


async def test_discard(world: World) -> None:
    task_id = await in_status(world, Status.DEAD_LETTER)
    world.clock.advance(1)
    task = await world.store.discard(task_id, EVERYBODY, ASKED)
    assert (task.status, task.ended_at) == (Status.CANCELLED, world.clock.now())
    assert await world.kinds(task_id) == ["queued", "started", "failed", "cancelled"]


@pytest.mark.parametrize("status", set(Status) - {Status.DEAD_LETTER})
async def test_only_dead_letters_are_discarded_and_redriven(world: World, status: Status) -> None:
    task_id = await in_status(world, status)
    before = await world.view(task_id)
    await refused(world.store.discard(task_id, EVERYBODY, ASKED), Conflict)
    await refused(world.redrive(task_id), Conflict)
    await refused(world.redrive(task_id, input="2"), Conflict)
    assert await world.view(task_id) == before


@pytest.mark.parametrize("scope", OTHERS)
async def test_of_other_people_nothing_is_touched(world: World, scope: Scope) -> None:
    alive, dead = await world.submit(), ""
    await world.claim()
    dead = await world.settled(failed(None))
    await refused(world.store.cancel(alive, scope, ASKED), NotFound)
    await refused(world.store.discard(dead, scope, ASKED), NotFound)
    await refused(world.store.redrive(dead, scope, "bob", Resume(), 4), NotFound)
    await refused(world.cancel(new_id()), NotFound)
    assert await world.status(alive) is Status.RUNNING
    assert await world.status(dead) is Status.DEAD_LETTER


# Redrive


async def dead_letter(world: World) -> str:
    """A dead letter with three steps, one of them a blob, and an artifact."""
    claimed = await world.running(input='"before"')
    key = new_id()
    await world.store.stage(key)
    await world.store.checkpoint(claimed.lease, checkpoint("read#1"))
    await world.store.checkpoint(
        claimed.lease, checkpoint("map#1", name="map")._replace(value=Payload(None, 9, key))
    )
    await world.store.checkpoint(claimed.lease, checkpoint("map#2", name="map"))
    await world.store.attach(claimed.lease, artifact())
    await world.store.settle(claimed.lease, failed(None))
    return claimed.task_id


async def paths(world: World, task_id: str) -> list[str]:
    return [step.path for step in await world.store.steps(task_id)]


async def test_a_redrive_goes_on_at_the_checkpoints(world: World) -> None:
    task_id = await dead_letter(world)
    world.clock.advance(60)
    task = await world.redrive(task_id, attempts=2)
    assert (task.status, task.pooled_at) == (Status.QUEUED, world.clock.now())
    assert (task.attempt, task.max_attempts) == (2, 3)
    assert task.deadline == world.clock.now() + task.ttl
    assert await world.last(task_id) == {"by": "ada", "resume": "checkpoints"}
    assert await paths(world, task_id) == ["read#1", "map#1", "map#2"]
    again = await world.reclaim(task_id)
    assert (again.attempt, again.max_attempts, again.saved_steps) == (2, 3, 3)
    assert again.input == '"before"'
    assert len(await world.store.failures(task_id)) == 1
    await world.store.settle(again.lease, succeeded())
    assert await world.status(task_id) is Status.COMPLETED


@pytest.mark.parametrize(
    ("step", "left"),
    [("map#2", ["read#1", "map#1"]), ("map", ["read#1"]), ("read", []), ("map#1", ["read#1"])],
)
async def test_a_redrive_from_a_step_drops_it_and_all_after(
    world: World, step: str, left: list[str]
) -> None:
    task_id = await dead_letter(world)
    await world.redrive(task_id, from_step=step)
    assert await paths(world, task_id) == left
    assert await world.last(task_id) == {"by": "ada", "resume": {"fromStep": step}}
    # What was dropped can be saved again.
    again = await world.reclaim(task_id)
    await world.store.checkpoint(again.lease, checkpoint("map#2"))
    assert await paths(world, task_id) == [*left, "map#2"]


async def test_a_redrive_from_a_step_that_never_was_changes_nothing(world: World) -> None:
    task_id = await dead_letter(world)
    before = await world.view(task_id)
    await refused(world.redrive(task_id, from_step="nowhere"), NotFound)
    assert await world.view(task_id) == before
    assert len(await paths(world, task_id)) == 3


@pytest.mark.parametrize("resume", [{"fresh": True}, {"fresh": True, "from_step": "map"}])
async def test_a_fresh_redrive_drops_all_steps(world: World, resume: dict[str, Any]) -> None:
    task_id = await dead_letter(world)
    await world.redrive(task_id, **resume)
    assert await paths(world, task_id) == []
    assert await world.last(task_id) == {"by": "ada", "resume": "fresh"}
    assert (await world.reclaim(task_id)).input == '"before"'


@pytest.mark.parametrize("size", [1, 100_000])
@pytest.mark.parametrize("before", [1, 100_000])
async def test_a_corrected_input_is_a_fresh_start(world: World, before: int, size: int) -> None:
    claimed = await world.running(input='"' + "b" * before + '"')
    await world.store.checkpoint(claimed.lease, checkpoint())
    await world.store.settle(claimed.lease, failed(None))
    corrected = '"' + "é" * size + '"'
    await world.redrive(claimed.task_id, input=corrected)
    assert await world.last(claimed.task_id) == {"by": "ada", "resume": "fresh"}
    assert await paths(world, claimed.task_id) == []
    assert (await world.reclaim(claimed.task_id)).input == corrected
    assert (await world.view(claimed.task_id)).input == corrected


async def test_a_task_can_die_and_be_redriven_again_and_again(world: World) -> None:
    task_id = await world.settled(failed(None))
    for round_ in range(1, 4):
        await world.redrive(task_id, attempts=1)
        again = await world.reclaim(task_id)
        assert (again.attempt, again.max_attempts) == (round_ + 1, round_ + 1)
        await world.store.settle(again.lease, failed(5.0))
        assert await world.status(task_id) is Status.DEAD_LETTER
    kinds = await world.kinds(task_id)
    assert kinds == ["queued", "started", "failed", *["redriven", "started", "failed"] * 3]
    assert len(await world.store.failures(task_id)) == 4


async def test_a_redrive_forgets_the_losses(world: World) -> None:
    task_id = await world.submit()
    for _ in range(3):
        await world.reclaim(task_id)
        await world.lose()
        world.clock.advance(15)
        await world.store.release_due(1)
    assert await world.status(task_id) is Status.DEAD_LETTER
    await world.redrive(task_id)
    assert (await world.reclaim(task_id)).lost_claims == 0


async def test_concurrent_redrives_win_once(world: World) -> None:
    task_id = await world.settled(failed(None))
    answers = await asyncio.gather(
        *(world.redrive(task_id) for _ in range(4)), return_exceptions=True
    )
    assert sum(isinstance(answer, Conflict) for answer in answers) == 3
    assert (await world.kinds(task_id)).count("redriven") == 1
