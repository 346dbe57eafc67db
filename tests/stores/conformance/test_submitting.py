"""Accepting tasks."""

import asyncio

import pytest

from stagepost.errors import Conflict, IdempotencyMismatch, NotFound
from stagepost.records import Filter, Idempotency, Scope, UploadRecord
from stagepost.task import Status
from support.world import DAY, EVERYBODY, World, new_id, new_task, refused

MIB = 1024 * 1024
ALL = Filter()


async def test_a_task_is_pooled_at_once(world: World) -> None:
    now = world.clock.now()
    submitted = await world.store.submit(new_task(trace_id="trace"))
    assert (submitted.status, submitted.created_at, submitted.replayed) == (
        Status.QUEUED,
        now,
        False,
    )
    task = await world.task(submitted.task_id)
    assert (task.tenant, task.user, task.type, task.lane) == (
        "acme",
        "ada",
        "review",
        "interactive",
    )
    assert (task.created_at, task.run_at, task.pooled_at, task.due_at) == (now, now, now, None)
    assert (task.deadline, task.hard_deadline, task.ttl) == (
        now + 86_400_000,
        False,
        86_400_000,
    )
    assert (task.attempt, task.max_attempts, task.fence, task.progress) == (1, 4, 0, 0)
    assert (task.trace_id, task.seq) == ("trace", 1)
    assert await world.kinds(submitted.task_id) == ["queued"]
    assert await world.last(submitted.task_id) == {"reason": "submitted"}


async def test_many_tasks_at_once_are_all_kept(world: World) -> None:
    news = [new_task(input=f'{{"page":{n}}}', priority=n % 2) for n in range(300)]
    answers = await asyncio.gather(*(world.store.submit(new) for new in news))
    assert [answer.task_id for answer in answers] == [new.id for new in news]
    for new in news[::50]:
        view = await world.view(new.id)
        assert (view.input, view.task.priority) == (new.input, new.priority)
    records = await world.store.lanes(["interactive"])
    assert records[0].queued == 300


@pytest.mark.parametrize("kind", ["delay", "run_at"])
async def test_a_task_for_later_is_pending(world: World, kind: str) -> None:
    at = world.clock.now() + 60_000
    later = {"delay": 60.0} if kind == "delay" else {"run_at": at}
    submitted = await world.store.submit(new_task(**later))
    task = await world.task(submitted.task_id)
    assert submitted.status is task.status is Status.PENDING
    assert (task.run_at, task.due_at, task.deadline) == (at, at, at + 86_400_000)
    assert await world.kinds(task.id) == []
    assert await world.claim() == []
    world.clock.advance(60)
    assert await world.store.release_due(10) == 1
    assert await world.last(task.id) == {"reason": "due"}
    assert await world.status(task.id) is Status.QUEUED


async def test_a_run_time_that_has_passed_is_now(world: World) -> None:
    task_id = await world.submit(run_at=world.clock.now() - 5_000)
    task = await world.task(task_id)
    assert (task.status, task.run_at) == (Status.QUEUED, world.clock.now())


async def test_an_explicit_deadline_is_kept(world: World) -> None:
    deadline = world.clock.now() + 5_000
    task = await world.task(await world.submit(deadline=deadline))
    assert (task.deadline, task.hard_deadline) == (deadline, True)


@pytest.mark.parametrize("size", [0, 1, 16 * 1024, 16 * 1024 + 1, MIB, 4 * MIB])
async def test_an_input_of_any_size_comes_back_whole(world: World, size: int) -> None:
    text = '"' + "x" * size + '"'
    claimed = await world.running(input=text)
    assert claimed.input == text
    assert (await world.view(claimed.task_id)).input == text


async def test_large_and_small_inputs_share_a_batch(world: World) -> None:
    inputs = ['"' + ("ß" * (20_000 * (n % 3))) + '"' for n in range(30)]
    ids = await asyncio.gather(*(world.submit(input=text) for text in inputs))
    claims = {claimed.task_id: claimed for claimed in await world.claim(30)}
    assert [claims[task_id].input for task_id in ids] == inputs


async def test_tags_are_kept_once(world: World) -> None:
    task_id = await world.submit(tags=("b", "a", "b"))
    assert (await world.view(task_id)).tags == ("a", "b")


async def test_uploads_belong_to_their_task_and_tenant(world: World) -> None:
    uploads = tuple(
        UploadRecord(new_id(), "acme", f"{n}.pdf", "application/pdf", 10 + n, "sha")
        for n in range(2)
    )
    for upload in uploads:
        await world.store.stage(upload.upload_id)
    task_id = await world.submit(uploads=uploads)
    assert (await world.task(task_id)).upload_bytes == 21
    ids = [upload.upload_id for upload in uploads]
    found = await world.store.uploads("acme", [*ids, new_id()])
    assert sorted(found) == sorted(uploads)
    assert await world.store.uploads("other", ids) == []


async def test_a_file_may_be_kept_before_any_task_names_it(world: World) -> None:
    upload = UploadRecord(new_id(), "acme", "a.pdf", "application/pdf", 7, "sha")
    await world.store.stage(upload.upload_id)
    await world.store.keep_upload(upload)
    for _ in range(2):
        task_id = await world.submit(uploads=(upload,))
        assert (await world.task(task_id)).upload_bytes == 7
    assert await world.store.uploads("acme", [upload.upload_id]) == [upload]
    assert await world.store.uploads("other", [upload.upload_id]) == []
    await refused(world.store.keep_upload(upload), Conflict)


async def test_an_id_is_taken_once_and_the_neighbours_do_not_notice(world: World) -> None:
    taken = await world.submit()
    news = [new_task(), new_task(id=taken), new_task(tags=("a",)), new_task()]
    answers = await asyncio.gather(
        *(world.store.submit(new) for new in news), return_exceptions=True
    )
    assert isinstance(answers[1], Conflict)
    for new in (news[0], news[2], news[3]):
        assert await world.kinds(new.id) == ["queued"]


async def test_of_another_tenant_or_user_nothing_is_seen(world: World) -> None:
    task_id = await world.submit()
    for scope in (Scope("acme"), Scope("acme", "ada"), EVERYBODY):
        assert (await world.store.get(task_id, scope)).task.id == task_id
    for scope in (Scope("other"), Scope("acme", "bob"), Scope("other", "ada")):
        await refused(world.store.get(task_id, scope), NotFound)


# Idempotency-Key

KEY = Idempotency("submit", "key", "content")


async def test_the_same_key_and_content_is_the_same_task(world: World) -> None:
    first = await world.store.submit(new_task(idempotency=KEY))
    world.clock.advance(5)
    await world.claim()
    second = await world.store.submit(new_task(idempotency=KEY))
    assert (second.task_id, second.replayed) == (first.task_id, True)
    assert (second.status, second.created_at) == (Status.RUNNING, first.created_at)
    assert len(await world.store.find(EVERYBODY, ALL)) == 1


async def test_the_same_key_with_other_content_is_refused(world: World) -> None:
    await world.submit(idempotency=KEY)
    other = KEY._replace(fingerprint="other content")
    await refused(world.store.submit(new_task(idempotency=other)), IdempotencyMismatch)
    assert len(await world.store.find(EVERYBODY, ALL)) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"tenant": "other"},
        {"user": "bob"},
        {"idempotency": KEY._replace(scope="another route")},
        {"idempotency": KEY._replace(key="another key")},
    ],
    ids=["tenant", "user", "route", "key"],
)
async def test_a_key_counts_for_its_tenant_user_and_route(
    world: World, other: dict[str, object]
) -> None:
    first = await world.submit(idempotency=KEY)
    values = {"idempotency": KEY, **other}
    assert await world.submit(**values) != first


async def test_of_concurrent_submits_one_wins_and_all_hear_of_it(world: World) -> None:
    news = [new_task(idempotency=KEY) for _ in range(20)]
    answers = await asyncio.gather(*(world.store.submit(new) for new in news))
    assert len({answer.task_id for answer in answers}) == 1
    assert sum(not answer.replayed for answer in answers) == 1


async def test_a_key_is_forgotten_after_a_day(world: World) -> None:
    first = await world.submit(idempotency=KEY)
    world.clock.advance(DAY)
    assert await world.submit(idempotency=KEY) == first
    world.clock.advance(0.001)
    other = KEY._replace(fingerprint="other content")
    second = await world.submit(idempotency=other)
    assert second != first
    assert await world.submit(idempotency=other) == second


async def test_a_refused_key_leaves_nothing_of_its_task(world: World) -> None:
    await world.submit(idempotency=KEY)
    other = KEY._replace(fingerprint="other content")
    new = new_task(idempotency=other, tags=("a",))
    await refused(world.store.submit(new), IdempotencyMismatch)
    await refused(world.view(new.id), NotFound)
    assert await world.store.events(new.id, 0, 10) == []


async def test_accepted_tasks_survive_a_restart(world: World) -> None:
    ids = [await world.submit(idempotency=KEY), await world.submit(delay=60.0)]
    before = [await world.view(task_id) for task_id in ids]
    await world.reopen()
    assert [await world.view(task_id) for task_id in ids] == before
    assert await world.submit(idempotency=KEY) == ids[0]
