"""What every limiter does with calls of models: reserve, settle, heed, forget."""

import asyncio
import math

import pytest

from limiters.worlds import World, standing
from stagepost.limit import Calendar, Limit, Pace
from stagepost.limiter import Charge, Limiter, LimitState, Notice, Reservation, pauses

REQUESTS = Limit("model:a/b:requests", 60, pace=Pace(), at_once=2)
TOKENS = Limit("model:a/b:tokens", 60_000, pace=Pace(charge="actual"))
ASKED = Limit("model:a/b:asked", 60_000, pace=Pace(charge="reserved"))
TENANT = Limit("budget:tenant/acme:day", 1_000_000, calendar=Calendar.DAY)
TASK = Limit("budget:task/7", 500_000, calendar=Calendar.EVER)


def call(key: str, tokens: int = 1_000, cost: int = 1_000) -> Reservation:
    charges = [
        Charge(REQUESTS, 1),
        Charge(TOKENS, tokens),
        Charge(ASKED, tokens),
        Charge(TENANT, cost),
        Charge(TASK, cost),
    ]
    return Reservation(key, charges, "claim")


async def states(world: World, by: Limiter | None = None) -> dict[str, LimitState]:
    limits = [REQUESTS, TOKENS, ASKED, TENANT, TASK]
    return {state.name: state for state in await (by or world.limiter).state(limits)}


async def used(world: World) -> list[int]:
    return [state.used for state in (await states(world)).values()]


async def test_one_reservation_takes_from_requests_tokens_number_and_budgets(world: World) -> None:
    assert (await world.limiter.reserve(call("a"))).granted
    assert await used(world) == [1, 1_000, 1_000, 1_000, 1_000]
    assert (await states(world))[REQUESTS.name].held == 1


async def test_a_budget_that_is_spent_takes_nothing_of_the_others(world: World) -> None:
    assert (await world.limiter.reserve(call("a", cost=500_000))).granted
    await world.limiter.settle(call("a", cost=500_000))
    await world.move(10)
    told = await world.limiter.reserve(call("b"))
    assert told == (False, math.inf, TASK.name)
    assert await used(world) == [1, 1_000, 1_000, 500_000, 500_000]


async def test_what_was_used_settles_each_limit_in_its_way(world: World) -> None:
    assert (await world.limiter.reserve(call("a"))).granted
    spent = {TOKENS.name: 300, ASKED.name: 900, TENANT.name: 200, TASK.name: 200}
    await world.limiter.settle(call("a"), spent)
    assert await used(world) == [1, 300, 900, 200, 200]
    assert (await states(world))[REQUESTS.name].held == 0


async def test_more_than_was_reserved_is_paid(world: World) -> None:
    assert (await world.limiter.reserve(call("a"))).granted
    spent = {TOKENS.name: 1_500, ASKED.name: 1_500, TENANT.name: 1_500, TASK.name: 1_500}
    await world.limiter.settle(call("a"), spent)
    assert await used(world) == [1, 1_500, 1_500, 1_500, 1_500]


async def test_it_is_settled_once_by_whomever(world: World) -> None:
    other = await world.another()
    assert (await world.limiter.reserve(call("a"))).granted
    for by in (other, world.limiter, other):
        await by.settle(call("a"), {TOKENS.name: 300, TENANT.name: 200, TASK.name: 200})
        assert await used(world) == [1, 300, 1_000, 200, 200]


async def test_settled_without_a_word_it_was_used_as_reserved(world: World) -> None:
    assert (await world.limiter.reserve(call("a"))).granted
    await world.limiter.settle(call("a"))
    await world.limiter.settle(call("a"), {TOKENS.name: 0})
    assert await used(world) == [1, 1_000, 1_000, 1_000, 1_000]


async def test_asked_again_under_its_id_it_is_granted_and_taken_once(world: World) -> None:
    for _ in range(3):
        assert (await world.limiter.reserve(call("a"))).granted
    assert await used(world) == [1, 1_000, 1_000, 1_000, 1_000]


async def test_it_begins_with_one_request_and_goes_on_evenly(world: World) -> None:
    other = await world.another()
    assert (await world.ask(TOKENS, 500)).granted
    told = await world.ask(TOKENS, 500, by=other)
    assert not told.granted
    assert told.wait == pytest.approx(500 / 990, abs=0.01)
    waiting = await standing(world, world.ask(TOKENS, 500, patience=5, by=other))
    assert (await world.settled(waiting)).granted


async def test_what_comes_back_wakes_who_waits(world: World) -> None:
    assert (await world.limiter.reserve(call("a", cost=400_000))).granted
    await world.move(10)
    waiting = await standing(world, world.limiter.reserve(call("b", cost=400_000), patience=60))
    await world.limiter.settle(call("a", cost=400_000), {TASK.name: 10, TENANT.name: 10})
    assert (await asyncio.wait_for(waiting, 10)).granted


async def test_a_budget_turns_at_midnight_of_utc(world: World) -> None:
    # The worlds begin at 22:13:20 UTC.
    assert (await world.ask(TENANT, 1_000_000, "a")).granted
    await world.end(TENANT, "a")
    told = await world.ask(TENANT, 1, "b")
    assert told.wait == pytest.approx(6_400, abs=1)
    assert (await world.state(TENANT)).used == 1_000_000
    await world.move(6_401)
    assert (await world.ask(TENANT, 1, "b")).granted
    assert (await world.state(TENANT)).used == 1


async def test_a_pause_holds_for_all_processes(world: World) -> None:
    other = await world.another()
    assert (await world.ask(TOKENS, 1)).granted
    await world.move(10)
    await world.limiter.heed(pauses([REQUESTS, TOKENS], 30.0))
    told = await other.reserve(call("a"))
    assert told.wait == pytest.approx(30, abs=1)
    assert told.limit in {REQUESTS.name, TOKENS.name}
    assert (await states(world, other))[TOKENS.name].paused == 30
    await world.move(31)
    assert (await other.reserve(call("a"))).granted


async def test_what_the_provider_tells_holds_for_all_processes(world: World) -> None:
    other = await world.another()
    assert (await world.ask(TOKENS, 100)).granted
    await world.move(10)
    await world.limiter.heed([Notice(TOKENS, most=600, left=3, slower=True)])
    state = (await states(world, other))[TOKENS.name]
    assert state.most == 600
    assert state.pace == pytest.approx(0.7)
    assert (await world.ask(TOKENS, 3, by=other)).granted
    assert (await world.ask(TOKENS, 7, by=other)).wait == pytest.approx(1.0, abs=0.1)


async def test_what_the_ledger_has_spent_counts(world: World) -> None:
    await world.limiter.heed([Notice(TASK, spent=499_500)])
    assert not (await world.limiter.reserve(call("a"))).granted
    assert (await world.limiter.reserve(call("b", cost=500))).granted


async def test_what_is_forgotten_begins_anew_for_all(world: World) -> None:
    other = await world.another()
    for by in (world.limiter, other):
        assert (await world.ask(TASK, 250_000, by=by)).granted
    await world.limiter.forget([TASK, TOKENS])
    assert (await world.state(TASK)).used == 0
    for by in (world.limiter, other):
        assert (await world.ask(TASK, 250_000, by=by)).granted
    assert (await world.state(TASK)).used == 500_000


async def test_who_is_cancelled_while_it_waits_has_spent_nothing(world: World) -> None:
    for key in ("a", "b"):
        assert (await world.limiter.reserve(call(key, tokens=1))).granted
        await world.move(10)
    waiting = await standing(world, world.limiter.reserve(call("c", tokens=1), patience=60))
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await world.limiter.settle(call("a"))
    await world.move(1)
    assert (await world.limiter.reserve(call("d"))).granted
    assert (await used(world))[0] == 3
