"""Maps: one checkpoint and one tick an item."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from engine_kit.contexts import Hand
from stagepost import codec
from stagepost.context import Context
from stagepost.errors import AmbiguousStep, CodeChanged
from stagepost.items import MOST_ITEMS


class Item(BaseModel):
    id: str


async def backwards(number: int, total: int = 10) -> int:
    await asyncio.sleep((total - number) / 1000)
    return number


async def test_results_come_in_input_order() -> None:
    assert await Hand().run(lambda ctx: ctx.map("m", backwards, range(10))) == list(range(10))


async def test_never_more_at_once_than_asked_for() -> None:
    flying, most = 0, 0

    async def item(_number: int) -> None:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.001)
        flying -= 1

    await Hand().run(lambda ctx: ctx.map("m", item, range(20), concurrency=3))
    assert most == 3


async def test_items_saved_before_are_not_run_again() -> None:
    hand, ran = Hand(), []

    def item(number: int) -> int:
        ran.append(number)
        if number == 3 and len(ran) < 5:
            raise ValueError("no")
        return number

    async def handler(ctx: Context) -> Any:
        return await ctx.map("m", item, range(6), concurrency=1)

    with pytest.raises(ValueError, match="no"):
        await hand.run(handler)
    assert await hand.again().run(handler) == list(range(6))
    assert ran == [0, 1, 2, 3, 3, 4, 5]


async def test_the_first_error_waits_for_what_flies_and_starts_nothing_new() -> None:
    hand, began = Hand(), []

    async def item(number: int) -> int:
        began.append(number)
        if number:
            await asyncio.sleep(0.02)
            if number == 2:
                raise KeyError("later")
            return number
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        await hand.run(lambda ctx: ctx.map("m", item, range(10), concurrency=3))
    assert began == [0, 1, 2]
    assert list(hand.journal.steps) == ["m[1]"]


async def test_an_item_that_is_cancelled_from_within_is_an_error_and_no_result() -> None:
    async def item(number: int) -> int:
        if number == 1:
            raise asyncio.CancelledError
        return number

    with pytest.raises(RuntimeError, match="cancelled from within"):
        await Hand().run(lambda ctx: ctx.map("m", item, range(3)))


async def test_a_map_ends_when_its_handler_is_cancelled() -> None:
    async def forever(_number: int) -> None:
        await asyncio.sleep(60)

    hand = Hand()
    running = asyncio.create_task(hand.run(lambda ctx: ctx.map("m", forever, range(3))))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_key_finds_items_again_in_another_order() -> None:
    hand, ran = Hand(), []

    def item(item: Item) -> str:
        ran.append(item.id)
        return item.id

    async def handler(ctx: Context, ids: str) -> Any:
        items = [Item(id=name) for name in ids]
        return await ctx.map("m", item, items, key=lambda item: item.id)

    assert await hand.run(lambda ctx: handler(ctx, "abc")) == ["a", "b", "c"]
    assert await hand.again().run(lambda ctx: handler(ctx, "cxba")) == ["c", "x", "b", "a"]
    assert sorted(ran) == ["a", "b", "c", "x"]
    assert "m[x]" not in hand.journal.steps


async def test_without_a_key_a_changed_item_is_code_changed() -> None:
    hand = Hand()
    await hand.run(lambda ctx: ctx.map("m", backwards, [1, 2]))
    with pytest.raises(CodeChanged):
        await hand.again().run(lambda ctx: ctx.map("m", backwards, [2, 1]))
    with pytest.raises(CodeChanged):
        await hand.again().run(lambda ctx: ctx.map("m", backwards, [1, 2], 11))


async def test_two_items_of_one_key_are_refused() -> None:
    with pytest.raises(ValueError, match="same key"):
        await Hand().run(lambda ctx: ctx.map("m", backwards, [1, 1], key=str))


async def test_two_maps_of_one_name_at_once_are_refused() -> None:
    async def handler(ctx: Context) -> None:
        await asyncio.gather(ctx.map("m", backwards, [1]), ctx.map("m", backwards, [1]))

    with pytest.raises(AmbiguousStep):
        await Hand().run(handler)


@pytest.mark.parametrize("concurrency", [0, 1001])
async def test_a_concurrency_without_sense_is_refused(concurrency: int) -> None:
    with pytest.raises(ValueError, match="1 and 1000"):
        await Hand().run(lambda ctx: ctx.map("m", backwards, [1], concurrency=concurrency))


async def test_an_empty_map_is_an_empty_list() -> None:
    hand = Hand()
    assert await hand.run(lambda ctx: ctx.map("m", backwards, [], progress=(10, 20))) == []
    assert not hand.journal.notes


async def test_ten_thousand_items_and_not_one_more() -> None:
    async def item(number: int) -> int:
        return number

    hand = Hand()
    results = await hand.run(lambda ctx: ctx.map("m", item, range(MOST_ITEMS), concurrency=100))
    assert results == list(range(MOST_ITEMS))
    with pytest.raises(ValueError, match="10000"):
        await Hand().run(lambda ctx: ctx.map("m", item, range(MOST_ITEMS + 1)))


async def test_progress_ticks_as_items_are_saved() -> None:
    hand = Hand()
    await hand.run(
        lambda ctx: ctx.map(
            "m", backwards, range(4), concurrency=1, progress=(20, 60), message="{n} of {total}!"
        )
    )
    assert [tuple(note) for note in hand.journal.notes] == [
        (30, "1 of 4!", "m"),
        (40, "2 of 4!", "m"),
        (50, "3 of 4!", "m"),
        (60, "4 of 4!", "m"),
    ]


async def test_what_all_items_share_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, seen = {"document": "x" * 1000}, []
    digest = codec.digest

    def counting(arguments: Any, named: Any) -> str:
        seen.append(shared in list(arguments))
        return digest(arguments, named)

    monkeypatch.setattr(codec, "digest", counting)
    await Hand().run(lambda ctx: ctx.map("m", lambda number, _document: number, range(50), shared))
    assert seen.count(True) == 1
