"""How claims end, and what comes after."""

import asyncio

import pytest

from stagepost.event import rfc3339
from stagepost.failure import Failure, FailureKind
from stagepost.outcome import Drained, Failed, Outcome, Succeeded
from stagepost.records import FailureRecord
from stagepost.task import Payload, Status, Wait
from support.fences import OUTCOMES
from support.tasks import failed, succeeded, waiting
from support.world import World, checkpoint, new_id, note, payload


async def test_success(world: World) -> None:
    claimed = await world.running(trace_id="trace")
    world.clock.advance(2.5)
    await world.store.settle(claimed.lease, succeeded('{"risk":"high"}'), note(95, "Writing"))
    view = await world.view(claimed.task_id)
    task = view.task
    assert (task.status, task.progress, task.step) == (Status.COMPLETED, 100, "Writing")
    assert (task.ended_at, task.lease, task.worker_id) == (world.clock.now(), None, None)
    assert view.result == payload('{"risk":"high"}')
    assert await world.kinds(task.id) == ["queued", "started", "progress", "completed"]
    assert await world.last(task.id) == {
        "progress": 100,
        "model": None,
        "processingMs": 2_500,
        "traceId": "trace",
    }


@pytest.mark.parametrize("size", [0, 64 * 1024, 1024 * 1024])
async def test_a_result_of_any_size_comes_back_whole(world: World, size: int) -> None:
    text = '"' + "x" * size + '"'
    task_id = await world.settled(succeeded(text))
    assert (await world.view(task_id)).result == payload(text)


async def test_a_result_kept_as_a_blob(world: World) -> None:
    key = new_id()
    await world.store.stage(key)
    task_id = await world.settled(Succeeded(Payload(None, 9_000_000, key)))
    assert (await world.view(task_id)).result == Payload(None, 9_000_000, key)


async def test_a_task_without_a_result_has_none(world: World) -> None:
    assert (await world.view(await world.submit())).result is None


async def test_a_failed_attempt_is_tried_again_when_it_is_due(world: World) -> None:
    claimed = await world.running()
    await world.store.settle(claimed.lease, failed(30.0))
    due_at = world.clock.now() + 30_000
    task = await world.task(claimed.task_id)
    assert (task.status, task.due_at, task.attempt) == (Status.FAILED, due_at, 1)
    assert (task.failure_kind, task.error_message) == ("SERVER_ERROR", "It broke.")
    assert await world.last(task.id) == {
        "attempt": 1,
        "failureKind": "SERVER_ERROR",
        "message": "It broke.",
        "nextAttemptAt": rfc3339(due_at),
    }
    world.clock.advance(29.9)
    assert await world.store.release_due(10) == 0
    world.clock.advance(0.1)
    assert await world.store.release_due(10) == 1
    again = await world.reclaim(task.id)
    assert (again.attempt, again.fence) == (2, 2)
    assert await world.kinds(task.id) == ["queued", "started", "retrying", "queued", "started"]


async def test_the_last_attempt_ends_in_dead_letter(world: World) -> None:
    claimed = await world.running(max_attempts=1)
    await world.store.settle(claimed.lease, failed(30.0))
    task = await world.task(claimed.task_id)
    assert (task.status, task.ended_at, task.due_at) == (
        Status.DEAD_LETTER,
        world.clock.now(),
        None,
    )
    assert await world.kinds(task.id) == ["queued", "started", "failed"]


async def test_every_failure_is_kept_with_its_trace(world: World) -> None:
    claimed = await world.running()
    expected = []
    for attempt, kind in enumerate(("TIMEOUT", "BUG"), 1):
        failure = Failure(FailureKind(kind), f"Failure {attempt}.", f"Trace {attempt}")
        delay = 1.0 if attempt == 1 else None
        await world.store.settle(claimed.lease, Failed(failure, delay))
        now = world.clock.now()
        expected.append(
            FailureRecord(attempt, attempt, kind, f"Failure {attempt}.", f"Trace {attempt}", now)
        )
        if delay:
            world.clock.advance(delay)
            await world.store.release_due(1)
            claimed = await world.reclaim(claimed.task_id)
    assert await world.store.failures(claimed.task_id) == expected


async def test_success_after_failures_keeps_their_history_only(world: World) -> None:
    claimed = await world.running()
    await world.store.settle(claimed.lease, failed(1.0))
    world.clock.advance(1)
    await world.store.release_due(1)
    again = await world.reclaim(claimed.task_id)
    assert (await world.task(claimed.task_id)).failure_kind == "SERVER_ERROR"
    await world.store.settle(again.lease, succeeded())
    task = await world.task(claimed.task_id)
    assert (task.failure_kind, task.error_message) == (None, None)
    assert len(await world.store.failures(claimed.task_id)) == 1


async def test_a_wait_holds_no_worker_and_spends_nothing(world: World) -> None:
    claimed = await world.running()
    await world.store.settle(claimed.lease, waiting(60.0, "openai"))
    until = world.clock.now() + 60_000
    task = await world.task(claimed.task_id)
    assert (task.status, task.attempt, task.waits) == (Status.WAITING, 1, 1)
    assert (task.wait, task.due_at) == (Wait("limit", "openai", until), until)
    assert await world.last(task.id) == {
        "for": {"kind": "limit", "name": "openai", "until": rfc3339(until)}
    }
    assert await world.claim() == []
    world.clock.advance(60)
    assert await world.store.release_due(10) == 1
    again = await world.reclaim(task.id)
    assert (again.attempt, again.waits) == (1, 1)
    assert again.time_left == claimed.time_left == 86_400_000
    assert await world.kinds(task.id) == ["queued", "started", "waiting", "queued", "started"]


async def test_parks_in_a_row_are_counted_until_something_is_saved(world: World) -> None:
    claimed = await world.running()
    for waits in (1, 2):
        await world.store.settle(claimed.lease, waiting(0.0))
        await world.store.release_due(10)
        claimed = await world.reclaim(claimed.task_id)
        assert claimed.waits == waits
    await world.store.checkpoint(claimed.lease, checkpoint())
    assert (await world.task(claimed.task_id)).waits == 0


async def test_a_drain_puts_the_task_back_at_once(world: World) -> None:
    claimed = await world.running()
    await world.store.checkpoint(claimed.lease, checkpoint(), note(40))
    world.clock.advance(5)
    await world.store.settle(claimed.lease, Drained())
    assert await world.last(claimed.task_id) == {"reason": "drained"}
    task = await world.task(claimed.task_id)
    assert (task.status, task.pooled_at) == (Status.QUEUED, world.clock.now())
    again = await world.reclaim(claimed.task_id)
    assert (again.attempt, again.fence, again.progress) == (1, 2, 40)
    assert len(await world.store.steps(claimed.task_id)) == 1


async def test_ten_drains_change_no_attempt(world: World) -> None:
    claimed = await world.running()
    for _ in range(10):
        await world.store.settle(claimed.lease, Drained())
        claimed = await world.reclaim(claimed.task_id)
    assert (claimed.attempt, claimed.fence, claimed.lost_claims) == (1, 11, 0)


async def test_every_kind_of_end_in_one_commit(world: World) -> None:
    outcomes: list[Outcome] = [*OUTCOMES.values(), succeeded('"another"')]
    claims = [await world.running() for _ in outcomes]
    await asyncio.gather(
        *(
            world.store.settle(claimed.lease, outcome, note(10))
            for claimed, outcome in zip(claims, outcomes, strict=True)
        )
    )
    statuses = [await world.status(claimed.task_id) for claimed in claims]
    assert statuses == [
        Status.COMPLETED,
        Status.FAILED,
        Status.DEAD_LETTER,
        Status.WAITING,
        Status.QUEUED,
        Status.CANCELLED,
        Status.COMPLETED,
    ]
    for claimed in claims:
        kinds = await world.kinds(claimed.task_id)
        assert (kinds[:3], len(kinds)) == (["queued", "started", "progress"], 4)


async def test_an_endless_delay_is_kept(world: World) -> None:
    task_id = await world.settled(waiting(float("inf")))
    assert await world.status(task_id) is Status.WAITING
    assert (await world.last(task_id))["for"]["until"].startswith("2033")


async def test_release_takes_at_most_its_limit(world: World) -> None:
    for n in range(7):
        await world.submit(delay=1.0 + n / 10)
    world.clock.advance(5)
    released = [await world.store.release_due(3) for _ in range(4)]
    assert released == [3, 3, 1, 0]
    assert len(await world.claim(10)) == 7
