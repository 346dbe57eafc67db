"""ctx.limit in a handler: when units are taken, when not, and when what is held is free."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from engine_kit.contexts import Hand, settle_down
from stagepost import Context
from stagepost.child.blocking import BlockingContext
from stagepost.limiter import Verdict
from stagepost.testing.memory_journal import MemoryJournal
from stagepost.waiting import LimitFree


class Limited(MemoryJournal):
    """Grants what is listed; what it has granted and not got back is held."""

    verdicts: list[Verdict]
    held: list[str]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.verdicts, self.held, self.places = [], [], list[str]()

    async def reserve(self, place: str, wants: Mapping[str, int], patience: float) -> Verdict:
        self.places.append(place)
        verdict = self.verdicts.pop(0) if self.verdicts else Verdict(granted=True)
        if verdict.granted:
            self.units.update(wants)
            self.held.append(place)
        await asyncio.sleep(0)
        return verdict

    async def release(self, place: str) -> None:
        self.held.remove(place)


def a_hand(saved: Hand | None = None, only: tuple[str, ...] | None = None) -> tuple[Hand, Limited]:
    """A claim; a later one of the same task where some of the steps are saved."""
    steps = {} if saved is None else saved.journal.steps
    kept = {path: step for path, step in steps.items() if only is None or path in only}
    hand = Hand()
    hand.journal = journal = Limited({}, kept)
    hand.context._journal = journal
    return hand, journal


def work(number: int = 0) -> int:
    return number


async def one_after_the_other(ctx: Context) -> None:
    await ctx.limit("pages", units=5)
    await ctx.step("a", work)
    await ctx.limit("pages", units=7)
    await ctx.step("b", work)


async def test_units_are_taken_when_asked_for() -> None:
    hand, journal = a_hand()
    await hand.run(one_after_the_other)
    assert journal.units == {"pages": 12}
    assert len(set(journal.places)) == 2


async def test_on_a_replay_a_saved_step_takes_nothing() -> None:
    first, _ = a_hand()
    await first.run(one_after_the_other)
    for only, taken in [(("a", "b"), 0), (("a",), 7), ((), 12)]:
        hand, journal = a_hand(first, only)
        await hand.run(one_after_the_other)
        assert journal.units["pages"] == taken
    # As if "b" had been saved and "a" not, which another branch can do.
    hand, journal = a_hand(first, ("b",))
    await hand.run(one_after_the_other)
    assert journal.units["pages"] == 5


async def test_places_are_the_same_on_a_replay() -> None:
    first, journal = a_hand()
    await first.run(one_after_the_other)
    again, later = a_hand(first, ("a",))
    await again.run(one_after_the_other)
    assert later.places == journal.places[1:]


async def test_a_block_takes_its_units_once_and_lets_go_at_its_end() -> None:
    async def handler(ctx: Context) -> list[list[str]]:
        seen = []
        async with ctx.limit("gpu"):
            await ctx.step("a", work)
            seen.append(list(journal.held))
            await ctx.step("b", work)
        seen.append(list(journal.held))
        return seen

    first, journal = a_hand()
    assert await first.run(handler) == [journal.places, []]
    assert journal.units == {"gpu": 1}
    for only, taken in [(("a", "b"), 0), (("a",), 1), (("b",), 1)]:
        hand, journal = a_hand(first, only)
        await hand.run(handler)
        assert journal.units["gpu"] == taken
        assert journal.held == []


async def test_a_block_lets_go_when_it_fails() -> None:
    async def handler(ctx: Context) -> None:
        async with ctx.limit({"gpu": 1, "calls": 2}):
            raise KeyError

    hand, journal = a_hand()
    with pytest.raises(KeyError):
        await hand.run(handler)
    assert (journal.units, journal.held) == ({"gpu": 1, "calls": 2}, [])


async def test_awaited_inside_a_step_it_is_for_that_step() -> None:
    async def step(ctx: Context) -> None:
        await ctx.limit("gpu")
        assert len(journal.held) == 1

    async def handler(ctx: Context) -> None:
        for name in ("a", "b"):
            await ctx.step(name, lambda: step(ctx))
            assert journal.held == []

    hand, journal = a_hand()
    await hand.run(handler)
    assert journal.units == {"gpu": 2}
    again, journal = a_hand(hand)
    await again.run(handler)
    assert journal.units == {}


async def test_branches_that_share_a_permit_take_it_once() -> None:
    async def handler(ctx: Context) -> None:
        await ctx.limit("pages", units=4)
        await asyncio.gather(*(ctx.step("page", work, n, key=str(n)) for n in range(4)))

    first, journal = a_hand()
    await first.run(handler)
    assert journal.units == {"pages": 4}
    again, journal = a_hand(first, ("page:0", "page:3"))
    await again.run(handler)
    assert journal.units == {"pages": 4}


async def test_before_a_map_it_is_taken_if_any_item_is_not_saved() -> None:
    async def handler(ctx: Context) -> None:
        await ctx.limit("pages", units=4)
        await ctx.map("page", work, range(4))
        await ctx.step("end", work)

    first, _ = a_hand()
    await first.run(handler)
    pages = ("page[0]", "page[1]", "page[2]", "page[3]")
    for only, taken in [(pages[:2], 4), (pages, 0)]:
        hand, journal = a_hand(first, only)
        await hand.run(handler)
        assert journal.units["pages"] == taken


async def test_a_sync_handler_takes_units_and_holds_blocks() -> None:
    def handler(ctx: Any) -> list[int]:
        seen = []
        ctx.limit("pages", units=3)
        seen.append(ctx.step("a", work, 1))
        with ctx.limit("gpu"):
            seen.append(len(journal.held))
            ctx.step("b", work, 2)
        seen.append(len(journal.held))
        return seen

    async def call(ctx: Context) -> Any:
        blocking = BlockingContext(ctx, asyncio.get_running_loop())
        return await asyncio.to_thread(handler, blocking)

    first, journal = a_hand()
    # What was not entered as a block is held to the handler's end.
    assert await first.run(call) == [1, 2, 1]
    assert journal.units == {"pages": 3, "gpu": 1}
    for only, taken in [(("a", "b"), {}), (("a",), {"gpu": 1})]:
        hand, journal = a_hand(first, only)
        await hand.run(call)
        assert journal.units == taken


async def test_a_wait_for_long_is_one_of_the_gates_and_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hand, journal = a_hand()
    journal.verdicts = [Verdict(granted=False, wait=2.6, limit="pages")]
    await hand.run(one_after_the_other)
    assert len(journal.places) == 3
    assert journal.units == {"pages": 12}


async def test_where_everything_waits_the_handler_is_parked_for_the_limit() -> None:
    hand, journal = a_hand()
    journal.verdicts = [Verdict(granted=False, wait=90, limit="pages")]
    running = asyncio.ensure_future(hand.run(one_after_the_other))

    def unwind() -> None:
        hand.gate.unwind()
        running.cancel()

    hand.gate.when_all_wait = unwind
    with pytest.raises(BaseException):  # noqa: B017, PT011  # Unwound, or the cancellation with it
        await running
    assert hand.gate.parked == (LimitFree("pages", 90),)
    assert journal.units == {}


async def test_while_the_gate_is_closed_nothing_is_taken() -> None:
    hand, journal = a_hand()
    hand.gate.close(lambda: None, patient=True)
    running = asyncio.ensure_future(hand.run(one_after_the_other))
    await settle_down()
    assert hand.gate.held == 1
    assert journal.places == []
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_forgotten_await_is_told() -> None:
    async def handler(ctx: Context) -> None:
        ctx.limit("pages")

    hand, _ = a_hand()
    with pytest.warns(RuntimeWarning, match="neither awaited nor entered"):
        await hand.run(handler)
