"""What calls have sent and got: kept as long as the task, and swept when nothing names it."""

import asyncio

import pytest

from stagepost.calls import Bodies, CallState
from stagepost.errors import NotFound
from stagepost.outcome import Outcome
from stagepost.records import Scope
from stagepost.retention import Erasure
from support.calls import (
    ANSWER,
    QUESTION,
    answered,
    body,
    in_blob,
    new_call,
    refused_call,
    result,
    sent,
)
from support.contents import Contents, holding
from support.tasks import failed, succeeded
from support.world import DAY, EVERYBODY, World, new_id, refused

SECRET = '{"text":"the secret word is aardvark"}'


async def erase(world: World, task_id: str) -> list[str]:
    """Erase a task; answers the blobs that were its alone."""
    wish = Erasure("eve", (await world.task(task_id)).seq, "hash")
    _, keys = await world.store.retention.erase(task_id, EVERYBODY, wish)
    return list(keys)


async def staged(world: World) -> str:
    """A blob that was just written."""
    key = new_id()
    await world.store.stage(key)
    return key


async def unreferenced(world: World) -> set[str]:
    """The blobs that the sweeper would take in two days."""
    world.clock.advance(2 * DAY)
    return set(await world.store.retention.unreferenced(older_than=DAY, limit=100))


async def test_blobs_of_requests_and_answers_are_never_swept(world: World) -> None:
    claimed = await world.running(ttl=90 * DAY)
    question, answer, stray = [await staged(world) for _ in range(3)]
    call = await sent(world, claimed, request=in_blob(question))
    await world.store.calls.end(claimed.task_id, call.id, result(answer=in_blob(answer)))
    assert await unreferenced(world) == {stray}
    found = await world.store.calls.bodies(claimed.task_id, call.id, EVERYBODY)
    assert found == Bodies(in_blob(question), in_blob(answer))
    memo = await world.store.calls.memo(claimed.task_id, call.key)
    assert memo is not None
    assert memo.body == in_blob(answer)


async def test_a_late_answer_in_a_blob_is_kept_too(world: World) -> None:
    claimed = await world.running(ttl=90 * DAY)
    call = await sent(world, claimed)
    await world.lose()
    answer = await staged(world)
    await world.store.calls.end(claimed.task_id, call.id, result(answer=in_blob(answer)))
    assert await unreferenced(world) == set()


async def test_a_redrive_sweeps_nothing_of_the_history(world: World) -> None:
    claimed = await world.running(ttl=90 * DAY)
    question, answer = await staged(world), await staged(world)
    call = await sent(world, claimed, request=in_blob(question))
    await world.store.calls.end(claimed.task_id, call.id, result(answer=in_blob(answer)))
    await world.store.settle(claimed.lease, failed(None))
    await world.redrive(claimed.task_id, fresh=True)
    assert await unreferenced(world) == set()


async def test_the_blobs_of_a_pruned_task_are_left_to_the_sweeper(world: World) -> None:
    claimed = await world.running()
    question, answer = await staged(world), await staged(world)
    call = await sent(world, claimed, request=in_blob(question))
    await world.store.calls.end(claimed.task_id, call.id, result(answer=in_blob(answer)))
    await world.store.settle(claimed.lease, succeeded())
    await world.store.retention.prune_tasks("", older_than=0.0, limit=10)
    retention = world.store.retention
    assert await retention.unreferenced(older_than=DAY, limit=10) == []
    assert await unreferenced(world) == {question, answer}


@pytest.mark.parametrize("outcome", [succeeded(), failed(None)], ids=["done", "dead"])
async def test_erasing_takes_the_texts_and_leaves_the_hashes(
    world: World, contents: Contents, outcome: Outcome
) -> None:
    claimed = await world.running()
    question, answer = await staged(world), await staged(world)
    call = await answered(world, claimed, request=body(SECRET), end=result(SECRET))
    lost = await sent(world, claimed, request=body(SECRET))
    large = await sent(world, claimed, request=in_blob(question))
    await world.store.calls.end(claimed.task_id, large.id, result(answer=in_blob(answer)))
    await answered(world, claimed, end=refused_call(message="What is an aardvark?"))
    await world.store.settle(claimed.lease, outcome)
    before = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert await holding(contents, "aardvark")
    assert set(await erase(world, claimed.task_id)) == {question, answer}
    assert not await holding(contents, "aardvark")
    after = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert [each.erased for each in after] == [True] * 4
    hashes = [(each.id, each.request_sha256, each.answer_sha256) for each in after]
    assert hashes == [(each.id, each.request_sha256, each.answer_sha256) for each in before]
    assert hashes[0] == (call.id, body(SECRET).sha256, body(SECRET).sha256)
    for each in (call, lost, large):
        bodies = world.store.calls.bodies
        assert await bodies(claimed.task_id, each.id, EVERYBODY) == Bodies()
        await refused(bodies(claimed.task_id, each.id, Scope("evil")), NotFound)
    assert await world.store.calls.memos(claimed.task_id, None, 10) == []


async def test_an_answer_that_comes_after_its_task_was_erased_leaves_its_hash(
    world: World, contents: Contents
) -> None:
    claimed = await world.running()
    call, large, wrong = [await sent(world, claimed) for _ in range(3)]
    await world.store.settle(claimed.lease, succeeded())
    await erase(world, claimed.task_id)
    answer = await staged(world)
    await world.store.calls.end(claimed.task_id, call.id, result(SECRET))
    await world.store.calls.end(claimed.task_id, large.id, result(answer=in_blob(answer)))
    await world.store.calls.end(claimed.task_id, wrong.id, refused_call(message="An aardvark?"))
    assert not await holding(contents, "aardvark")
    one, *_ = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert (one.state, one.late, one.erased) == (CallState.RESULT, True, True)
    assert one.answer_sha256 == body(SECRET).sha256
    assert await unreferenced(world) == {answer}


async def test_an_end_and_an_erasure_at_once_leave_no_text(
    world: World, contents: Contents
) -> None:
    tasks = []
    for _ in range(10):
        claimed = await world.running()
        calls = [await sent(world, claimed) for _ in range(3)]
        await world.store.settle(claimed.lease, succeeded())
        tasks.append((claimed.task_id, [call.id for call in calls]))
    end = world.store.calls.end
    await asyncio.gather(
        *(erase(world, task_id) for task_id, _ in tasks),
        *(end(task_id, call_id, result(SECRET)) for task_id, ids in tasks for call_id in ids),
    )
    assert not await holding(contents, "aardvark")
    for task_id, _ in tasks:
        found = await world.store.calls.find(task_id, EVERYBODY, None, 10)
        assert [each.state for each in found] == [CallState.RESULT] * 3


async def test_the_rows_go_with_the_tombstone_of_a_pruned_task_alone(world: World) -> None:
    pruned, erased = [await world.running() for _ in range(2)]
    for claimed in (pruned, erased):
        await answered(world, claimed)
        await world.store.settle(claimed.lease, succeeded())
    await erase(world, erased.task_id)
    await world.store.retention.prune_tasks("", older_than=0.0, limit=10)
    find = world.store.calls.find
    assert len(await find(pruned.task_id, EVERYBODY, None, 10)) == 1
    await world.store.retention.prune_tombstones(older_than=0.0, limit=10)
    assert await find(pruned.task_id, EVERYBODY, None, 10) == []
    assert len(await find(erased.task_id, EVERYBODY, None, 10)) == 1


async def test_the_largest_that_stands_in_the_ledger_comes_back_whole(world: World) -> None:
    claimed = await world.running()
    text = '"' + "é" * 8_191 + '"'
    call = await sent(world, claimed, request=body(text))
    await world.store.calls.end(claimed.task_id, call.id, result(text))
    found = await world.store.calls.bodies(claimed.task_id, call.id, EVERYBODY)
    assert found == Bodies(body(text), body(text))


async def test_a_path_may_be_long(world: World) -> None:
    claimed = await world.running()
    long = new_call().key._replace(path="/".join(f"step-{n}#1" for n in range(1_200)))
    await answered(world, claimed, long)
    memo = await world.store.calls.memo(claimed.task_id, long)
    assert memo is not None
    assert memo.body.text == ANSWER
    assert await world.store.calls.tally(claimed.task_id, long.path) == (1, 0)
    assert (await world.store.calls.bodies(claimed.task_id, memo.call_id, EVERYBODY)).request == (
        body(QUESTION)
    )
