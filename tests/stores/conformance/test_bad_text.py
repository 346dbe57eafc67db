"""Halves of surrogate pairs are no text: refused or mended, and never at a neighbour's cost."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stagepost.errors import NotFound, Unwritable
from stagepost.outcome import Cancelled, Succeeded
from stagepost.records import ApiKey, Filter, Idempotency, Resume, UploadRecord, WorkerRecord
from stagepost.task import CancelRequest, Lease, Status
from support.fences import artifact
from support.tasks import failed, succeeded
from support.world import EVERYBODY, World, checkpoint, new_id, new_task, note, payload, refused

BAD = "half \ud83d of a pair"
MENDED = "half ? of a pair"

SUBMITS: dict[str, dict[str, Any]] = {
    "tenant": {"tenant": BAD},
    "user": {"user": BAD},
    "type": {"type": BAD},
    "lane": {"lane": BAD},
    "input": {"input": f'"{BAD}"'},
    "large input": {"input": f'"{BAD * 2000}"'},
    "trace": {"trace_id": BAD},
    "tag": {"tags": ("fine", BAD)},
    "key": {"idempotency": Idempotency("submit", BAD, "content")},
    "upload": {"uploads": (UploadRecord(new_id(), "acme", BAD, "text/plain", 1, "sha"),)},
}


@pytest.mark.parametrize("changes", SUBMITS.values(), ids=SUBMITS)
async def test_a_submit_is_refused_and_its_neighbours_are_not(
    world: World, changes: dict[str, Any]
) -> None:
    for upload in changes.get("uploads", ()):
        await world.store.stage(upload.upload_id)
    news = [new_task(), new_task(**changes), new_task(tags=("fine",)), new_task()]
    answers = await asyncio.gather(
        *(world.store.submit(new) for new in news), return_exceptions=True
    )
    assert isinstance(answers[1], Unwritable)
    await refused(world.view(news[1].id), NotFound)
    for new in (news[0], news[2], news[3]):
        assert await world.kinds(new.id) == ["queued"]
    assert len(await world.claim(10)) == 3


Write = Callable[[World, Lease], Awaitable[Any]]

REFUSED: dict[str, Write] = {
    "path": lambda world, lease: world.store.checkpoint(lease, checkpoint(BAD)),
    "value": lambda world, lease: world.store.checkpoint(lease, checkpoint("a#1", BAD.join('""'))),
    "artifact": lambda world, lease: world.store.attach(lease, artifact(BAD)),
    "result": lambda world, lease: world.store.settle(lease, Succeeded(payload(f'"{BAD}"'))),
}


@pytest.mark.parametrize("write", REFUSED.values(), ids=REFUSED)
async def test_what_must_come_back_as_it_was_is_refused(world: World, write: Write) -> None:
    claimed, neighbour = await world.running(), await world.running()
    before = await world.view(claimed.task_id)
    answers = await asyncio.gather(
        world.store.checkpoint(neighbour.lease, checkpoint("before#1")),
        write(world, claimed.lease),
        world.store.checkpoint(neighbour.lease, checkpoint("after#1")),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [type(None), Unwritable, type(None)]
    assert await world.view(claimed.task_id) == before
    assert await world.kinds(neighbour.task_id) == ["queued", "started", "step", "step"]
    # The claim goes on, and can say what went wrong.
    await world.store.settle(claimed.lease, failed(None, message="No text."))


async def test_what_people_read_is_mended(world: World) -> None:
    claimed = await world.running()
    store = world.store
    await store.progress(claimed.lease, note(1, BAD, BAD))
    await store.checkpoint(claimed.lease, checkpoint("read#1"), note(2, BAD))
    await store.settle(claimed.lease, failed(None, message=BAD), note(3, BAD))
    task = await world.task(claimed.task_id)
    assert (task.status, task.step, task.error_message) == (Status.DEAD_LETTER, MENDED, MENDED)
    assert await world.last(claimed.task_id) == {"message": MENDED, "failureKind": "SERVER_ERROR"}
    assert [record.message for record in await store.failures(claimed.task_id)] == [MENDED]


async def test_a_bad_word_keeps_no_task_from_its_end(world: World) -> None:
    claimed = await world.running()
    await world.store.settle(claimed.lease, succeeded(), note(99, BAD, BAD))
    assert await world.status(claimed.task_id) is Status.COMPLETED


BY_PEOPLE: dict[str, Callable[[World, str], Awaitable[Any]]] = {
    "cancel": lambda world, task_id: world.cancel(task_id, CancelRequest("ada", BAD)),
    "discard": lambda world, task_id: world.store.discard(
        task_id, EVERYBODY, CancelRequest(BAD, "")
    ),
    "redrive": lambda world, task_id: world.store.redrive(
        task_id, EVERYBODY, BAD, Resume(), attempts=1
    ),
    "corrected": lambda world, task_id: world.redrive(task_id, input=BAD),
    "another task": lambda world, _: world.cancel(BAD),
}


@pytest.mark.parametrize("name", BY_PEOPLE)
async def test_what_people_write_is_refused(world: World, name: str) -> None:
    if name == "cancel":
        task_id = await world.submit()
    else:
        task_id = await world.settled(failed(None))
    before = await world.view(task_id)
    await refused(BY_PEOPLE[name](world, task_id), Unwritable)
    assert await world.view(task_id) == before


async def test_workers_and_keys_are_refused(world: World) -> None:
    store = world.store
    await refused(store.register(WorkerRecord(new_id(), BAD, (), (), 1, "1")), Unwritable)
    await refused(store.add_key(ApiKey(new_id(), BAD, "acme", (), "hash")), Unwritable)
    await refused(store.stage(BAD), Unwritable)
    assert await store.workers() == []
    assert await store.keys(None) == []


READS: dict[str, Callable[[World], Awaitable[Any]]] = {
    "get": lambda world: world.view(BAD),
    "find": lambda world: world.store.find(EVERYBODY, Filter(tag=BAD)),
    "events": lambda world: world.store.events(BAD, 0, 10),
    "news": lambda world: world.store.news({BAD: 0}, 10),
    "steps": lambda world: world.store.steps(BAD),
    "uploads": lambda world: world.store.uploads("acme", [BAD]),
    "key": lambda world: world.store.key(BAD),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_a_question_is_refused(world: World, read: Callable[[World], Awaitable[Any]]) -> None:
    await refused(read(world), Unwritable)


async def test_a_cancelled_end_is_kept(world: World) -> None:
    claimed = await world.running()
    outcome = Cancelled(CancelRequest("ada", "ü"))
    await world.store.settle(claimed.lease, outcome)
    assert await world.last(claimed.task_id) == {"by": "ada", "reason": "ü"}
