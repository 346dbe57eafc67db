"""Sleeps and signals: their ends are fixed once, each signal is taken once, no wake is lost."""

import asyncio
from dataclasses import replace

import pytest

from stagepost.errors import Conflict, IdempotencyMismatch, LeaseLost, NotAllowed, NotFound
from stagepost.outcome import Waiting
from stagepost.records import Claimed, Scope
from stagepost.signals import MOST_SIGNALS, NewWait, Pending, Signal
from stagepost.task import Lease, Status, Task
from stagepost.waiting import LimitFree, SignalSent, TimeComes
from support.tasks import failed, succeeded
from support.world import EVERYBODY, World, checkpoint, new_id, refused


def a_signal(
    body: str = '"yes"', name: str = "approve", sender: str = "ada", roles: tuple[str, ...] = ()
) -> Signal:
    return Signal(new_id(), name, body, sender, roles)


def a_wait(name: str = "approve", number: int = 1, **changes: object) -> NewWait:
    step = f"wait_for {name}"
    wait = NewWait(step if number == 1 else f"{step}#{number}", step, "hash", name)
    return wait._replace(**changes)  # type: ignore[arg-type]


def parked(*waits: NewWait, until: int | None = None) -> Waiting:
    return Waiting(tuple(SignalSent(wait.signal, wait.path, until) for wait in waits))


async def send(world: World, task_id: str, *bodies: str, **changes: object) -> Task:
    for body in bodies:
        task = await world.store.waits.send(task_id, EVERYBODY, a_signal(body, **changes))  # type: ignore[arg-type]
    return task


async def listen(world: World, claimed: Claimed, wait: NewWait) -> Pending | str:
    return await world.store.waits.listen(claimed.lease, wait)


async def body_of(world: World, claimed: Claimed, wait: NewWait) -> str:
    """The body of the signal that a wait takes."""
    text = await listen(world, claimed, wait)
    assert isinstance(text, str), "it goes on waiting"
    return text.removeprefix("[").rpartition(",[")[0]


# Sleeps


async def test_a_sleep_ends_when_its_first_call_has_said(world: World) -> None:
    claimed = await world.running()
    until = world.clock.now() + 90_000
    assert await world.store.waits.sleep(claimed.lease, "sleep", 90.0) == Pending(until, 90.0)
    world.clock.advance(30)
    assert await world.store.waits.sleep(claimed.lease, "sleep", 500.0) == Pending(until, 60.0)
    assert await world.store.waits.sleep(claimed.lease, "sleep#2", 5.0) == Pending(
        until - 55_000, 5
    )
    world.clock.advance(90)
    assert await world.store.waits.sleep(claimed.lease, "sleep", 90.0) == Pending(until, -30.0)


async def test_a_sleep_outlives_its_claim(world: World) -> None:
    claimed = await world.running()
    pending = await world.store.waits.sleep(claimed.lease, "sleep", 3_600.0)
    await world.store.settle(claimed.lease, Waiting((TimeComes("sleep", pending.until or 0),)))
    task = await world.task(claimed.task_id)
    assert (task.status, task.due_at, task.waits) == (Status.WAITING, pending.until, 0)
    assert task.conditions == (TimeComes("sleep", pending.until or 0),)
    world.clock.advance(3_599.9)
    assert await world.store.release_due(10) == 0
    world.clock.advance(0.1)
    assert await world.store.release_due(10) == 1
    again = await world.reclaim(claimed.task_id)
    assert await world.store.waits.sleep(again.lease, "sleep", 3_600.0) == Pending(pending.until, 0)
    assert (await world.task(claimed.task_id)).conditions == ()
    assert again.time_left == claimed.time_left


async def test_a_late_writer_begins_and_ends_no_wait(world: World) -> None:
    claimed = await world.running()
    await send(world, claimed.task_id, "1")
    await world.lose()
    await refused(world.store.waits.sleep(claimed.lease, "sleep", 1.0), LeaseLost)
    await refused(listen(world, claimed, a_wait()), LeaseLost)
    nobody = Lease("no id", 1, "none")
    await refused(world.store.waits.sleep(nobody, "sleep", 1.0), LeaseLost)
    await refused(world.store.waits.listen(nobody, a_wait()), LeaseLost)
    world.clock.advance(1)
    await world.store.release_due(1)
    again = await world.reclaim(claimed.task_id)
    assert await body_of(world, again, a_wait()) == "1"


# Signals


async def test_a_signal_wakes_the_task_that_waits_for_it(world: World) -> None:
    claimed = await world.running()
    assert await listen(world, claimed, a_wait()) == Pending(None, None)
    await world.store.settle(claimed.lease, parked(a_wait()))
    task = await world.task(claimed.task_id)
    assert (task.status, task.due_at) == (Status.WAITING, None)
    assert await world.last(task.id) == {
        "for": {"kind": "signal", "name": "approve", "until": None}
    }
    world.clock.advance(3 * 86_400)
    assert (await send(world, task.id, '{"by":"é"}')).status is Status.QUEUED
    assert await world.last(task.id) == {"reason": "woken"}
    again = await world.reclaim(task.id)
    assert again.time_left == claimed.time_left
    now = world.clock.now()
    assert await listen(world, again, a_wait()) == f'[{{"by":"é"}},["ada",{now}]]'
    (step,) = await world.store.steps(task.id)
    assert (step.path, step.value.text) == ("wait_for approve", f'[{{"by":"é"}},["ada",{now}]]')
    assert now - step.started_at == 3 * 86_400_000
    assert (await world.task(task.id)).progressed
    assert await world.kinds(task.id) == [
        "queued",
        "started",
        "waiting",
        "queued",
        "started",
        "step",
    ]


@pytest.mark.parametrize("when", ["before", "while it runs"])
async def test_a_signal_that_comes_first_waits_for_the_wait(world: World, when: str) -> None:
    task_id = await world.submit()
    if when == "before":
        await send(world, task_id, "1")
    claimed = await world.reclaim(task_id)
    if when != "before":
        await send(world, task_id, "1")
    assert await world.status(task_id) is Status.RUNNING
    assert await body_of(world, claimed, a_wait()) == "1"


async def test_signals_are_taken_in_their_order_each_by_one_wait(world: World) -> None:
    claimed = await world.running()
    await send(world, claimed.task_id, "1", "2")
    await send(world, claimed.task_id, "3", name="other")
    await send(world, claimed.task_id, "4")
    bodies = [await body_of(world, claimed, a_wait(number=n)) for n in (1, 2, 3)]
    assert bodies == ["1", "2", "4"]
    assert await listen(world, claimed, a_wait(number=4)) == Pending(None, None)
    assert await body_of(world, claimed, a_wait("other")) == "3"


async def test_a_wait_ends_at_its_time_out_and_hears_nothing_later(world: World) -> None:
    claimed = await world.running()
    wait = a_wait(timeout=60.0)
    until = world.clock.now() + 60_000
    assert await listen(world, claimed, wait) == Pending(until, 60.0)
    await world.store.settle(claimed.lease, parked(wait, until=until))
    world.clock.advance(60)
    assert (await send(world, claimed.task_id, "1")).status is Status.WAITING
    assert await world.store.release_due(1) == 1
    again = await world.reclaim(claimed.task_id)
    assert await listen(world, again, wait) == "[]"
    (step,) = await world.store.steps(claimed.task_id)
    assert step.value.text == "[]"
    assert await body_of(world, again, a_wait(number=2)) == "1"


async def test_a_signal_in_time_counts_though_it_is_seen_late(world: World) -> None:
    claimed = await world.running()
    wait = a_wait(timeout=60.0)
    await listen(world, claimed, wait)
    world.clock.advance(59)
    await send(world, claimed.task_id, "1")
    world.clock.advance(59)
    assert await body_of(world, claimed, wait) == "1"


async def test_no_wake_is_lost_between_the_look_and_the_settlement(world: World) -> None:
    claimed = await world.running()
    waits = [a_wait(), a_wait("other")]
    for wait in waits:
        assert isinstance(await listen(world, claimed, wait), Pending)
    await send(world, claimed.task_id, "1")
    await world.store.settle(claimed.lease, parked(*waits))
    assert await world.status(claimed.task_id) is Status.QUEUED
    assert await world.last(claimed.task_id) == {"reason": "woken"}
    again = await world.reclaim(claimed.task_id)
    assert await body_of(world, again, waits[0]) == "1"
    await world.store.settle(again.lease, parked(waits[1]))
    assert await world.status(claimed.task_id) is Status.WAITING


@pytest.mark.parametrize("taken", [False, True])
async def test_a_signal_of_one_id_is_kept_once_and_never_stands_for_another(
    world: World, *, taken: bool
) -> None:
    claimed = await world.running()
    signal = a_signal('{"a":1,"b":[2]}')
    await world.store.waits.send(claimed.task_id, EVERYBODY, signal)
    if taken:
        assert await body_of(world, claimed, a_wait()) == signal.body
    for other in (
        replace(signal, name="go"),
        replace(signal, body='{"a":1,"b":[3]}'),
        replace(signal, body="null"),
    ):
        sending = world.store.waits.send(claimed.task_id, EVERYBODY, other)
        await refused(sending, IdempotencyMismatch)
    for same in (signal, replace(signal, body='{"b":[2],"a":1}')):
        task = await world.store.waits.send(claimed.task_id, EVERYBODY, same)
        assert task.status is Status.RUNNING
    if not taken:
        assert await body_of(world, claimed, a_wait()) == signal.body
    assert await listen(world, claimed, a_wait(number=2)) == Pending(None, None)
    assert await listen(world, claimed, a_wait("go")) == Pending(None, None)


async def test_signals_and_settlements_at_the_same_moment(world: World) -> None:
    for _ in range(10):
        claimed = await world.running()
        await listen(world, claimed, a_wait())
        await asyncio.gather(
            world.store.settle(claimed.lease, parked(a_wait())),
            send(world, claimed.task_id, "1"),
            send(world, claimed.task_id, "2"),
        )
        assert await world.status(claimed.task_id) is Status.QUEUED
        again = await world.reclaim(claimed.task_id)
        bodies = [await body_of(world, again, a_wait(number=n)) for n in (1, 2)]
        assert sorted(bodies) == ["1", "2"]


async def test_what_a_task_does_not_wait_for_wakes_it_not(world: World) -> None:
    claimed = await world.running()
    await listen(world, claimed, a_wait())
    await world.store.settle(claimed.lease, parked(a_wait()))
    assert (await send(world, claimed.task_id, "1", name="other")).status is Status.WAITING
    limited = await world.running()
    await listen(world, limited, a_wait())
    await world.store.settle(limited.lease, Waiting((LimitFree("model", 60.0),)))
    assert (await send(world, limited.task_id, "1")).status is Status.WAITING


async def test_only_approvers_may_send_what_a_wait_waits_for(world: World) -> None:
    claimed = await world.running()
    wait = a_wait(approvers=("bob", "operate"))
    await send(world, claimed.task_id, "1")  # before anybody could know
    assert await listen(world, claimed, wait) == Pending(None, None)
    await world.store.settle(claimed.lease, parked(wait))
    assert await world.status(claimed.task_id) is Status.WAITING
    await refused(send(world, claimed.task_id, "2"), NotAllowed)
    await refused(send(world, claimed.task_id, "2", sender="operate"), NotAllowed)
    await refused(send(world, claimed.task_id, "2", roles=("read", "submit")), NotAllowed)
    await send(world, claimed.task_id, "3", name="other")
    assert (await send(world, claimed.task_id, "4", sender="bob")).status is Status.QUEUED
    await send(world, claimed.task_id, "5", roles=("read", "submit", "operate"))
    again = await world.reclaim(claimed.task_id)
    assert await body_of(world, again, wait) == "4"
    assert await body_of(world, again, wait._replace(path="wait_for approve#2")) == "5"
    assert await body_of(world, again, a_wait(number=3)) == "1"


async def test_who_can_be_sent_what(world: World) -> None:
    task_id = await world.submit()
    for scope in (Scope("globex"), Scope("acme", "bob")):
        await refused(world.store.waits.send(task_id, scope, a_signal()), NotFound)
    for nowhere in (new_id(), "no id"):
        await refused(world.store.waits.send(nowhere, EVERYBODY, a_signal()), NotFound)
    for outcome in (succeeded(), failed(None)):
        claimed = await world.reclaim(task_id)
        await world.store.settle(claimed.lease, outcome)
        await refused(send(world, task_id, "1"), Conflict)
        task_id = await world.submit()
    await world.cancel(task_id)
    await refused(send(world, task_id, "1"), Conflict)


async def test_a_task_keeps_a_hundred_signals_that_it_has_not_taken(world: World) -> None:
    claimed = await world.running()
    await send(world, claimed.task_id, *map(str, range(MOST_SIGNALS)))
    await refused(send(world, claimed.task_id, "one more"), Conflict)
    assert await body_of(world, claimed, a_wait()) == "0"
    await send(world, claimed.task_id, "101")


async def test_a_task_that_waits_can_be_cancelled_and_hears_nothing_more(world: World) -> None:
    claimed = await world.running()
    await listen(world, claimed, a_wait())
    await world.store.settle(claimed.lease, parked(a_wait()))
    await world.cancel(claimed.task_id)
    task = await world.task(claimed.task_id)
    assert (task.status, task.conditions, task.wait) == (Status.CANCELLED, (), None)
    await refused(send(world, claimed.task_id, "1"), Conflict)


async def test_an_explicit_deadline_ends_a_wait_without_an_end(world: World) -> None:
    claimed = await world.running(deadline=world.clock.now() + 60_000)
    await listen(world, claimed, a_wait())
    await world.store.settle(claimed.lease, parked(a_wait()))
    world.clock.advance(60)
    assert await world.store.release_due(1) == 1
    task = await world.task(claimed.task_id)
    assert (task.status, task.failure_kind, task.conditions) == (Status.DEAD_LETTER, "DEADLINE", ())


async def test_a_redrive_keeps_what_was_heard_unless_it_begins_anew(world: World) -> None:
    claimed = await world.running()
    await send(world, claimed.task_id, "1", "2")
    assert await body_of(world, claimed, a_wait()) == "1"
    await listen(world, claimed, a_wait("late", timeout=60.0))
    await world.store.settle(claimed.lease, failed(None))
    world.clock.advance(90)
    await world.redrive(claimed.task_id)
    again = await world.reclaim(claimed.task_id)
    assert [step.path for step in await world.store.steps(claimed.task_id)] == ["wait_for approve"]
    assert await listen(world, again, a_wait("late", timeout=60.0)) == "[]"
    await world.store.settle(again.lease, failed(None))
    await world.redrive(claimed.task_id, fresh=True)
    fresh = await world.reclaim(claimed.task_id)
    assert await listen(world, fresh, a_wait("late", timeout=60.0)) == Pending(
        world.clock.now() + 60_000, 60.0
    )
    assert await body_of(world, fresh, a_wait()) == "2"


async def test_everything_about_waits_survives_a_restart(world: World) -> None:
    claimed = await world.running()
    pending = await world.store.waits.sleep(claimed.lease, "sleep", 60.0)
    await listen(world, claimed, a_wait(approvers=("bob",)))
    conditions = (TimeComes("sleep", pending.until or 0), SignalSent("approve", "wait_for approve"))
    await world.store.settle(claimed.lease, Waiting(conditions))
    await send(world, claimed.task_id, "1", name="other")
    await world.reopen()
    assert (await world.task(claimed.task_id)).conditions == conditions
    await refused(send(world, claimed.task_id, "2"), NotAllowed)
    await send(world, claimed.task_id, "3", sender="bob")
    await world.lose()
    again = await world.reclaim(claimed.task_id)
    assert await body_of(world, again, a_wait("other")) == "1"
    assert await body_of(world, again, a_wait()) == "3"
    assert await world.store.waits.sleep(again.lease, "sleep", 60.0) == Pending(pending.until, 60)


async def test_a_saved_path_is_refused(world: World) -> None:
    claimed = await world.running()
    await world.store.checkpoint(claimed.lease, checkpoint("wait_for approve"))
    await send(world, claimed.task_id, "1")
    await refused(listen(world, claimed, a_wait()), Conflict)
    assert await body_of(world, claimed, a_wait(number=2)) == "1"
