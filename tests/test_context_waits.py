"""A handler's waits over a journal in memory: what they take, and what a replay answers."""

import asyncio
from typing import Any

import pytest

from engine_kit.contexts import Hand, settle_down
from stagepost.context import Context
from stagepost.errors import AmbiguousStep


def hand(**signals: list[Any]) -> Hand:
    return Hand(signals=signals)


async def test_waits_become_steps_that_a_replay_answers_at_once() -> None:
    first = hand(go=[{"n": 1}, None])

    async def handler(ctx: Context) -> list[Any]:
        await ctx.sleep("1d")
        said = [await ctx.wait_for("go"), await ctx.wait_for("go")]
        await ctx.sleep(60, key="pause")
        with pytest.raises(TimeoutError, match='No signal "go" came in time'):
            await ctx.wait_for("go", timeout="2h")
        return said

    assert await first.run(handler) == [{"n": 1}, None]
    assert first.journal.now == (86_400 + 60 + 7_200) * 1_000
    paths = ["sleep", "wait_for go", "wait_for go#2", "sleep:pause", "wait_for go#3"]
    assert list(first.journal.steps) == paths
    again = first.again()
    assert await again.run(handler) == [{"n": 1}, None]
    assert (again.journal.ran, again.journal.now) == ([], 0)


async def test_a_sleep_whose_length_is_worked_out_anew_is_the_same_sleep() -> None:
    first = hand()
    await first.run(lambda ctx: ctx.sleep(100))
    again = first.again()
    await again.run(lambda ctx: ctx.sleep(40))
    assert not again.journal.ran


async def test_two_waits_of_one_name_at_once_need_keys() -> None:
    async def twice(ctx: Context) -> list[Any]:
        return list(await asyncio.gather(ctx.wait_for("go"), ctx.wait_for("go")))

    with pytest.raises(AmbiguousStep, match="wait_for go"):
        await hand().run(twice)

    async def keyed(ctx: Context) -> list[Any]:
        return list(await asyncio.gather(ctx.wait_for("go", key="a"), ctx.wait_for("go", key="b")))

    assert await hand(go=[1, 2]).run(keyed) == [1, 2]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "-a", "a" * 65, 5])
async def test_a_signals_name_is_a_part_of_an_address(name: Any) -> None:
    with pytest.raises(ValueError, match="1 to 64 letters"):
        await hand().run(lambda ctx: ctx.wait_for(name))


@pytest.mark.parametrize("approvers", [[], [""], ["a\n"], ["a" * 129], ["a"] * 101, [5]])
async def test_approvers_are_names(approvers: Any) -> None:
    with pytest.raises(ValueError, match="approvers are 1 to 100"):
        await hand().run(lambda ctx: ctx.wait_for("go", approvers=approvers))


@pytest.mark.parametrize("duration", ["soon", -1, "4000d", float("nan"), float("inf")])
async def test_a_wait_has_a_length(duration: Any) -> None:
    with pytest.raises(ValueError, match=r"duration|ten years"):
        await hand().run(lambda ctx: ctx.sleep(duration))


async def test_a_brief_sleep_keeps_its_neighbours_here() -> None:
    made, parked = Hand(skip_time=False), []
    made.gate.when_all_wait = lambda: parked.append(True)

    async def handler(ctx: Context) -> None:
        await asyncio.gather(ctx.sleep(0.05), ctx.sleep(4_000, key="long"))

    running = asyncio.create_task(made.run(handler))
    await asyncio.sleep(0.02)
    await settle_down()
    assert not parked
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
