"""Schedules: each planned instant has one run at most, and policies decide which has one."""

import asyncio
import inspect
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from stagepost.errors import Conflict, NotFound
from stagepost.firing import MADE_UP_MOST, QUEUED_MOST, firing, unusable
from stagepost.records import Scope
from stagepost.schedule import WAITING_MOST, Misfire, Overlap, Plan, Skipped
from stagepost.store.schedules import Standing
from stagepost.stores import schedule_rows
from stagepost.stores.postgres import schedule_writes as postgres_writes
from stagepost.stores.sqlite import schedule_writes as sqlite_writes
from stagepost.task import Status
from support.schedules import again, begin, finish_all, look, plan, tasks_of
from support.world import EVERYBODY, World, new_id, refused

ACME = Scope("acme")
MINUTE = 60_000


async def test_a_run_is_a_task_of_its_schedule(world: World) -> None:
    began = world.clock.now()
    schedule = await begin(world, input='{"page":1,"when":"{plannedAt}"}', lane="batch")
    assert (schedule.next_at, schedule.due_at) == (began + MINUTE, began + MINUTE)
    world.clock.advance(59)
    assert await look(world) == []
    world.clock.advance(1.5)
    (run,) = await look(world)
    (task,) = await tasks_of(world, schedule)
    assert (run.task_id, run.planned_at) == (task.id, began + MINUTE)
    assert (task.tenant, task.user, task.type, task.lane) == ("acme", "ada", "review", "batch")
    assert (task.status, task.max_attempts, task.ttl) == (Status.QUEUED, 4, 86_400_000)
    view = await world.view(task.id)
    assert view.input == '{"page":1,"when":"2023-11-14T22:14:20.000Z"}'
    assert view.tags == ("planned:2023-11-14T22:14:20.000Z", f"schedule:{schedule.id}")
    assert await world.kinds(task.id) == ["queued"]
    now = await again(world, schedule)
    assert (now.last_at, now.last_task, now.next_at) == (
        run.planned_at,
        task.id,
        began + 2 * MINUTE,
    )
    assert await look(world) == []


async def test_of_many_looks_at_once_one_makes_the_run(world: World) -> None:
    schedule = await begin(world)
    world.clock.advance(60)
    due = await world.store.schedules.due(10)
    made = [firing(each, due.now) for each in due.schedules] * 8
    answers = await asyncio.gather(*(world.store.schedules.fire(each) for each in made))
    assert sum(map(len, answers)) == 1
    assert len(await tasks_of(world, schedule)) == 1


async def test_a_run_that_is_there_is_not_made_again(world: World) -> None:
    """Whatever was thought due: the row of the run decides."""
    schedule = await begin(world, overlap=Overlap.QUEUE)
    world.clock.advance(60)
    (run,) = await look(world)
    await finish_all(world)
    again_due = replace(firing(replace(schedule, version=2), world.clock.now()))
    assert again_due.live == run.planned_at
    assert await world.store.schedules.fire(again_due) == []
    assert await world.store.schedules.backfill(schedule.id, ACME, [run.planned_at]) == 0
    assert len(await tasks_of(world, schedule)) == 1


# While the run before goes on


async def test_an_instant_is_skipped_while_the_run_before_goes_on(world: World) -> None:
    schedule = await begin(world)
    for _ in range(3):
        world.clock.advance(60)
        await look(world)
    assert len(await tasks_of(world, schedule)) == 1
    now = await again(world, schedule)
    assert (now.skipped_at, now.skipped_why) == (world.clock.now(), Skipped.OVERLAP)
    await finish_all(world)
    world.clock.advance(60)
    assert len(await look(world)) == 1


async def test_instants_queue_up_behind_the_run_before(world: World) -> None:
    schedule = await begin(world, overlap=Overlap.QUEUE)
    for _ in range(3):
        world.clock.advance(60)
        await look(world)
    assert len(await tasks_of(world, schedule)) == 1
    assert (await again(world, schedule)).waiting == 2
    for number in (2, 3):
        assert await look(world) == []
        await finish_all(world)
        assert len(await look(world)) == 1
        assert len(await tasks_of(world, schedule)) == number
    assert (await again(world, schedule)).waiting == 0
    planned = [(await world.view(task.id)).tags[0] for task in await tasks_of(world, schedule)]
    assert planned == sorted(planned)


async def test_the_queue_has_an_end(world: World) -> None:
    schedule = await begin(world, overlap=Overlap.QUEUE)
    for _ in range(QUEUED_MOST + 3):
        world.clock.advance(60)
        await look(world)
    now = await again(world, schedule)
    assert (now.waiting, now.skipped_why) == (QUEUED_MOST, Skipped.FULL)


async def test_the_run_before_is_cancelled(world: World) -> None:
    schedule = await begin(world, overlap=Overlap.CANCEL_OLD)
    world.clock.advance(60)
    await look(world)
    (running,) = await world.claim()
    for _ in range(2):
        world.clock.advance(60)
        assert len(await look(world)) == 1
    first, second, third = await tasks_of(world, schedule)
    assert first.id == running.task_id
    assert first.cancel is not None
    assert first.cancel.by == f"schedule:{schedule.id}"
    assert (first.status, second.status, third.status) == (
        Status.RUNNING,
        Status.CANCELLED,
        Status.QUEUED,
    )


async def test_a_run_that_the_store_does_not_take_now_goes_on_waiting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when its tenant has no room: the next look tries it again."""
    schedules: Any = world.store.schedules
    schedule, accept = await begin(world), schedules._submit

    def full(*_: object) -> Any:
        refused: list[Exception] = [Conflict("no room")]
        return _answered(refused) if inspect.iscoroutinefunction(accept) else refused

    monkeypatch.setattr(schedules, "_submit", full)
    world.clock.advance(60)
    assert await look(world) == []
    now = await again(world, schedule)
    assert (now.waiting, now.held_at, now.held_why) == (1, world.clock.now(), "no room")
    monkeypatch.setattr(schedules, "_submit", accept)
    assert [run.planned_at for run in await look(world)] == [schedule.next_at]
    now = await again(world, schedule)
    assert (now.waiting, now.held_at, now.held_why) == (0, None, None)


async def _answered(answers: list[Exception]) -> list[Exception]:
    return answers


# What was missed


@pytest.mark.parametrize(
    ("misfire", "down", "made"),
    [
        (Misfire.SKIP, 600, 1),  # the last instant is on time
        (Misfire.SKIP, 630, 0),
        (Misfire.ONCE, 630, 1),
        (Misfire.ONCE, 600, 1),
        (Misfire.ALL, 630, 10),
        (Misfire.ALL, 600, 10),
        (Misfire.ALL, 365 * 86_400 + 30, MADE_UP_MOST),
        (Misfire.ONCE, 365 * 86_400 + 30, 1),
    ],
)
async def test_what_was_missed_is_made_up_as_the_policy_says(
    world: World, misfire: Misfire, down: int, made: int
) -> None:
    schedule = await begin(world, misfire=misfire)
    world.clock.advance(down)
    planned = []
    for _ in range(made + 2):
        planned += [run.planned_at for run in await look(world)]
        await finish_all(world)
    last = schedule.created_at + down // 60 * MINUTE
    assert sorted(planned) == [last - number * MINUTE for number in range(made)][::-1]
    assert len(await tasks_of(world, schedule)) == made
    now = await again(world, schedule)
    assert (now.waiting, now.skipped_why) == (0, Skipped.MISFIRE if misfire == "skip" else None)
    assert now.next_at == last + MINUTE


async def test_each_instant_of_the_last_seconds_is_on_time(world: World) -> None:
    schedule = await begin(world, every=3, overlap=Overlap.QUEUE)
    world.clock.advance(7.6)
    planned = []
    for _ in range(4):
        planned += [run.planned_at for run in await look(world)]
        await finish_all(world)
    assert planned == [schedule.created_at + 3_000, schedule.created_at + 6_000]
    assert (await again(world, schedule)).skipped_at is None


async def test_what_is_made_up_keeps_no_live_run_back(world: World) -> None:
    schedule = await begin(world, misfire=Misfire.ALL)
    world.clock.advance(630)
    assert len(await look(world)) == 1, "of those that are made up one goes at a time"
    world.clock.advance(30)
    assert [run.planned_at for run in await look(world)] == [world.clock.now()]
    assert len(await tasks_of(world, schedule)) == 2


async def test_once_is_over_when_it_was(world: World) -> None:
    at = world.clock.now() + MINUTE
    schedule = await begin(world, at=at)
    world.clock.advance(61)
    assert [run.planned_at for run in await look(world)] == [at]
    now = await again(world, schedule)
    assert (now.next_at, now.due_at) == (None, None)
    world.clock.advance(86_400)
    assert await look(world) == []


async def test_jitter_is_the_same_whoever_asks(world: World) -> None:
    schedule = await begin(world, jitter=30)
    assert schedule.next_at is not None
    assert schedule.due_at is not None
    assert schedule.next_at <= schedule.due_at <= schedule.next_at + 30_000
    world.clock.advance((schedule.due_at - schedule.created_at) / 1000 - 0.001)
    assert await look(world) == []
    world.clock.advance(0.001)
    assert [run.planned_at for run in await look(world)] == [schedule.next_at]


# Where clocks change


async def fired(world: World, cron: str, start: str, end: str) -> list[str]:
    """What a schedule in US/Pacific has submitted, by its clocks, from one instant to another."""
    first, last = (datetime.fromisoformat(text) for text in (start, end))
    # A look each ten minutes, a second after them.
    world.clock.advance(first.timestamp() - 599 - world.clock.now() / 1000)
    await begin(world, cron=cron, timezone="US/Pacific")
    planned: list[int] = []
    while world.clock.now() / 1000 + 600 < last.timestamp():
        world.clock.advance(600)
        planned += [run.planned_at for run in await look(world)]
        await finish_all(world)
    zone = ZoneInfo("US/Pacific")
    return [datetime.fromtimestamp(each / 1000, zone).strftime("%d %H:%M %Z") for each in planned]


async def test_hourly_fires_25_times_on_a_day_of_25_hours(world: World) -> None:
    day = ("2026-11-01T00:00:00-07:00", "2026-11-02T00:00:00-08:00")
    found = await fired(world, "0 * * * *", *day)
    assert len(found) == 25
    assert found[:4] == ["01 00:00 PDT", "01 01:00 PDT", "01 01:00 PST", "01 02:00 PST"]


async def test_a_time_that_comes_twice_fires_once(world: World) -> None:
    day = ("2026-11-01T00:00:00-07:00", "2026-11-02T00:00:00-08:00")
    assert await fired(world, "30 1 * * *", *day) == ["01 01:30 PDT"]


async def test_a_time_in_a_gap_fires_at_the_first_instant_behind_it(world: World) -> None:
    days = ("2027-03-14T00:00:00-08:00", "2027-03-16T00:00:00-07:00")
    assert await fired(world, "30 2 * * *", *days) == ["14 03:00 PDT", "15 02:30 PDT"]


# Changes


async def test_a_paused_schedule_stands_still_and_makes_nothing_up(world: World) -> None:
    schedule = await begin(world, misfire=Misfire.ALL)
    paused = replace(schedule.plan, paused=True)
    stopped = await world.store.schedules.change(schedule.id, ACME, schedule.plan, paused)
    assert stopped.due_at is None
    assert stopped.next_at == schedule.next_at
    world.clock.advance(600)
    assert await look(world) == []
    resumed = await world.store.schedules.change(schedule.id, ACME, paused, schedule.plan)
    assert resumed.next_at == world.clock.now() + MINUTE
    assert await tasks_of(world, schedule) == []


async def test_what_waits_is_held_while_it_is_paused(world: World) -> None:
    schedule = await begin(world)
    planned = [schedule.created_at - MINUTE]
    paused = replace(schedule.plan, paused=True)
    await world.store.schedules.change(schedule.id, ACME, schedule.plan, paused)
    assert await world.store.schedules.backfill(schedule.id, ACME, planned) == 1
    assert await look(world) == []
    assert await world.store.schedules.proceed(schedule.id) == ()
    await world.store.schedules.change(schedule.id, ACME, paused, schedule.plan)
    assert len(await look(world)) == 1


async def test_another_timing_counts_from_now_on(world: World) -> None:
    schedule = await begin(world)
    world.clock.advance(30)
    slower = replace(schedule.plan, every=90)
    now = await world.store.schedules.change(schedule.id, ACME, schedule.plan, slower)
    assert now.next_at == world.clock.now() + 90_000
    renamed = replace(slower, name="slower")
    world.clock.advance(30)
    named = await world.store.schedules.change(schedule.id, ACME, slower, renamed)
    assert named.next_at == now.next_at


async def test_a_look_from_before_a_change_counts_no_more(world: World) -> None:
    schedule = await begin(world)
    world.clock.advance(60)
    due = await world.store.schedules.due(10)
    other = replace(schedule.plan, input='{"page":2}')
    await world.store.schedules.change(schedule.id, ACME, schedule.plan, other)
    assert await world.store.schedules.fire(firing(due.schedules[0], due.now)) == ()
    (run,) = await look(world)
    assert (await world.view(run.task_id)).input == '{"page":2}'


async def test_of_two_changes_at_once_one_is_told_to_look_again(world: World) -> None:
    schedule = await begin(world)

    async def change(name: str) -> Plan:
        plan = replace(schedule.plan, name=name)
        return (await world.store.schedules.change(schedule.id, ACME, schedule.plan, plan)).plan

    answers = await asyncio.gather(change("a"), change("b"), return_exceptions=True)
    assert sorted(type(each).__name__ for each in answers) == ["Conflict", "Plan"]


async def test_an_unusable_schedule_stands_still(world: World) -> None:
    schedule = await begin(world)
    world.clock.advance(60)
    assert await world.store.schedules.fire(unusable(schedule)) == []
    now = await again(world, schedule)
    assert (now.due_at, now.skipped_at, now.skipped_why) == (None, schedule.next_at, "unusable")


async def test_a_removed_schedule_leaves_its_tasks(world: World) -> None:
    schedule = await begin(world, overlap=Overlap.QUEUE)
    for _ in range(2):
        world.clock.advance(60)
        await look(world)
    await world.store.schedules.remove(schedule.id, ACME)
    await refused(world.store.schedules.get(schedule.id, ACME), NotFound)
    await refused(world.store.schedules.remove(schedule.id, ACME), NotFound)
    await finish_all(world)
    world.clock.advance(60)
    assert await look(world) == []
    assert [task.status for task in await tasks_of(world, schedule)] == [Status.COMPLETED]


# Backfill


async def test_a_backfill_runs_one_after_the_other(world: World) -> None:
    schedule = await begin(world)
    planned = [schedule.created_at - number * MINUTE for number in (3, 2, 1)]
    assert await world.store.schedules.backfill(schedule.id, ACME, planned) == 3
    assert await world.store.schedules.backfill(schedule.id, ACME, planned) == 0
    seen = []
    for _ in range(3):
        (run,) = await look(world)
        assert await look(world) == []
        seen.append(run.planned_at)
        await finish_all(world)
    assert seen == planned
    assert await look(world) == []
    assert (await again(world, schedule)).waiting == 0


async def test_no_more_than_so_many_wait(world: World) -> None:
    schedule = await begin(world)
    planned = [schedule.created_at - number * MINUTE for number in range(WAITING_MOST, 0, -1)]
    assert await world.store.schedules.backfill(schedule.id, ACME, planned) == WAITING_MOST
    more = world.store.schedules.backfill(schedule.id, ACME, [schedule.created_at - 1])
    assert "wait" in str(await refused(more, Conflict))


async def test_a_backfill_that_fills_its_room_leaves_the_live_runs_theirs(world: World) -> None:
    schedule = await begin(world)
    planned = [schedule.created_at - number * MINUTE for number in range(WAITING_MOST, 0, -1)]
    await world.store.schedules.backfill(schedule.id, ACME, planned)
    world.clock.advance(60)
    assert {run.planned_at for run in await look(world)} == {schedule.next_at, planned[0]}
    now = await again(world, schedule)
    assert (now.skipped_at, now.waiting) == (None, WAITING_MOST - 1)


async def test_the_run_before_is_replaced_however_much_is_made_up(world: World) -> None:
    schedule = await begin(world, overlap=Overlap.CANCEL_OLD)
    world.clock.advance(60)
    (first,) = await look(world)
    planned = [schedule.created_at - number * MINUTE for number in range(WAITING_MOST, 0, -1)]
    await world.store.schedules.backfill(schedule.id, ACME, planned)
    world.clock.advance(60)
    second = next(run for run in await look(world) if run.planned_at == world.clock.now())
    assert await world.status(first.task_id) is Status.CANCELLED
    assert await world.status(second.task_id) is Status.QUEUED


async def test_the_run_before_goes_on_if_the_instant_has_a_run_already(world: World) -> None:
    """A backfill may have been quicker; then nothing takes the old run's place."""
    schedule = await begin(world, overlap=Overlap.CANCEL_OLD)
    world.clock.advance(60)
    (first,) = await look(world)
    world.clock.advance(61)
    quicker = [schedule.created_at + 2 * MINUTE]
    assert await world.store.schedules.backfill(schedule.id, ACME, quicker) == 1
    assert [run.planned_at for run in await look(world)] == quicker
    assert await world.status(first.task_id) is Status.QUEUED


async def test_what_is_missed_is_made_up_as_far_as_there_is_room(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sqlite_writes, postgres_writes, schedule_rows):
        monkeypatch.setattr(module, "WAITING_MOST", 4)
    schedule = await begin(world, misfire=Misfire.ALL)
    world.clock.advance(330)
    minutes = [schedule.created_at + number * MINUTE for number in range(1, 6)]
    await world.store.schedules.backfill(schedule.id, ACME, minutes[:3])
    (run,) = await look(world)
    assert run.planned_at == minutes[0]
    now = await again(world, schedule)
    assert (now.waiting, now.skipped_at, now.skipped_why) == (3, minutes[4], Skipped.FULL)


# Whose they are


async def test_of_another_tenant_or_user_nothing_is_seen(world: World) -> None:
    schedule = await begin(world)
    schedules = world.store.schedules
    for scope in (ACME, Scope("acme", "ada"), EVERYBODY):
        assert await schedules.get(schedule.id, scope) == schedule
        assert await schedules.find(scope, None, 10) == [schedule]
    for scope in (Scope("other"), Scope("acme", "bob"), Scope("other", "ada")):
        await refused(schedules.get(schedule.id, scope), NotFound)
        await refused(schedules.remove(schedule.id, scope), NotFound)
        await refused(schedules.backfill(schedule.id, scope, [1]), NotFound)
        await refused(schedules.change(schedule.id, scope, schedule.plan, schedule.plan), NotFound)
        assert await schedules.find(scope, None, 10) == []
    for absent in (new_id(), "no id", ""):
        await refused(schedules.get(absent, EVERYBODY), NotFound)


async def test_they_are_listed_in_pages(world: World) -> None:
    ids = [(await begin(world)).id for _ in range(5)]
    await begin(world, tenant="other")
    first = await world.store.schedules.find(ACME, None, 3)
    rest = await world.store.schedules.find(ACME, first[-1].id, 3)
    assert [each.id for each in (*first, *rest)] == ids


async def test_a_tenant_has_so_many_and_no_more(world: World) -> None:
    async def add(tenant: str) -> bool:
        try:
            await world.store.schedules.add(new_id(), tenant, "ada", plan(), 3)
        except Conflict:
            return False
        return True

    assert sum(await asyncio.gather(*(add("acme") for _ in range(8)))) == 3
    assert await add("other")


async def test_they_survive_a_restart(world: World) -> None:
    schedule = await begin(world, cron="30 2 * * *", timezone="Europe/Berlin", jitter=5)
    await world.reopen()
    assert await again(world, schedule) == schedule
    assert await world.store.schedules.standing() == Standing(1, 0, 0, 0)


async def test_how_they_stand_is_told(world: World) -> None:
    await begin(world)
    await begin(world, every=3_600, paused=True)
    third = await begin(world, every=3_600)
    await world.store.schedules.backfill(third.id, ACME, [1, 2])
    world.clock.advance(75)
    assert await world.store.schedules.standing() == Standing(2, 1, 2, 15_000)


async def test_old_runs_are_forgotten_and_are_not_made_up_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sqlite_writes, postgres_writes):
        monkeypatch.setattr(module, "REMEMBERED", 3)
    monkeypatch.setattr(schedule_rows, "TRIMMED_EVERY", 2)
    schedule = await begin(world)
    planned = []
    for _ in range(7):
        world.clock.advance(60)
        planned += [run.planned_at for run in await look(world)]
        await finish_all(world)
    assert len(planned) == 7
    forgotten = (await again(world, schedule)).forgotten_at
    assert forgotten is not None
    assert forgotten in planned
    backfill = world.store.schedules.backfill
    assert "remember" in str(await refused(backfill(schedule.id, ACME, planned), Conflict))
    kept = [each for each in planned if each > forgotten]
    assert 3 <= len(kept) <= 5
    assert await backfill(schedule.id, ACME, kept) == 0
