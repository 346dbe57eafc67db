"""The ledger: every call is in it before it is sent, and stays in it."""

import asyncio

import pytest

from stagepost.calls import Bodies, CallEnd, CallState, Estimate, Usage
from stagepost.errors import CancelAsked, Conflict, LeaseLost, NotFound, Unwritable
from stagepost.failure import FailureKind
from stagepost.outcome import Drained, Outcome
from stagepost.records import Scope
from stagepost.task import Status
from support.calls import (
    ANSWER,
    KEY,
    QUESTION,
    USED,
    answered,
    body,
    new_call,
    refused_call,
    rejected,
    result,
    sent,
)
from support.tasks import failed, succeeded, waiting
from support.world import EVERYBODY, World, new_id, refused

ENDS = {"result": result(), "rejected": rejected(), "refused": refused_call()}


async def states(world: World, task_id: str) -> list[CallState]:
    found = await world.store.calls.find(task_id, EVERYBODY, None, 1_000)
    return [call.state for call in found]


async def test_an_intent_is_there_before_the_call_is_sent(world: World) -> None:
    claimed = await world.running(tenant="acme", user="ada")
    call = await sent(world, claimed)
    (found,) = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert (found.id, found.task_id, found.key) == (call.id, claimed.task_id, KEY)
    assert (found.tenant, found.user, found.type) == ("acme", "ada", "review")
    assert (found.provider, found.model, found.attempt, found.fence) == ("main", "large", 1, 1)
    assert (found.state, found.estimate) == (CallState.INTENT, Estimate(200, 300, 1_000))
    assert (found.usage, found.ended_at, found.answer_sha256) == (Usage(), None, None)
    assert found.started_at == world.clock.now()
    assert (found.request_sha256, found.request_size) == (body(QUESTION).sha256, len(QUESTION))
    assert not any((found.late, found.dropped, found.redacted, found.erased))


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_an_end_is_kept_as_it_was_told(world: World, end: CallEnd) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    world.clock.advance(2)
    await world.store.calls.end(claimed.task_id, call.id, end)
    (found,) = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert (found.state, found.kind, found.message) == (end.state, end.kind, end.message)
    assert (found.took, found.first_token) == (end.took, end.first_token)
    assert (found.provider_id, found.maybe_billed) == (end.provider_id, end.maybe_billed)
    assert found.ended_at == found.started_at + 2_000
    assert (found.answer_sha256 is None) == (end.answer is None)
    if end.state is CallState.REFUSED:
        assert (found.usage[::2], found.cost) == ((0, 0), 0)
    else:
        assert (found.usage, found.cost) == (USED, 450)


async def test_what_is_not_told_counts_by_the_estimate(world: World) -> None:
    claimed = await world.running()
    silent = result(usage=Usage(), cost=None)
    billed = refused_call(kind=FailureKind.TIMEOUT, maybe_billed=True)
    for end in (silent, billed):
        await answered(world, claimed, end=end)
    one, other = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert (one.cost, one.usage) == (other.cost, other.usage) == (1_000, Usage())
    spent = await world.store.calls.spent(claimed.task_id, EVERYBODY)
    assert (spent.input, spent.output, spent.cost, spent.unknown_cost) == (400, 600, 2_000, 0)


async def test_both_bodies_can_be_read_again(world: World) -> None:
    claimed = await world.running()
    call = await sent(world, claimed, request=body(QUESTION, redacted=True))
    assert await world.store.calls.bodies(claimed.task_id, call.id, EVERYBODY) == Bodies(
        body(QUESTION, redacted=True)
    )
    await world.store.calls.end(claimed.task_id, call.id, result())
    assert await world.store.calls.bodies(claimed.task_id, call.id, EVERYBODY) == Bodies(
        body(QUESTION, redacted=True), body(ANSWER)
    )
    (found,) = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert found.redacted


async def test_the_same_intent_again_changes_nothing(world: World) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    await world.store.calls.begin(claimed.lease, call)
    assert await states(world, claimed.task_id) == [CallState.INTENT]


async def test_another_call_under_the_same_id_is_refused(world: World) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    other = new_call(KEY._replace(request_hash="another"), id=call.id)
    await refused(world.store.calls.begin(claimed.lease, other), Conflict)
    await world.lose()
    again = await world.reclaim(claimed.task_id) if await due(world) else None
    assert again is not None
    await refused(world.store.calls.begin(again.lease, call), Conflict)


async def due(world: World) -> bool:
    """Lets the retry of a lost claim come."""
    world.clock.advance(60)
    return await world.store.release_due(10) > 0


async def test_the_first_end_counts(world: World) -> None:
    claimed = await world.running()
    call = await answered(world, claimed)
    for end in ENDS.values():
        await world.store.calls.end(claimed.task_id, call.id, end)
    assert await states(world, claimed.task_id) == [CallState.RESULT]
    memo = await world.store.calls.memo(claimed.task_id, KEY)
    assert memo is not None
    assert memo.body.text == ANSWER
    assert (await world.store.calls.spent(claimed.task_id, EVERYBODY)).cost == 450


async def test_of_two_ends_at_once_one_is_taken(world: World) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    end = world.store.calls.end
    await asyncio.gather(*(end(claimed.task_id, call.id, each) for each in ENDS.values()))
    spent = await world.store.calls.spent(claimed.task_id, EVERYBODY)
    assert spent.calls == 1
    assert await states(world, claimed.task_id) != [CallState.INTENT]


async def test_an_end_without_an_intent_is_refused(world: World) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    other = await world.running()
    for task_id, call_id in (
        (claimed.task_id, new_id()),
        (other.task_id, call.id),
        (claimed.task_id, "no id"),
        ("no id", call.id),
    ):
        await refused(world.store.calls.end(task_id, call_id, result()), NotFound)
    assert await states(world, claimed.task_id) == [CallState.INTENT]


async def test_a_task_that_was_asked_to_stop_calls_no_more(world: World) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    await world.cancel(claimed.task_id)
    await refused(world.store.calls.begin(claimed.lease, new_call()), CancelAsked)
    await world.store.calls.begin(claimed.lease, call)
    await world.store.calls.end(claimed.task_id, call.id, result())
    assert await states(world, claimed.task_id) == [CallState.RESULT]


async def test_a_stale_claim_begins_nothing(world: World) -> None:
    claimed = await world.running()
    await world.store.settle(claimed.lease, Drained())
    await refused(world.store.calls.begin(claimed.lease, new_call()), LeaseLost)
    assert not await states(world, claimed.task_id)


async def test_a_result_is_progress_and_nothing_else_is(world: World) -> None:
    claimed = await world.running()
    await answered(world, claimed, end=rejected())
    await answered(world, claimed, end=refused_call())
    assert not (await world.task(claimed.task_id)).progressed
    await answered(world, claimed)
    assert (await world.task(claimed.task_id)).progressed
    await world.lose()
    task = await world.task(claimed.task_id)
    assert (task.status, task.attempt, task.lost_claims) == (Status.QUEUED, 1, 0)


async def test_a_late_result_is_no_progress_of_the_next_claim(world: World) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    await world.store.settle(claimed.lease, Drained())
    await world.reclaim(claimed.task_id)
    await world.store.calls.end(claimed.task_id, call.id, result())
    task = await world.task(claimed.task_id)
    assert not task.progressed
    assert task.status is Status.RUNNING


OUTCOMES: dict[str, Outcome] = {
    "succeeded": succeeded(),
    "failed": failed(5.0),
    "dead": failed(None),
    "waiting": waiting(),
    "drained": Drained(),
}


@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES)
async def test_a_call_without_an_end_is_unknown_once_its_claim_is_over(
    world: World, outcome: Outcome
) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    assert not await world.store.calls.unknown_by_type()
    await world.store.settle(claimed.lease, outcome)
    assert await states(world, claimed.task_id) == [CallState.UNKNOWN]
    assert await world.store.calls.unknown_by_type() == {"review": 1}
    (found,) = await world.store.calls.unknown(Scope("acme"), None, 10)
    assert (found.id, found.cost, found.state) == (call.id, 1_000, CallState.UNKNOWN)


async def test_a_rescue_makes_what_was_in_flight_unknown(world: World) -> None:
    claimed = await world.running()
    await answered(world, claimed)
    await sent(world, claimed)
    await sent(world, claimed)
    await world.lose()
    one, *others = await states(world, claimed.task_id)
    assert (one, set(others)) == (CallState.RESULT, {CallState.UNKNOWN})
    # The next claim has its own in flight.
    again = await world.reclaim(claimed.task_id)
    await sent(world, again)
    assert (await states(world, claimed.task_id))[-1] is CallState.INTENT
    assert await world.store.calls.unknown_by_type() == {"review": 2}


@pytest.mark.parametrize("noted", [False, True])
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_a_late_end_makes_of_an_unknown_call_what_it_was(
    world: World,
    end: CallEnd,
    noted: bool,  # noqa: FBT001
) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    await world.lose()
    if noted:
        assert await world.store.calls.note_unknown(10) == 1
    await world.store.calls.end(claimed.task_id, call.id, end)
    (found,) = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert (found.state, found.late) == (end.state, True)
    assert not await world.store.calls.unknown_by_type()
    assert not await world.store.calls.unknown(EVERYBODY, None, 10)
    assert await world.store.calls.note_unknown(10) == 0


async def test_all_of_it_outlives_the_process(world: World) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    done = await answered(world, claimed)
    await world.reopen()
    assert await states(world, claimed.task_id) == [CallState.INTENT, CallState.RESULT]
    await world.lose()
    assert await states(world, claimed.task_id) == [CallState.UNKNOWN, CallState.RESULT]
    await world.reopen()
    await world.store.calls.end(claimed.task_id, call.id, result("late"))
    await world.reopen()
    memo = await world.store.calls.memo(claimed.task_id, KEY)
    assert memo is not None
    assert memo.call_id == done.id, "the claim that owned the task has used it"


async def test_many_calls_at_once_are_each_kept_once(world: World) -> None:
    await asyncio.gather(*(world.submit() for _ in range(10)))
    claims = await world.claim(10)
    calls = [(claimed, new_call(KEY._replace(n=n))) for claimed in claims for n in range(20)]
    begin, end = world.store.calls.begin, world.store.calls.end

    async def one(number: int) -> None:
        claimed, call = calls[number]
        await begin(claimed.lease, call)
        kinds = list(ENDS.values())
        await end(claimed.task_id, call.id, kinds[number % 3])

    await asyncio.gather(*map(one, range(len(calls))))
    for claimed in claims:
        spent = await world.store.calls.spent(claimed.task_id, EVERYBODY)
        assert spent.calls == 20
        ids = [
            each.id for each in await world.store.calls.find(claimed.task_id, EVERYBODY, None, 99)
        ]
        assert ids == sorted(call.id for own, call in calls if own is claimed)


async def test_one_that_is_refused_harms_no_neighbour(world: World) -> None:
    claimed = await world.running()
    calls = [new_call() for _ in range(6)]
    wrong = claimed.lease._replace(lease_id=new_id())
    bad = new_call(KEY._replace(path="no \ud800 text"))
    outcomes = await asyncio.gather(
        *(world.store.calls.begin(claimed.lease, call) for call in calls[:3]),
        world.store.calls.begin(wrong, new_call()),
        world.store.calls.begin(claimed.lease, bad),
        *(world.store.calls.begin(claimed.lease, call) for call in calls[3:]),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes[3:5]] == [LeaseLost, Unwritable]
    assert [outcomes[n] for n in (0, 1, 2, 5, 6, 7)] == [None] * 6
    found = await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert [call.id for call in found] == [call.id for call in calls]


async def test_a_list_goes_on_behind_the_call_before(world: World) -> None:
    claimed = await world.running()
    calls = [await sent(world, claimed) for _ in range(5)]
    find = world.store.calls.find
    first = await find(claimed.task_id, EVERYBODY, None, 2)
    second = await find(claimed.task_id, EVERYBODY, first[-1].id, 2)
    third = await find(claimed.task_id, EVERYBODY, second[-1].id, 2)
    pages = [[call.id for call in page] for page in (first, second, third)]
    ids = [call.id for call in calls]
    assert pages == [ids[:2], ids[2:4], ids[4:]]
    assert len(await find(claimed.task_id, EVERYBODY, None, 10**6)) == 5
    assert not await find(claimed.task_id, EVERYBODY, None, -1)
    assert not await find("no id", EVERYBODY, None, 10)


async def test_nobody_sees_what_is_another_tenants(world: World) -> None:
    claimed = await world.running()
    call = await answered(world, claimed)
    await sent(world, claimed)
    await world.store.settle(claimed.lease, succeeded())
    calls = world.store.calls
    for scope in (Scope("evil"), Scope("acme", "bob")):
        assert not await calls.find(claimed.task_id, scope, None, 10)
        assert not await calls.unknown(scope, None, 10)
        assert not await calls.spent_by_step(claimed.task_id, scope, None, 10)
        assert (await calls.spent(claimed.task_id, scope)).calls == 0
        await refused(calls.bodies(claimed.task_id, call.id, scope), NotFound)
    for scope in (Scope("acme"), Scope("acme", "ada"), EVERYBODY):
        assert len(await calls.find(claimed.task_id, scope, None, 10)) == 2
        assert len(await calls.unknown(scope, None, 10)) == 1
        assert (await calls.spent(claimed.task_id, scope)).calls == 2
        assert (await calls.bodies(claimed.task_id, call.id, scope)).answer == body(ANSWER)


async def test_a_step_knows_how_many_calls_it_has_sent(world: World) -> None:
    claimed = await world.running()
    tally = world.store.calls.tally
    assert await tally(claimed.task_id, KEY.path) == (0, 0)
    await answered(world, claimed)
    await answered(world, claimed, end=refused_call())
    await sent(world, claimed)
    await sent(world, claimed, KEY._replace(path="analyse#10"))
    assert await tally(claimed.task_id, KEY.path) == (3, 0)
    await world.store.settle(claimed.lease, Drained())
    assert await tally(claimed.task_id, KEY.path) == (3, 1)
    again = await world.reclaim(claimed.task_id)
    await sent(world, again)
    assert await tally(claimed.task_id, KEY.path) == (4, 1)
    assert await tally("no id", KEY.path) == (0, 0)


async def test_a_call_knows_how_often_it_may_have_been_paid_for_nothing(world: World) -> None:
    claimed = await world.running()
    tries = world.store.calls.tries
    assert await tries(claimed.task_id, KEY) == 0
    await answered(world, claimed, end=refused_call())
    assert await tries(claimed.task_id, KEY) == 0
    await answered(world, claimed, end=refused_call(maybe_billed=True))
    await answered(world, claimed, end=rejected())
    for other in (KEY._replace(n=1), KEY._replace(path="other"), KEY._replace(request_hash="b")):
        await answered(world, claimed, other, rejected())
    assert await tries(claimed.task_id, KEY) == 2
    lost = await sent(world, claimed)
    await world.store.settle(claimed.lease, Drained())
    assert await tries(claimed.task_id, KEY) == 3
    await world.store.calls.end(claimed.task_id, lost.id, result())
    assert await tries(claimed.task_id, KEY) == 2
    assert await tries("no id", KEY) == 0


BAD = "half \ud83d of a pair"


async def test_an_answer_that_is_no_text_is_refused_and_can_be_mended(world: World) -> None:
    claimed = await world.running()
    bad, *others = [await sent(world, claimed) for _ in range(5)]
    end = world.store.calls.end
    answers = await asyncio.gather(
        end(claimed.task_id, bad.id, result(BAD)),
        *(end(claimed.task_id, each.id, result()) for each in others),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [Unwritable, *[type(None)] * 4]
    assert await states(world, claimed.task_id) == [CallState.INTENT, *[CallState.RESULT] * 4]
    assert (await world.store.calls.spent(claimed.task_id, EVERYBODY)).calls == 4
    await end(claimed.task_id, bad.id, result("mended"))
    assert await states(world, claimed.task_id) == [CallState.RESULT] * 5


async def test_what_is_no_text_can_not_be_asked_for(world: World) -> None:
    claimed = await world.running()
    calls = world.store.calls
    for call in (
        calls.memo(claimed.task_id, KEY._replace(path=BAD)),
        calls.memo(claimed.task_id, KEY._replace(request_hash=BAD)),
        calls.memo(BAD, KEY),
        calls.tally(claimed.task_id, BAD),
        calls.tries(claimed.task_id, KEY._replace(path=BAD)),
        calls.find(BAD, EVERYBODY, None, 10),
        calls.find(claimed.task_id, Scope(BAD), None, 10),
        calls.unknown(Scope(BAD), None, 10),
        calls.end(BAD, new_id(), result()),
    ):
        await refused(call, Unwritable)
