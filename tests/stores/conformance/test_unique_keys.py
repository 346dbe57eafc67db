"""Of a tenant, type and unique key there is one task that is not over."""

import asyncio
from typing import Any

import pytest

from stagepost.errors import Conflict, IdempotencyMismatch
from stagepost.outcome import Outcome, Waiting
from stagepost.records import Filter, Idempotency, Submitted, UploadRecord
from stagepost.task import Status
from stagepost.waiting import LimitFree
from support.tasks import failed, succeeded
from support.world import DAY, EVERYBODY, World, new_id, new_task, refused

KEY = Idempotency("submit", "key", "content")
PDF = "application/pdf"


def keyed(**changes: Any) -> Any:
    return new_task(**({"unique_key": "customer 7"} | changes))


async def tasks(world: World) -> list[str]:
    found = await world.store.find(EVERYBODY, Filter(limit=1_000))
    return sorted(task.id for task in found)


async def test_a_second_submit_gets_the_first_task(world: World) -> None:
    first = await world.store.submit(keyed())
    assert not first.replayed
    world.clock.advance(5)
    second = await world.store.submit(keyed(input='"other"', lane="batch", user="bob"))
    assert second == Submitted(
        first.task_id, Status.QUEUED, first.created_at, replayed=True, lane="interactive"
    )
    assert await tasks(world) == [first.task_id]
    view = await world.view(first.task_id)
    assert (view.input, view.task.lane) == ('{"page":1}', "interactive")
    assert await world.kinds(first.task_id) == ["queued"]


@pytest.mark.parametrize(
    "other",
    [{"tenant": "other"}, {"type": "translate"}, {"unique_key": "customer 8"}],
    ids=["tenant", "type", "key"],
)
async def test_a_unique_key_counts_for_its_tenant_and_type(
    world: World, other: dict[str, str]
) -> None:
    first = await world.store.submit(keyed())
    assert (await world.store.submit(keyed(**other))).task_id != first.task_id


@pytest.mark.parametrize("status", list(Status))
async def test_the_key_belongs_to_the_task_until_that_is_over(world: World, status: Status) -> None:
    delay = 60.0 if status is Status.PENDING else 0.0
    first = (await world.store.submit(keyed(delay=delay))).task_id
    if status not in {Status.PENDING, Status.QUEUED, Status.CANCELLED}:
        (claimed,) = await world.claim()
        outcomes: dict[Status, Outcome] = {
            Status.COMPLETED: succeeded(),
            Status.FAILED: failed(60.0),
            Status.DEAD_LETTER: failed(None),
            Status.WAITING: Waiting((LimitFree("pages", 60.0),)),
        }
        if status in outcomes:
            await world.store.settle(claimed.lease, outcomes[status])
    if status is Status.CANCELLED:
        await world.cancel(first)
    assert await world.status(first) is status
    second = await world.store.submit(keyed())
    over = status in {Status.COMPLETED, Status.CANCELLED, Status.DEAD_LETTER}
    assert (second.task_id != first, second.replayed) == (over, not over)
    third = await world.store.submit(keyed())
    assert (third.task_id, third.replayed) == (second.task_id, True)


async def test_a_dead_letter_that_is_sent_back_has_its_key_again(world: World) -> None:
    first = await world.settled(failed(None), unique_key="customer 7")
    await world.redrive(first)
    again = await world.store.submit(keyed())
    assert (again.task_id, again.status) == (first, Status.QUEUED)


async def test_a_dead_letter_is_not_sent_back_beside_the_one_that_followed_it(
    world: World,
) -> None:
    first = await world.settled(failed(None), unique_key="customer 7")
    second = await world.store.submit(keyed())
    told = await refused(world.redrive(first), Conflict)
    assert second.task_id in str(told)
    assert await world.status(first) is Status.DEAD_LETTER
    (claimed,) = await world.claim()
    await world.store.settle(claimed.lease, succeeded())
    assert (await world.redrive(first)).status is Status.QUEUED
    assert (await world.store.submit(keyed())).task_id == first


async def test_of_many_at_once_one_is_made(world: World) -> None:
    answers = await asyncio.gather(
        *(world.store.submit(keyed(unique_key=f"key {n % 5}")) for n in range(60)),
        *(world.submit() for _ in range(20)),
    )
    made = [answer for answer in answers if isinstance(answer, Submitted)]
    assert len({answer.task_id for answer in made}) == 5
    assert sum(not answer.replayed for answer in made) == 5
    assert len(await tasks(world)) == 25


async def test_the_key_outlives_a_restart(world: World) -> None:
    first = await world.store.submit(keyed())
    await world.reopen()
    assert (await world.store.submit(keyed())).task_id == first.task_id


# Together with an Idempotency-Key


async def test_the_same_request_again_gets_the_task_that_it_got_before(world: World) -> None:
    holder = await world.running(unique_key="customer 7")
    first = await world.store.submit(keyed(idempotency=KEY))
    assert first.task_id == holder.task_id
    await world.store.settle(holder.lease, succeeded())
    again = await world.store.submit(keyed(idempotency=KEY))
    assert (again.task_id, again.status, again.replayed) == (
        holder.task_id, Status.COMPLETED, True,
    )  # fmt: skip
    other = KEY._replace(fingerprint="other content")
    await refused(world.store.submit(keyed(idempotency=other)), IdempotencyMismatch)
    assert (await world.store.submit(keyed())).task_id != holder.task_id


# Debounce


def bounced(delay: float = 10.0, **changes: Any) -> Any:
    return keyed(delay=delay, debounce=True, **changes)


async def test_a_task_that_has_not_begun_takes_the_new_input_and_run_time(world: World) -> None:
    first = await world.store.submit(bounced(input='"first"'))
    assert (first.status, first.replayed) == (Status.PENDING, False)
    world.clock.advance(8)
    second = await world.store.submit(bounced(input='"second"'))
    assert second == first._replace(replayed=True, lane="interactive")
    at = world.clock.now() + 10_000
    view = await world.view(first.task_id)
    assert (view.input, view.task.run_at, view.task.due_at) == ('"second"', at, at)
    assert view.task.deadline == at + 86_400_000
    world.clock.advance(9)
    assert await world.store.release_due(10) == 0
    world.clock.advance(1)
    assert await world.store.release_due(10) == 1
    (claimed,) = await world.claim()
    assert (claimed.task_id, claimed.input) == (first.task_id, '"second"')
    assert await world.kinds(first.task_id) == ["queued", "started"]


@pytest.mark.parametrize("size", [1, 20_000])
async def test_the_new_input_may_have_any_size(world: World, size: int) -> None:
    await world.store.submit(bounced(input='"' + "x" * (20_001 - size) + '"'))
    text = '"' + "y" * size + '"'
    task_id = (await world.store.submit(bounced(input=text))).task_id
    assert (await world.view(task_id)).input == text


async def test_once_it_has_begun_the_new_input_is_not_taken(world: World) -> None:
    first = await world.store.submit(bounced(input='"first"'))
    world.clock.advance(10)
    await world.store.release_due(10)
    before = await world.view(first.task_id)
    second = await world.store.submit(bounced(input='"second"'))
    assert (second.task_id, second.status) == (first.task_id, Status.QUEUED)
    assert await world.view(first.task_id) == before


async def test_without_debounce_a_task_that_waits_stays_as_it_is(world: World) -> None:
    first = await world.store.submit(bounced(input='"first"'))
    before = await world.view(first.task_id)
    world.clock.advance(1)
    await world.store.submit(keyed(input='"second"', delay=30.0))
    assert await world.view(first.task_id) == before


async def test_an_explicit_deadline_goes_with_the_input(world: World) -> None:
    at = world.clock.now() + 60_000
    task_id = (await world.store.submit(bounced(deadline=at))).task_id
    assert (await world.task(task_id)).deadline == at
    await world.store.submit(bounced())
    task = await world.task(task_id)
    assert (task.deadline, task.hard_deadline) == (task.run_at + 86_400_000, False)


async def test_the_files_of_the_new_input_are_the_tasks(world: World) -> None:
    uploads = [UploadRecord(new_id(), "acme", f"{n}.pdf", PDF, 10 + n, "sha") for n in range(2)]
    for upload in uploads:
        await world.store.stage(upload.upload_id)
        task_id = (await world.store.submit(bounced(uploads=(upload,)))).task_id
        assert (await world.task(task_id)).upload_bytes == upload.size
    ids = [upload.upload_id for upload in uploads]
    assert sorted(await world.store.uploads("acme", ids)) == sorted(uploads)


async def test_the_same_request_again_does_not_put_it_off(world: World) -> None:
    first = await world.store.submit(bounced(idempotency=KEY))
    before = await world.view(first.task_id)
    world.clock.advance(5)
    again = await world.store.submit(bounced(idempotency=KEY))
    assert (again.task_id, again.replayed) == (first.task_id, True)
    assert await world.view(first.task_id) == before


async def test_of_many_at_once_the_last_one_counts(world: World) -> None:
    news = [bounced(input=str(n)) for n in range(30)]
    answers = await asyncio.gather(*(world.store.submit(new) for new in news))
    assert len({answer.task_id for answer in answers}) == 1
    assert (await world.view(answers[0].task_id)).input == "29"


async def test_put_off_again_and_again_it_runs_once_in_the_end(world: World) -> None:
    for _ in range(3):
        await world.store.submit(bounced(delay=DAY / 2))
        world.clock.advance(DAY / 4)
    assert await world.store.release_due(10) == 0
    world.clock.advance(DAY / 4)
    assert await world.store.release_due(10) == 1
    assert len(await world.claim(5)) == 1
