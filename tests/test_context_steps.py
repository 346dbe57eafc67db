"""Steps: run once in a task's life, and the same on every replay."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from engine_kit.contexts import Hand
from stagepost.context import Context
from stagepost.errors import AmbiguousStep, CodeChanged, LeaseLost
from stagepost.gate import Unwound
from stagepost.journal import NewStep


class Clause(BaseModel):
    text: str


@dataclass
class Point:
    x: int


def typed() -> dict[str, tuple[Clause, Point, datetime, set[int], bytes]]:
    return {"k": (Clause(text="a"), Point(1), datetime(2026, 1, 1, tzinfo=UTC), {1}, b"\xff")}


class Counted:
    """A step's function that counts its runs."""

    def __init__(self, result: Any = "done") -> None:
        self.runs = 0
        self.result = result

    def __call__(self, *_args: Any) -> Any:
        self.runs += 1
        return self.result


async def test_a_saved_step_is_never_run_again() -> None:
    hand, fn = Hand(), Counted()
    for _ in range(3):
        assert await hand.run(lambda ctx: ctx.step("one", fn, 1)) == "done"
        hand = hand.again()
    assert fn.runs == 1


async def test_the_first_run_returns_what_a_replay_returns() -> None:
    hand = Hand()
    first = await hand.run(lambda ctx: ctx.step("one", typed))
    again = await hand.again().run(lambda ctx: ctx.step("one", typed))
    assert first == again == typed()
    loose = await Hand().run(lambda ctx: ctx.step("two", lambda: (1, {2})))
    assert loose == [1, [2]]


async def test_a_failed_step_is_not_saved_and_runs_anew() -> None:
    hand, fn = Hand(), Counted()

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await hand.run(lambda ctx: ctx.step("one", fail))
    assert not hand.journal.steps
    assert await hand.again().run(lambda ctx: ctx.step("one", fn)) == "done"


async def test_changed_arguments_are_code_changed() -> None:
    hand, fn = Hand(), Counted()
    await hand.run(lambda ctx: ctx.step("one", fn, 1))
    with pytest.raises(CodeChanged, match="other arguments"):
        await hand.again().run(lambda ctx: ctx.step("one", fn, 2))
    with pytest.raises(CodeChanged, match="other arguments"):
        await hand.again().run(lambda ctx: ctx.step("one", lambda **_: 1, a=1))
    assert fn.runs == 1


async def test_a_result_that_does_not_come_back_is_not_saved() -> None:
    hand = Hand()

    def wrong() -> int:
        return "abc"  # type: ignore[return-value]

    with pytest.raises(TypeError, match="return annotation"):
        await hand.run(lambda ctx: ctx.step("one", wrong))
    assert not hand.journal.steps


async def test_arguments_that_do_not_serialise_fail_on_the_first_run() -> None:
    fn = Counted()
    with pytest.raises(TypeError, match="arguments must serialise"):
        await Hand().run(lambda ctx: ctx.step("one", fn, object()))
    assert fn.runs == 0


async def test_two_live_steps_of_one_name_are_refused_and_keys_tell_them_apart() -> None:
    async def both(ctx: Context, keys: tuple[str | None, str | None]) -> Any:
        return await asyncio.gather(
            *(ctx.step("one", asyncio.sleep, 0.01, n, key=key) for n, key in enumerate(keys))
        )

    with pytest.raises(AmbiguousStep):
        await Hand().run(lambda ctx: both(ctx, (None, None)))
    with pytest.raises(AmbiguousStep):
        await Hand().run(lambda ctx: both(ctx, ("a", "a")))
    assert await Hand().run(lambda ctx: both(ctx, ("a", "b"))) == [0, 1]


async def test_one_after_the_other_steps_of_one_name_are_numbered() -> None:
    hand = Hand()

    async def handler(ctx: Context) -> list[int]:
        return [await ctx.step("one", lambda n: n, n) for n in range(3)]

    assert await hand.run(handler) == [0, 1, 2]
    assert list(hand.journal.steps) == ["one", "one#2", "one#3"]
    assert await hand.again().run(handler) == [0, 1, 2]


async def test_a_key_that_comes_again_is_answered_from_what_was_saved() -> None:
    hand, fn = Hand(), Counted()

    async def handler(ctx: Context) -> Any:
        return [await ctx.step("one", fn, key="k"), await ctx.step("one", fn, key="k")]

    assert await hand.run(handler) == ["done", "done"]
    assert fn.runs == 1


async def test_steps_nest_in_steps_and_in_items() -> None:
    hand = Hand()

    async def handler(ctx: Context) -> None:
        async def cite(number: int) -> None:
            await ctx.step("cite", lambda n: n, number)

        await ctx.step("outer", lambda: cite(0))
        await ctx.map("items", cite, [5, 6])
        await ctx.step("cite", lambda: None)

    await hand.run(handler)
    assert set(hand.journal.steps) == {
        *("outer/cite", "outer", "cite"),
        *("items[0]/cite", "items[0]", "items[1]/cite", "items[1]"),
    }


@pytest.mark.parametrize("kind", ["coroutine", "thread", "awaitable", "process"])
async def test_a_step_over_its_time_out_raises_timeout_error(kind: str) -> None:
    hand, release = Hand(), threading.Event()

    async def forever() -> None:
        await asyncio.sleep(60)

    functions: dict[str, Callable[[], Any]] = {
        "coroutine": forever,
        "thread": lambda: release.wait(60),
        "awaitable": lambda: forever(),  # noqa: PLW0108  # a sync function that answers an awaitable
        "process": lambda: release.wait(60),
    }
    try:
        with pytest.raises(TimeoutError):
            await hand.run(
                lambda ctx: ctx.step("slow", functions[kind], timeout="50ms", cpu=kind == "process")
            )
    finally:
        release.set()
    assert not hand.journal.steps


async def test_a_sync_step_runs_off_the_loop_and_may_not_end_it() -> None:
    def where() -> str:
        return threading.current_thread().name

    def leave() -> None:
        raise SystemExit(3)

    def stop() -> None:
        raise StopIteration

    assert await Hand().run(lambda ctx: ctx.step("one", where)) == "stagepost-sync"
    with pytest.raises(RuntimeError, match="ended by SystemExit"):
        await Hand().run(lambda ctx: ctx.step("one", leave))
    with pytest.raises(RuntimeError, match="StopIteration"):
        await Hand().run(lambda ctx: ctx.step("one", stop))


async def test_a_coroutine_function_is_no_cpu_step() -> None:
    with pytest.raises(TypeError, match="cpu=True"):
        await Hand().run(lambda ctx: ctx.step("one", asyncio.sleep, 0, cpu=True))


async def test_progress_is_told_when_the_step_starts_and_by_its_name() -> None:
    hand = Hand()

    async def handler(ctx: Context) -> None:
        async def work() -> None:
            await ctx.progress(45.4, "inside")

        await ctx.step("one", work, progress=10, message="begins")
        await ctx.progress(50)

    await hand.run(handler)
    assert [tuple(note) for note in hand.journal.notes] == [
        (10, "begins", "one"),
        (45, "inside", "one"),
        (50, "", None),
    ]


@pytest.mark.parametrize("percent", [-1, 101, float("nan")])
async def test_progress_that_is_no_percentage_is_refused(percent: float) -> None:
    with pytest.raises(ValueError, match="0 and 100"):
        await Hand().run(lambda ctx: ctx.progress(percent))


async def test_text_goes_out_under_its_step() -> None:
    hand = Hand()

    async def handler(ctx: Context) -> None:
        async def talk() -> None:
            await ctx.emit("hello ")
            await ctx.emit("there\ud800")

        await ctx.step("talk", talk)
        await ctx.emit("outside")

    await hand.run(handler)
    assert hand.journal.texts == {"talk": "hello there?", "main": "outside"}


async def test_artifacts_are_kept_by_name() -> None:
    hand = Hand()

    async def handler(ctx: Context) -> None:
        await ctx.save_artifact("a.txt", b"1", "text/plain")
        await ctx.save_artifact("a.txt", b"2", "text/plain")
        for name in ("", "a/b", "x" * 256, "a\n"):
            with pytest.raises(ValueError, match="artifact's name"):
                await ctx.save_artifact(name, b"", "text/plain")

    await hand.run(handler)
    assert {name: file.content for name, file in hand.journal.artifacts.items()} == {"a.txt": b"2"}


async def test_an_artifact_may_be_text() -> None:
    hand = Hand()

    async def handler(ctx: Context) -> None:
        await ctx.save_artifact("a.txt", "größer\ud800", "text/plain")
        with pytest.raises(TypeError, match="bytes, text or the Path of a file, not dict"):
            await ctx.save_artifact("b.txt", {}, "text/plain")  # type: ignore[arg-type]

    await hand.run(handler)
    assert hand.journal.artifacts["a.txt"].content == "größer?".encode()


async def test_a_lost_claim_ends_its_handler() -> None:
    hand, went_on = Hand(), []

    async def refuse(step: NewStep) -> None:
        raise LeaseLost("gone")

    async def handler(ctx: Context) -> None:
        try:
            await ctx.step("one", lambda: 1)
        except Exception:  # noqa: BLE001  # what a careless handler does
            went_on.append("caught")
        await ctx.step("two", lambda: 2)

    hand.journal.save = refuse  # type: ignore[method-assign]
    with pytest.raises(Unwound):
        await hand.run(handler)
    assert hand.gate.unwinding
    assert not went_on


async def test_a_context_tells_what_it_is_about() -> None:
    ctx = Hand().context
    assert (ctx.task_id, ctx.tenant, ctx.user, ctx.attempt) == ("task-1", "acme", "ann", 1)
    assert ctx.log.extra == {"taskId": "task-1", "traceId": "0" * 32}
