"""The gate: what flies lands, what comes is held, and only then the handler is unwound."""

import asyncio

import pytest

from engine_kit.contexts import Hand, settle_down
from stagepost.context import Context
from stagepost.gate import Gate


class Stop:
    """Stands for the executor: closes a gate and unwinds a handler as Running does."""

    def __init__(self, hand: Hand, handler: "asyncio.Task[object]") -> None:
        self.hand = hand
        self.handler = handler
        self.unwound_at: int | None = None

    def close(self, *, patient: bool) -> None:
        self.hand.gate.close(self._unwind, patient=patient)

    def _unwind(self) -> None:
        self.unwound_at = self.hand.gate.flying
        self.hand.gate.unwind()
        self.handler.cancel()


async def started(hand: Hand, handler: object) -> Stop:
    asyncio_task = asyncio.ensure_future(hand.run(handler))  # type: ignore[arg-type]
    await settle_down()
    return Stop(hand, asyncio_task)


async def unwound(stop: Stop) -> None:
    await asyncio.wait([stop.handler], timeout=10)
    assert stop.handler.done()
    assert stop.unwound_at == 0, "it was unwound, and nothing flew then"


async def test_a_step_in_flight_is_saved_before_a_drain_unwinds() -> None:
    hand, finish, later = Hand(), asyncio.Event(), []

    async def first() -> str:
        await finish.wait()
        return "paid"

    async def handler(ctx: Context) -> None:
        await ctx.step("first", first)
        await ctx.step("second", lambda: later.append("ran"))

    stop = await started(hand, handler)
    stop.close(patient=True)
    await settle_down()
    assert not stop.handler.done()
    finish.set()
    await unwound(stop)
    assert list(hand.journal.steps) == ["first"]
    assert not later


async def test_a_handler_that_returns_after_its_last_step_wins_over_a_drain() -> None:
    hand, finish = Hand(), asyncio.Event()

    async def first() -> str:
        await finish.wait()
        return "paid"

    stop = await started(hand, lambda ctx: ctx.step("first", first))
    stop.close(patient=True)
    finish.set()
    assert await stop.handler == "paid"


async def test_a_drain_lets_code_outside_of_steps_go_on_and_a_cancel_does_not() -> None:
    for patient in (True, False):
        hand, go = Hand(), asyncio.Event()

        async def handler(ctx: Context, go: asyncio.Event = go) -> str:
            await go.wait()
            return "done"

        stop = await started(hand, handler)
        stop.close(patient=patient)
        await settle_down()
        go.set()
        if patient:
            assert await stop.handler == "done"
        else:
            with pytest.raises(asyncio.CancelledError):
                await stop.handler


async def test_every_branch_of_a_gather_comes_to_its_checkpoint() -> None:
    hand, gates = Hand(), [asyncio.Event() for _ in range(3)]

    async def fly(number: int) -> int:
        await gates[number].wait()
        return number

    async def branch(ctx: Context, number: int) -> None:
        await ctx.step("fly", fly, number, key=str(number))
        await ctx.step("after", fly, number, key=str(number))

    async def handler(ctx: Context) -> None:
        await asyncio.gather(*(branch(ctx, number) for number in range(3)))

    stop = await started(hand, handler)
    stop.close(patient=True)
    for number in (0, 2):
        gates[number].set()
        await settle_down()
        assert not stop.handler.done(), "a step still flies"
    gates[1].set()
    await unwound(stop)
    assert set(hand.journal.steps) == {"fly:0", "fly:1", "fly:2"}


async def test_a_step_inside_a_step_is_held_without_holding_up_the_end() -> None:
    hand, finish = Hand(), asyncio.Event()

    async def inner() -> str:
        await finish.wait()
        return "inner"

    async def handler(ctx: Context) -> None:
        async def outer() -> None:
            await ctx.step("one", inner)
            await ctx.step("two", inner)

        await ctx.step("outer", outer)

    stop = await started(hand, handler)
    stop.close(patient=True)
    finish.set()
    await unwound(stop)
    assert list(hand.journal.steps) == ["outer/one"]


async def test_a_step_that_gives_up_what_is_held_inside_it_counts_as_flying_again() -> None:
    hand, finish, other = Hand(), asyncio.Event(), asyncio.Event()

    async def wait(event: asyncio.Event) -> str:
        await event.wait()
        return "waited"

    async def handler(ctx: Context) -> None:
        async def outer() -> str:
            await wait(finish)
            try:
                async with asyncio.timeout(0.01):
                    await ctx.step("inner", lambda: wait(other))
            except TimeoutError:
                other.set()
            await asyncio.sleep(0.02)
            return "came home"

        await asyncio.gather(
            ctx.step("outer", outer), ctx.step("neighbour", lambda: wait(other), key="x")
        )

    stop = await started(hand, handler)
    stop.close(patient=True)
    finish.set()
    await asyncio.wait([stop.handler], timeout=10)
    assert set(hand.journal.steps) == {"outer", "neighbour:x"}


async def test_a_map_finishes_its_items_in_flight_and_starts_no_other() -> None:
    hand, finish, began = Hand(), asyncio.Event(), []

    async def item(number: int) -> int:
        began.append(number)
        await finish.wait()
        return number

    stop = await started(hand, lambda ctx: ctx.map("items", item, range(10), concurrency=3))
    stop.close(patient=True)
    finish.set()
    await unwound(stop)
    assert began == [0, 1, 2]
    assert set(hand.journal.steps) == {"items[0]", "items[1]", "items[2]"}


@pytest.mark.parametrize("catch", [Exception, BaseException])
async def test_who_catches_everything_is_ended_all_the_same(
    catch: type[BaseException],
) -> None:
    hand, seen = Hand(), []

    async def handler(ctx: Context) -> str:
        for _ in range(3):
            try:
                await ctx.step("never", lambda: seen.append("ran"))
            except catch:
                continue
        return "made up"

    hand.gate.closed = True
    stop = await started(hand, handler)
    stop.close(patient=True)
    await asyncio.wait([stop.handler])
    assert not seen
    assert hand.gate.unwinding


async def test_an_artifact_within_a_step_in_flight_is_a_part_of_it() -> None:
    hand, finish = Hand(), asyncio.Event()

    async def handler(ctx: Context) -> None:
        async def write() -> str:
            await finish.wait()
            await ctx.save_artifact("report.txt", b"paid", "text/plain")
            return "written"

        await ctx.step("write", write)
        await ctx.save_artifact("more.txt", b"", "text/plain")

    stop = await started(hand, handler)
    stop.close(patient=True)
    finish.set()
    await unwound(stop)
    assert list(hand.journal.steps) == ["write"]
    assert list(hand.journal.artifacts) == ["report.txt"]


async def test_saved_steps_answer_although_the_gate_is_closed() -> None:
    hand = Hand()
    await hand.run(lambda ctx: ctx.step("first", lambda: 1))
    later = hand.again()
    later.gate.closed = True
    assert await later.run(lambda ctx: ctx.step("first", lambda: 2)) == 1


async def test_when_a_handler_fails_the_steps_it_left_in_flight_are_saved_first() -> None:
    hand, order = Hand(), []

    async def slow() -> str:
        await asyncio.sleep(0.05)
        order.append("saved")
        return "paid"

    async def fail() -> None:
        raise ValueError("no")

    async def handler(ctx: Context) -> None:
        await asyncio.gather(ctx.step("slow", slow), ctx.step("fail", fail))

    with pytest.raises(ValueError, match="no"):
        await hand.run(handler)
    assert order == ["saved"]
    assert list(hand.journal.steps) == ["slow"]


async def test_a_branch_that_outlives_its_handler_is_told_so() -> None:
    hand, go, strays = Hand(), asyncio.Event(), []

    async def stray(ctx: Context) -> None:
        await go.wait()
        await ctx.step("late", lambda: "too late")

    async def handler(ctx: Context) -> str:
        strays.append(asyncio.create_task(stray(ctx)))
        return "done"

    assert await hand.run(handler) == "done"
    go.set()
    with pytest.raises(RuntimeError, match="has ended"):
        await strays[0]
    assert not hand.journal.steps


async def test_a_stray_step_in_flight_is_not_saved_once_the_handler_has_ended() -> None:
    hand, go, strays = Hand(), asyncio.Event(), []

    async def handler(ctx: Context) -> str:
        strays.append(asyncio.create_task(ctx.step("late", go.wait)))
        await asyncio.sleep(0)
        return "done"

    assert await hand.run(handler) == "done"
    go.set()
    with pytest.raises(RuntimeError, match="has ended"):
        await strays[0]
    assert not hand.journal.steps


async def test_a_held_stray_is_cancelled_when_the_handler_ends() -> None:
    gate = Gate()
    gate.closed = True
    held = asyncio.create_task(gate.hold(None))
    await settle_down()
    gate.end()
    with pytest.raises(asyncio.CancelledError):
        await held
