"""What the ledger replays: accepted answers, always the same, and none that a redrive drops."""

from datetime import UTC, datetime
from typing import Any

import pytest

from stagepost.calls import Answered, CallKey, CallState, replays
from stagepost.errors import NotFound
from stagepost.outcome import Drained
from stagepost.records import Claimed
from stagepost.spending import UsageQuery
from support.calls import KEY, answered, new_call, refused_call, rejected, result, sent
from support.tasks import failed
from support.world import EVERYBODY, World, checkpoint


async def memo(world: World, task_id: str, key: CallKey = KEY) -> str | None:
    """The text of the answer that a replay gets."""
    found = await world.store.calls.memo(task_id, key)
    return None if found is None else found.body.text


async def drained(world: World, claimed: Claimed) -> Claimed:
    """The next claim of a task."""
    await world.store.settle(claimed.lease, Drained())
    return await world.reclaim(claimed.task_id)


async def replayed(world: World, task_id: str) -> dict[CallKey, str | None]:
    """What a claim reads of all its answers at once, two a page."""
    found: list[Answered] = []
    after: str | None = None
    while page := await world.store.calls.memos(task_id, after, 2):
        found += page
        after = page[-1].call_id
    return {key: each.body.text for key, each in replays(found).items()}


async def test_an_accepted_answer_is_replayed_by_its_place_among_equals(world: World) -> None:
    claimed = await world.running()
    other = KEY._replace(request_hash="another")
    elsewhere = KEY._replace(path="analyse#2")
    for n in (0, 1, 2):
        await answered(world, claimed, KEY._replace(n=n), result(f"answer {n}"))
    await answered(world, claimed, other, result("to another"))
    await answered(world, claimed, elsewhere, result("elsewhere"))
    again = await drained(world, claimed)
    for n in (0, 1, 2):
        assert await memo(world, again.task_id, KEY._replace(n=n)) == f"answer {n}"
    assert await memo(world, again.task_id, KEY._replace(n=3)) is None
    assert await memo(world, again.task_id, other) == "to another"
    assert await memo(world, again.task_id, elsewhere) == "elsewhere"
    assert await memo(world, again.task_id, other._replace(path="analyse#2")) is None
    assert await replayed(world, again.task_id) == {
        **{KEY._replace(n=n): f"answer {n}" for n in (0, 1, 2)},
        other: "to another",
        elsewhere: "elsewhere",
    }


async def test_the_memo_of_another_task_is_not_this_ones(world: World) -> None:
    claimed = await world.running()
    await answered(world, claimed)
    other = await world.running()
    assert await memo(world, other.task_id) is None
    assert await replayed(world, other.task_id) == {}
    assert await memo(world, "no id") is None
    assert await world.store.calls.memos("no id", None, 10) == []


@pytest.mark.parametrize("end", [rejected(), refused_call(), None], ids=str)
async def test_what_was_not_accepted_is_never_replayed(world: World, end: object) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    if end is not None:
        await world.store.calls.end(claimed.task_id, call.id, end)  # type: ignore[arg-type]
    again = await drained(world, claimed)
    assert await memo(world, again.task_id) is None
    assert await replayed(world, again.task_id) == {}
    await answered(world, again, end=result("good"))
    assert await memo(world, again.task_id) == "good"


async def test_a_late_answer_is_used_by_the_successor(world: World) -> None:
    stale = await world.running()
    call = await sent(world, stale)
    again = await drained(world, stale)
    assert await memo(world, again.task_id) is None
    await world.store.calls.end(stale.task_id, call.id, result("late"))
    assert await memo(world, again.task_id) == "late"
    assert await replayed(world, again.task_id) == {KEY: "late"}
    found = await world.store.calls.memo(again.task_id, KEY)
    assert found is not None
    assert found.late


async def test_what_a_claim_has_got_for_itself_stays_the_answer(world: World) -> None:
    stale = await world.running()
    call = await sent(world, stale)
    again = await drained(world, stale)
    await answered(world, again, end=result("its own"))
    world.clock.advance(1)
    await world.store.calls.end(stale.task_id, call.id, result("late"))
    assert await memo(world, again.task_id) == "its own"
    # And also when the late one came first, but after it had asked.
    stale = again
    key = KEY._replace(n=1)
    call = await sent(world, stale, key)
    again = await drained(world, stale)
    own = await sent(world, again, key)
    await world.store.calls.end(stale.task_id, call.id, result("late"))
    world.clock.advance(1)
    await world.store.calls.end(again.task_id, own.id, result("its own"))
    assert await replayed(world, again.task_id) == {KEY: "its own", key: "its own"}
    assert await memo(world, again.task_id, key) == "its own"


async def test_of_two_late_answers_the_first_that_came_stays(world: World) -> None:
    first = await world.running()
    one = await sent(world, first)
    second = await drained(world, first)
    other = await sent(world, second)
    third = await drained(world, second)
    world.clock.advance(1)
    await world.store.calls.end(third.task_id, other.id, result("came first"))
    assert await memo(world, third.task_id) == "came first"
    world.clock.advance(1)
    await world.store.calls.end(third.task_id, one.id, result("came second"))
    assert await memo(world, third.task_id) == "came first"
    assert await replayed(world, third.task_id) == {KEY: "came first"}


async def test_what_a_saved_step_has_asked_is_not_read_again(world: World) -> None:
    claimed = await world.running()
    await answered(world, claimed)
    inner = KEY._replace(path="analyse#1/part")
    await answered(world, claimed, inner, result("inner"))
    await world.store.checkpoint(claimed.lease, checkpoint(KEY.path))
    again = await drained(world, claimed)
    assert await replayed(world, again.task_id) == {inner: "inner"}


# Redrives


async def dead(world: World) -> Claimed:
    """A task with three steps, each with a call; before, between and after them others; it died."""
    claimed = await world.running()
    await answered(world, claimed, CallKey("", "before", 0))
    for number in (1, 2, 3):
        await answered(world, claimed, CallKey(f"step#{number}", "in", 0))
        await answered(world, claimed, CallKey(f"step#{number}/inner", "in", 0))
        await world.store.checkpoint(claimed.lease, checkpoint(f"step#{number}"))
        await answered(world, claimed, CallKey("", f"after {number}", 0))
    await answered(world, claimed, CallKey("step#4", "in", 0), rejected())
    await sent(world, claimed, CallKey("step#4", "in", 0))
    await world.store.settle(claimed.lease, failed(None))
    return claimed


async def kept(world: World, task_id: str) -> set[CallKey]:
    """The keys that get an answer."""
    calls = await world.store.calls.find(task_id, EVERYBODY, None, 100)
    keys = {call.key for call in calls}
    return {key for key in keys if await world.store.calls.memo(task_id, key) is not None}


async def history(world: World, task_id: str) -> int:
    return len(await world.store.calls.find(task_id, EVERYBODY, None, 100))


ALL = {
    CallKey("", "before", 0),
    *(CallKey(f"step#{number}", "in", 0) for number in (1, 2, 3)),
    *(CallKey(f"step#{number}/inner", "in", 0) for number in (1, 2, 3)),
    *(CallKey("", f"after {number}", 0) for number in (1, 2, 3)),
}


async def test_a_redrive_keeps_every_accepted_answer(world: World) -> None:
    claimed = await dead(world)
    before = await history(world, claimed.task_id)
    await world.redrive(claimed.task_id)
    assert await kept(world, claimed.task_id) == ALL
    assert await memo(world, claimed.task_id, CallKey("step#4", "in", 0)) is None
    assert await history(world, claimed.task_id) == before


@pytest.mark.parametrize("resume", [{"fresh": True}, {"input": '{"page":2}'}], ids=str)
async def test_a_fresh_redrive_replays_nothing(world: World, resume: dict[str, Any]) -> None:
    claimed = await dead(world)
    before = await history(world, claimed.task_id)
    await world.redrive(claimed.task_id, **resume)
    assert await kept(world, claimed.task_id) == set()
    assert await replayed(world, claimed.task_id) == {}
    assert await history(world, claimed.task_id) == before
    again = await world.reclaim(claimed.task_id)
    await answered(world, again, CallKey("step#1", "in", 0), result("anew"))
    assert await kept(world, claimed.task_id) == {CallKey("step#1", "in", 0)}


async def test_a_redrive_from_a_step_keeps_what_came_before_it(world: World) -> None:
    claimed = await dead(world)
    await world.redrive(claimed.task_id, from_step="step#2")
    assert await kept(world, claimed.task_id) == {
        CallKey("", "before", 0),
        CallKey("step#1", "in", 0),
        CallKey("step#1/inner", "in", 0),
        CallKey("", "after 1", 0),
    }
    calls = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 100)
    assert sum(call.dropped for call in calls) == len(calls) - 4


async def test_a_late_answer_to_what_was_dropped_is_kept_and_not_replayed(world: World) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    await world.store.settle(claimed.lease, failed(None))
    await world.redrive(claimed.task_id, fresh=True)
    await world.store.calls.end(claimed.task_id, call.id, result())
    assert await memo(world, claimed.task_id) is None
    (found,) = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert (found.state, found.dropped, found.late) == (CallState.RESULT, True, True)


@pytest.mark.parametrize("resume", [{}, {"fresh": True}], ids=str)
async def test_a_person_who_sends_a_task_back_has_looked_at_its_calls(
    world: World, resume: dict[str, Any]
) -> None:
    claimed = await dead(world)
    tally = world.store.calls.tally
    assert await tally(claimed.task_id, "step#4") == (2, 1)
    lost = CallKey("step#4", "in", 0)
    assert await world.store.calls.tries(claimed.task_id, lost) == 2
    await world.redrive(claimed.task_id, **resume)
    assert await tally(claimed.task_id, "step#4") == (0, 0)
    assert await world.store.calls.tries(claimed.task_id, lost) == 0
    assert await world.store.calls.unknown_by_type() == {"review": 1}
    again = await world.reclaim(claimed.task_id)
    call = new_call(CallKey("step#4", "in", 0))
    await world.store.calls.begin(again.lease, call)
    await world.store.settle(again.lease, Drained())
    assert await tally(claimed.task_id, "step#4") == (1, 1)


async def test_an_answer_that_turns_out_to_be_no_use_is_kept_and_never_replayed(
    world: World,
) -> None:
    claimed = await world.running()
    call = await answered(world, claimed)
    await world.store.calls.reject(claimed.task_id, call.id, "It has no \0 price.")
    again = await drained(world, claimed)
    assert await memo(world, again.task_id) is None
    (row,) = await world.store.calls.find(again.task_id, EVERYBODY, None, 10)
    assert (row.state, row.kind) == (CallState.REJECTED, "BAD_OUTPUT")
    assert row.message == "It has no \N{REPLACEMENT CHARACTER} price."
    spent = await world.store.calls.spent(again.task_id, EVERYBODY)
    today = datetime.fromtimestamp(world.clock.now() / 1000, UTC).date()
    (used,) = await world.store.calls.usage(EVERYBODY, UsageQuery(today, today))
    assert (spent.calls, spent.rejected, spent.cost) == (1, 1, 450)
    assert used.spent == spent


async def test_only_a_result_is_rejected_and_only_once(world: World) -> None:
    claimed = await world.running()
    one = await answered(world, claimed)
    open_one = await sent(world, claimed, KEY._replace(n=1))
    for _ in range(2):
        await world.store.calls.reject(claimed.task_id, one.id, "no use")
        await world.store.calls.reject(claimed.task_id, open_one.id, "no use")
    found = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert [row.state for row in found] == [CallState.REJECTED, CallState.INTENT]
    assert (await world.store.calls.spent(claimed.task_id, EVERYBODY)).rejected == 1


@pytest.mark.parametrize("task_id", [None, "no id at all"])
async def test_what_is_not_there_is_not_rejected(world: World, task_id: str | None) -> None:
    claimed, other = await world.running(), await world.running()
    call = await answered(world, claimed)
    with pytest.raises(NotFound):
        await world.store.calls.reject(task_id or other.task_id, call.id, "no use")
    assert await memo(world, claimed.task_id) is not None
