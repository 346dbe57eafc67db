"""The loop that carries on changes of many tasks."""

import asyncio
from typing import Any

import pytest

from engine_kit.contexts import settle_down
from stagepost.errors import NotFound, StoreUnavailable
from stagepost.maintenance.mass_changer import MassChanger
from stagepost.mass import Advance, Progress
from stagepost.testing import FakeClock


class Books:
    """The part of a store that the loop uses: how many full pages each change still has."""

    def __init__(self, **pages: int) -> None:
        self.pages = pages
        self.asked: list[str] = []
        self.up = True
        self.leads = True
        self.stuck: set[str] = set()

    @property
    def mass(self) -> "Books":
        return self

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        return self.leads

    async def open(self, limit: int, after: str = "") -> list[str]:
        if not self.up:
            raise StoreUnavailable("away")
        return sorted(name for name in self.pages if name > after)[:limit]

    async def advance(self, change_id: str) -> Advance:
        self.asked.append(change_id)
        if change_id in self.stuck:
            raise StoreUnavailable("its tasks are held")
        if self.pages[change_id] < 0:
            raise NotFound("pruned")
        if self.pages[change_id] == 0:
            del self.pages[change_id]
            return Advance(Progress())
        self.pages[change_id] -= 1
        return Advance(Progress(), full=True)


async def test_a_turn_is_a_few_pages_of_each() -> None:
    store: Any = Books(first=12, second=1, pruned=-1)
    loop = MassChanger(store, FakeClock())
    assert await loop.look()
    assert [store.asked.count(name) for name in ("first", "second", "pruned")] == [10, 2, 1]
    assert await loop.look()
    assert store.asked.count("first") == 13


def many(number: int, pages: int) -> dict[str, int]:
    return {f"{n:04}": pages for n in range(number)}


async def test_those_that_take_long_do_not_keep_the_later_ones_waiting() -> None:
    """Two tenants may have a whole turn's worth of changes that wait for their own tasks."""
    store: Any = Books(**many(230, 1_000))
    loop = MassChanger(store, FakeClock())
    for _ in range(3):
        assert await loop.look()
    # Each had its turn once before any had its third.
    assert {store.asked.count(name) for name in store.pages} == {10, 20}
    turns: list[set[str]] = []
    for _ in range(23):
        store.asked.clear()
        await loop.look()
        turns.append(set(store.asked))
        assert len(turns[-1]) == 100
    for name in store.pages:
        assert sum(name in turn for turn in turns) == 10


async def test_one_that_fails_does_not_keep_the_others_waiting() -> None:
    store: Any = Books(first=0, second=0, third=0)
    store.stuck = {"first"}
    loop = MassChanger(store, FakeClock())
    with pytest.raises(StoreUnavailable):
        await loop.look()
    with pytest.raises(StoreUnavailable):
        await loop.look()
    assert set(store.pages) == {"first"}


async def test_only_the_leader_does_it() -> None:
    store: Any = Books(first=1)
    store.leads = False
    assert not await MassChanger(store, FakeClock()).look()
    assert store.asked == []


async def test_it_looks_less_often_while_nothing_is_under_way_and_outlives_an_outage() -> None:
    store: Any = Books(first=25)
    clock = FakeClock()
    running = asyncio.create_task(MassChanger(store, clock).run())
    await settle_down()
    store.up = False
    clock.advance(0.25)
    await settle_down()
    store.up = True
    clock.advance(1.9)
    await settle_down()
    assert len(store.asked) == 10
    clock.advance(0.1)
    await settle_down()
    assert len(store.asked) == 20
    clock.advance(0.25)
    await settle_down()
    assert store.pages == {}
    clock.advance(0.25)
    await settle_down()
    store.pages["later"] = 0
    clock.advance(0.9)
    await settle_down()
    assert "later" not in store.asked
    clock.advance(0.1)
    await settle_down()
    assert store.asked[-1] == "later"
    running.cancel()
