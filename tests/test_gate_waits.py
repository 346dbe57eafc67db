"""Branches that wait: a handler is unwound once all of them do, and only then."""

import asyncio

import pytest

from engine_kit.contexts import Hand, settle_down
from stagepost import gate
from stagepost.context import Context
from stagepost.flight import BranchWait
from stagepost.gate import Unwound
from stagepost.scope import CURRENT, Scope
from stagepost.waiting import SignalSent

LONG = 60.0


def signal(name: str) -> SignalSent:
    return SignalSent(name, f"wait_for {name}")


async def wait(hand: Hand, name: str, seconds: float | None = LONG) -> str:
    """What a method of the context does that waits."""
    hand.gate.used()
    async with BranchWait(hand.gate, signal(name), CURRENT.get(Scope()).flight) as wait:
        await wait.rest(seconds)
    return name


class Parked:
    """Stands for the executor: unwinds the handler when the gate says so."""

    def __init__(self, hand: Hand, handler: object) -> None:
        self._hand = hand
        hand.gate.when_all_wait = self._unwind
        self.handler = asyncio.ensure_future(hand.run(handler))  # type: ignore[arg-type]
        self.flying: int | None = None

    def _unwind(self) -> None:
        self.flying = self._hand.gate.flying
        self._hand.gate.unwind()
        self.handler.cancel()

    async def names(self) -> list[str]:
        """What the handler waits for once it is unwound."""
        await asyncio.wait([self.handler], timeout=10)
        assert self.handler.done()
        assert self.flying == 0, "it was unwound, and nothing flew then"
        return [condition.name for condition in self._hand.gate.parked]


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "GRACE", 0.05)


async def test_a_handler_that_does_nothing_but_wait_is_unwound_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gate, "GRACE", LONG)
    hand = Hand()
    parked = Parked(hand, lambda _: wait(hand, "go"))
    await settle_down()
    assert parked.handler.done()
    assert await parked.names() == ["go"]


async def test_a_wait_that_ends_first_goes_on_where_it_is() -> None:
    hand, finish = Hand(), asyncio.Event()

    async def handler(ctx: Context) -> tuple[str, bool]:
        return await asyncio.gather(wait(hand, "soon", 0.01), ctx.step("fly", finish.wait, key="x"))

    parked = Parked(hand, handler)
    await asyncio.sleep(0.03)
    finish.set()
    assert tuple(await parked.handler) == ("soon", True)
    assert parked.flying is None


async def test_steps_in_flight_come_to_their_checkpoint_and_the_next_may_start() -> None:
    hand, finish = Hand(), [asyncio.Event() for _ in range(2)]

    async def branch(ctx: Context) -> None:
        await ctx.step("one", finish[0].wait)
        await ctx.step("two", finish[1].wait)
        await wait(hand, "branch")

    async def handler(ctx: Context) -> None:
        await asyncio.gather(wait(hand, "main"), branch(ctx))

    parked = Parked(hand, handler)
    for event in finish:
        await asyncio.sleep(0.1)
        assert not parked.handler.done(), "a step still flies"
        event.set()
    assert await parked.names() == ["main", "branch"]
    assert list(hand.journal.steps) == ["one", "two"]


async def test_code_outside_of_steps_has_a_grace_to_come_back() -> None:
    for outside, waits in ((0.01, ["go", "late"]), (5.0, ["go"])):
        hand = Hand()

        async def other(hand: Hand = hand, outside: float = outside) -> None:
            await asyncio.sleep(outside)
            await wait(hand, "late")

        async def handler(ctx: Context, hand: Hand = hand, other: object = other) -> None:
            await asyncio.gather(wait(hand, "go"), other())  # type: ignore[operator]

        assert await Parked(hand, handler).names() == waits


async def test_items_of_a_map_wait_within_their_steps() -> None:
    hand = Hand()

    async def item(number: int) -> str:
        await hand.context.step("ask", lambda: number)
        return await wait(hand, f"answer {number}")

    parked = Parked(hand, lambda ctx: ctx.map("items", item, range(3)))
    assert await parked.names() == ["answer 0", "answer 1", "answer 2"]
    assert list(hand.journal.steps) == [f"items[{n}]/ask" for n in range(3)]


async def test_a_step_with_two_waits_inside_stands_still_while_one_is_left() -> None:
    hand = Hand()

    async def inside() -> None:
        await asyncio.gather(wait(hand, "soon", 0.01), wait(hand, "later"))

    parked = Parked(hand, lambda ctx: ctx.step("outer", inside))
    assert await parked.names() == ["later"]
    assert not hand.journal.steps


async def test_a_drain_takes_what_waits_at_once_and_what_is_held_with_it() -> None:
    for held in (False, True):
        hand, finish = Hand(), asyncio.Event()

        async def branch(
            ctx: Context, finish: asyncio.Event = finish, *, held: bool = held
        ) -> None:
            await ctx.step("fly", finish.wait)
            if held:
                await ctx.step("never", finish.wait)

        async def handler(ctx: Context, hand: Hand = hand, branch: object = branch) -> None:
            await asyncio.gather(wait(hand, "go"), branch(ctx))  # type: ignore[operator]

        parked = Parked(hand, handler)
        await settle_down()
        hand.gate.close(parked._unwind, patient=True)
        await settle_down()
        assert not parked.handler.done(), "a step still flies"
        finish.set()
        assert await parked.names() == ([] if held else ["go"])


@pytest.mark.parametrize("catch", [Exception, BaseException])
async def test_who_catches_everything_is_ended_all_the_same(catch: type[BaseException]) -> None:
    hand = Hand()

    async def handler(_ctx: Context) -> str:
        for _ in range(3):
            try:
                await wait(hand, "go")
            except catch:
                continue
        return "made up"

    assert await Parked(hand, handler).names() == ["go"]
    assert hand.gate.unwinding


async def test_a_wait_that_its_branch_gives_up_holds_nothing_up() -> None:
    hand = Hand()

    async def handler(_ctx: Context) -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.gather(wait(hand, "one"), wait(hand, "two"))
        return "gave up"

    assert await Parked(hand, handler).handler == "gave up"


async def test_a_stray_that_waits_ends_with_its_handler() -> None:
    hand, strays = Hand(), []

    async def handler(_ctx: Context) -> str:
        strays.append(asyncio.create_task(wait(hand, "go")))
        await asyncio.sleep(0)
        return "done"

    assert await Parked(hand, handler).handler == "done"
    with pytest.raises(asyncio.CancelledError):
        await strays[0]
    with pytest.raises(RuntimeError, match="has ended"):
        await wait(hand, "late")


async def test_nobody_waits_in_a_handler_that_is_being_unwound() -> None:
    hand = Hand()
    hand.gate.unwind()
    with pytest.raises(Unwound):
        await wait(hand, "go")


async def test_branches_that_wait_have_a_bound() -> None:
    hand = Hand()

    async def handler(_ctx: Context) -> None:
        await asyncio.gather(*(wait(hand, str(number)) for number in range(1_001)))

    with pytest.raises(RuntimeError, match="At most 1000 branches"):
        await Parked(hand, handler).handler
