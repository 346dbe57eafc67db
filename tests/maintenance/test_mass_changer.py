"""The loop that carries on changes of many tasks."""

import asyncio
from typing import Any

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

    @property
    def mass(self) -> "Books":
        return self

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        return self.leads

    async def open(self, limit: int) -> list[str]:
        if not self.up:
            raise StoreUnavailable("away")
        return list(self.pages)[:limit]

    async def advance(self, change_id: str) -> Advance:
        self.asked.append(change_id)
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
