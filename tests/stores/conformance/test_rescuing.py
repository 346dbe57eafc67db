"""Workers live by their beats, and what they held when they die is given back."""

import pytest

from stagepost.errors import Conflict, LeaseLost
from stagepost.maintenance.rescuer import Rescuer
from stagepost.outcome import Drained
from stagepost.records import Beat, Rescue, WorkerRecord
from stagepost.task import Status
from stagepost.testing import FakeClock
from support.tasks import failed, succeeded
from support.world import World, checkpoint, new_id, note, refused


async def test_a_worker_is_known_while_it_lives(world: World) -> None:
    record = WorkerRecord(new_id(), "host:1", ("interactive", "batch"), ("a", "b"), 8, "1.2")
    store, born = world.store, world.clock.now()
    await store.register(record)
    world.clock.advance(5)
    assert await store.beat(record.id, "draining") == Beat(known=True)
    (known,) = await store.workers()
    assert (known.id, known.name, known.lanes, known.types) == (
        record.id, "host:1", ("interactive", "batch"), ("a", "b"),
    )  # fmt: skip
    assert (known.slots, known.version, known.state, known.running) == (8, "1.2", "draining", 0)
    assert (known.started_at, known.beat_at) == (born, born + 5_000)
    await store.retire(record.id)
    assert await store.workers() == []
    assert await store.beat(record.id, "running") == Beat(known=False)


async def test_an_id_registers_once(world: World) -> None:
    hand = await world.worker()
    again = WorkerRecord(hand.id, "other", (), (), 1, "1")
    await refused(world.store.register(again), Conflict)


async def test_a_worker_is_shown_with_what_it_runs(world: World) -> None:
    hand = await world.hand()
    claims = [await world.running() for _ in range(3)]
    await world.store.settle(claims[0].lease, succeeded())
    (known,) = await world.store.workers()
    assert (known.id, known.running) == (hand.id, 2)


async def test_only_silent_workers_are_rescued(world: World) -> None:
    silent, alive = await world.worker(), await world.worker()
    lost, kept = await world.running(by=silent), await world.running(by=alive)
    world.clock.advance(10)
    await world.store.beat(alive.id, "running")
    assert await world.store.rescue(older_than=10.1) == Rescue()
    world.clock.advance(5)
    assert await world.store.rescue(older_than=15) == Rescue((silent.id,), (lost.task_id,))
    assert await world.status(kept.task_id) is Status.RUNNING
    assert [worker.id for worker in await world.store.workers()] == [alive.id]
    assert not (await world.store.beat(silent.id, "running")).known
    assert await world.store.rescue(older_than=15) == Rescue()


async def test_a_claim_with_progress_is_given_back_and_spends_nothing(world: World) -> None:
    claimed = await world.running()
    await world.store.checkpoint(claimed.lease, checkpoint(), note(40))
    await world.lose()
    assert await world.last(claimed.task_id) == {"reason": "rescued"}
    again = await world.reclaim(claimed.task_id)
    assert (again.attempt, again.fence, again.lost_claims, again.progress) == (1, 2, 0, 40)
    assert await world.store.failures(claimed.task_id) == []


async def test_progress_in_percent_alone_does_not_count(world: World) -> None:
    claimed = await world.running()
    await world.store.progress(claimed.lease, note(40))
    await world.lose()
    assert await world.status(claimed.task_id) is Status.FAILED


async def test_a_claim_without_progress_spends_an_attempt_and_makes_a_suspect(
    world: World,
) -> None:
    claimed = await world.running()
    await world.lose()
    task = await world.task(claimed.task_id)
    assert (task.status, task.failure_kind, task.suspect) == (Status.FAILED, "WORKER_LOST", True)
    assert task.due_at == world.clock.now() + 1_000
    (record,) = await world.store.failures(claimed.task_id)
    assert (record.attempt, record.fence, record.kind) == (1, 1, "WORKER_LOST")
    world.clock.advance(1)
    await world.store.release_due(10)
    again = await world.reclaim(claimed.task_id)
    assert (again.attempt, again.lost_claims) == (2, 1)
    await world.store.checkpoint(again.lease, checkpoint())
    assert not (await world.task(claimed.task_id)).suspect


async def test_three_losses_in_a_row_without_progress_are_a_dead_letter(world: World) -> None:
    task_id = await world.submit(max_attempts=10)
    delays = []
    for _ in range(3):
        await world.reclaim(task_id)
        await world.lose()
        due_at = (await world.task(task_id)).due_at
        delays.append(due_at and due_at - world.clock.now())
        world.clock.advance(15)
        await world.store.release_due(10)
    assert delays == [1_000, 5_000, None]
    task = await world.task(task_id)
    assert (task.status, task.failure_kind) == (Status.DEAD_LETTER, "WORKER_LOST")
    assert [record.kind for record in await world.store.failures(task_id)] == ["WORKER_LOST"] * 3
    assert await world.kinds(task_id) == [
        *["queued", "started", "retrying"] * 2, "queued", "started", "failed",
    ]  # fmt: skip


async def test_losses_are_also_bounded_by_the_attempts(world: World) -> None:
    claimed = await world.running(max_attempts=1)
    await world.lose()
    assert await world.status(claimed.task_id) is Status.DEAD_LETTER


async def test_a_long_task_outlives_any_number_of_crashes(world: World) -> None:
    task_id = await world.submit(max_attempts=2)
    for number in range(12):
        claimed = await world.reclaim(task_id)
        await world.store.checkpoint(claimed.lease, checkpoint(f"step#{number}"))
        await world.lose()
    claimed = await world.reclaim(task_id)
    assert (claimed.attempt, claimed.fence, claimed.saved_steps) == (1, 13, 12)


async def test_saved_steps_of_an_earlier_claim_are_no_progress_of_this_one(world: World) -> None:
    claimed = await world.running()
    await world.store.checkpoint(claimed.lease, checkpoint())
    await world.lose()
    await world.reclaim(claimed.task_id)
    await world.lose()
    assert await world.status(claimed.task_id) is Status.FAILED


async def test_what_a_worker_still_holds_when_it_retires_is_given_back_without_blame(
    world: World,
) -> None:
    saved, unsaved, cancelled = [await world.running() for _ in range(3)]
    await world.store.checkpoint(saved.lease, checkpoint())
    await world.cancel(cancelled.task_id)
    await world.store.retire((await world.hand()).id)
    for claimed in (saved, unsaved):
        task = await world.task(claimed.task_id)
        assert (task.status, task.attempt, task.lost_claims) == (Status.QUEUED, 1, 0)
        assert await world.last(claimed.task_id) == {"reason": "rescued"}
    assert await world.status(cancelled.task_id) is Status.CANCELLED
    assert await world.store.rescue(older_than=3_600) == Rescue()
    await refused(world.store.settle(saved.lease, succeeded()), LeaseLost)


async def test_many_claims_of_many_workers_at_once(world: World) -> None:
    hands = [await world.worker() for _ in range(3)]
    claims = [await world.running(by=hand) for hand in hands for _ in range(5)]
    for claimed in claims[::2]:
        await world.store.checkpoint(claimed.lease, checkpoint())
    rescue = await world.store.rescue(older_than=0)
    assert sorted(rescue.workers) == sorted(hand.id for hand in hands)
    assert sorted(rescue.tasks) == sorted(claimed.task_id for claimed in claims)
    for number, claimed in enumerate(claims):
        expected = Status.QUEUED if number % 2 == 0 else Status.FAILED
        assert await world.status(claimed.task_id) is expected


async def test_after_a_restart_all_earlier_claims_are_given_back(world: World) -> None:
    claimed = await world.running()
    await world.store.checkpoint(claimed.lease, checkpoint())
    await world.reopen()
    assert await world.status(claimed.task_id) is Status.RUNNING
    await world.lose()
    assert (await world.reclaim(claimed.task_id)).fence == 2


async def test_a_clock_that_is_set_back_takes_no_time_back(world: World) -> None:
    claimed = await world.running()
    at = world.clock.now()
    world.clock.set_back(3_600)
    await world.store.settle(claimed.lease, failed(5.0))
    task = await world.task(claimed.task_id)
    assert task.due_at == at + 5_000
    assert await world.store.rescue(older_than=1) == Rescue()
    events = await world.store.events(claimed.task_id, 0, 10)
    assert [event.at for event in events] == [at] * 3


async def test_a_rescued_worker_that_wakes_is_refused(world: World) -> None:
    hand = await world.worker()
    claimed = await world.running(by=hand)
    world.clock.advance(60)
    await world.store.rescue(older_than=15)
    assert not (await world.store.beat(hand.id, "running")).known
    await refused(world.store.settle(claimed.lease, Drained()), LeaseLost)
    assert await world.claim(by=hand) == []


@pytest.mark.parametrize("state", ["running", "draining"])
async def test_a_beat_tells_whom_to_cancel_until_they_have_ended(world: World, state: str) -> None:
    hand = await world.hand()
    one, other = await world.running(), await world.running()
    await world.cancel(one.task_id)
    beat = await world.store.beat(hand.id, state)
    assert [task_id for task_id, _ in beat.cancels] == [one.task_id]
    await world.store.settle(one.lease, succeeded())
    assert (await world.store.beat(hand.id, state)).cancels == ()
    assert await world.status(other.task_id) is Status.RUNNING


async def test_ping_tells_the_stores_time_which_is_never_set_back(world: World) -> None:
    now = world.clock.now()
    assert await world.store.ping() == now
    world.clock.set_back(60)
    assert await world.store.ping() == now
    world.clock.advance(61)
    assert await world.store.ping() == now + 1_000


async def test_silence_is_counted_back_from_an_instant_that_was_told(world: World) -> None:
    claimed = await world.running()
    told = await world.store.ping()
    world.clock.advance(3_600)
    assert await world.store.rescue(older_than=15, as_of=told + 14_999) == Rescue()
    rescue = await world.store.rescue(older_than=15, as_of=told + 15_000)
    assert rescue.tasks == (claimed.task_id,)


async def test_a_jump_of_the_stores_clock_gives_nothing_back(world: World) -> None:
    hand = await world.hand()
    claimed = await world.running(by=hand)
    ours = FakeClock()
    rescuer = Rescuer(world.store, ours, 15.0)

    async def looks(times: int) -> int:
        found = 0
        for _ in range(times):
            ours.advance(3)
            world.clock.advance(3)
            found += len((await rescuer.look()).tasks)
            await world.store.beat(hand.id, "running")
        return found

    assert await looks(10) == 0
    world.clock.advance(3_600)
    assert await looks(10) == 0
    assert await world.status(claimed.task_id) is Status.RUNNING
    rescued: list[str] = []
    for _ in range(6):
        ours.advance(3)
        world.clock.advance(3)
        rescued += (await rescuer.look()).tasks
    assert rescued == [claimed.task_id]
