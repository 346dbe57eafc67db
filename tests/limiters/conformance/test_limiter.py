"""What every limiter does: a new one joins with one line."""

import asyncio

import pytest

from limiters.worlds import World, standing, wanting
from stagepost.limit import Limit
from stagepost.limiter import Charge, Limiter, Reservation, Verdict

RATE = Limit("pages", 10, 60)
TWO = Limit("gpu", at_once=2)


async def test_a_windows_units_and_no_more(world: World) -> None:
    for _ in range(2):
        assert (await world.ask(RATE, 5)).granted
    told = await world.ask(RATE, key="told")
    assert not told.granted
    assert told.limit == "pages"
    assert 59 < told.wait < 61
    await world.end(RATE, "told")
    assert (await world.state(RATE)).used == 10
    await world.move(61)
    assert (await world.ask(RATE, 10)).granted


async def test_so_many_at_once_and_no_more(world: World) -> None:
    assert (await world.ask(TWO, key="a")).granted
    assert (await world.ask(TWO, key="b")).granted
    assert not (await world.ask(TWO, key="c")).granted
    await world.end(TWO, "a")
    assert (await world.state(TWO)).held == 1
    assert (await world.ask(TWO, key="c")).granted
    assert not (await world.ask(TWO, key="d")).granted


async def test_others_see_what_is_used(world: World) -> None:
    other = await world.another()
    assert (await world.ask(RATE, 6)).granted
    assert not (await world.ask(RATE, 5, by=other)).granted
    assert (await world.ask(RATE, 4, by=other)).granted


async def test_who_waits_in_place_goes_on_when_there_is_room(world: World) -> None:
    short = Limit("short", 1, 1)
    assert (await world.ask(short)).granted
    waiting = await standing(world, world.ask(short, patience=5))
    assert (await world.settled(waiting)).granted


async def test_a_wait_longer_than_the_patience_is_told_at_once(world: World) -> None:
    await world.ask(RATE, 10)
    told = await asyncio.wait_for(world.ask(RATE, patience=5), 5)
    assert not told.granted
    assert told.wait > 5


async def test_an_end_wakes_those_who_wait_in_their_order(world: World) -> None:
    one, order = Limit("one", at_once=1), []
    other = await world.another()
    assert (await world.ask(one, key="first")).granted

    async def work(key: str, by: Limiter) -> None:
        verdict = await world.ask(one, key=key, patience=1_000, by=by)
        assert verdict.granted
        order.append(key)
        await world.end(one, key, by=by)

    tasks = []
    for n in range(6):
        tasks.append(asyncio.create_task(work(f"w{n}", world.limiter if n % 2 else other)))
        await asyncio.sleep(0.05)
        await world.move(0.002)
    await world.end(one, "first")
    async with asyncio.timeout(10):
        await asyncio.gather(*tasks)
    assert order == [f"w{n}" for n in range(6)]


async def test_all_or_nothing(world: World) -> None:
    both = [Charge(RATE, 10), Charge(TWO, 1)]
    assert (await world.limiter.reserve(Reservation("a", both))).granted
    told = await world.limiter.reserve(Reservation("b", [Charge(TWO, 1), Charge(RATE, 1)]))
    assert not told.granted
    assert told.limit == "pages"
    assert (await world.state(TWO)).held == 1


async def test_asked_again_under_its_id_what_is_held_is_granted(world: World) -> None:
    assert (await world.ask(TWO, key="a")).granted
    assert (await world.ask(TWO, key="a")).granted
    assert (await world.state(TWO)).held == 1


async def test_who_is_cancelled_while_it_waits_blocks_nobody(world: World) -> None:
    one = Limit("one", at_once=1)
    assert (await world.ask(one, key="holder")).granted
    waiting = await standing(world, world.ask(one, key="gone", patience=1_000))
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await world.end(one, "holder")
    assert (await world.ask(one, key="next")).granted
    assert (await world.state(one))[:4] == ("one", 0, 1, 0)


async def test_many_who_are_cancelled_at_any_moment_leave_nothing_held(world: World) -> None:
    one = Limit("few", at_once=3)

    async def work(n: int) -> None:
        key = f"w{n}"
        try:
            async with asyncio.timeout(0.0005 * n):
                if (await world.ask(one, key=key, patience=1_000)).granted:
                    await world.end(one, key)
        except TimeoutError:
            # As whoever asks does at the end of its claim.
            await world.end(one, key)

    async with asyncio.timeout(30):
        await asyncio.gather(*(work(n) for n in range(60)))
        while (await world.state(one)).held:  # noqa: ASYNC110  # the limiter tells it later
            await asyncio.sleep(0.01)
    assert (await world.state(one)).waiting == 0


async def test_a_changed_limit_holds_from_the_next_question_on(world: World) -> None:
    assert (await world.ask(Limit("x", 10, 60), 10)).granted
    assert not (await world.ask(Limit("x", 10, 60))).granted
    assert (await world.ask(Limit("x", 20, 60), 10)).granted
    assert not (await world.ask(Limit("x", 5, 60))).granted


async def test_from_many_event_loops_at_once(world: World) -> None:
    many = Limit("many", 50, 60, at_once=5)
    granted: list[Verdict] = []

    async def work(n: int) -> None:
        for each in range(10):
            wanted = wanting(many, 1, f"{n}/{each}")
            granted.append(await world.limiter.reserve(wanted, patience=1_000))
            await world.limiter.settle(wanted)

    def run(n: int) -> None:
        asyncio.run(work(n))

    async with asyncio.timeout(30):
        await asyncio.gather(*(asyncio.to_thread(run, n) for n in range(5)))
    assert sum(verdict.granted for verdict in granted) == 50
    assert (await world.state(many))[:4] == ("many", 50, 0, 0)


async def test_who_was_told_to_come_later_is_called_when_there_is_room(world: World) -> None:
    one = Limit("one", at_once=1)
    assert (await world.ask(one, key="holder")).granted
    await world.move(60)
    assert not (await world.ask(one, key="task-1/later", patience=5)).granted
    calling = asyncio.ensure_future(world.limiter.called())
    await asyncio.sleep(0.05)
    assert not calling.done()
    await world.end(one, "holder")
    assert list(await asyncio.wait_for(calling, 10)) == ["task-1/later"]
    await world.move(0.001)
    assert not (await world.ask(one, key="new")).granted
    assert (await world.ask(one, key="task-1/later")).granted


async def test_it_can_be_asked_whether_it_can_be_asked(world: World) -> None:
    await world.limiter.ping()
