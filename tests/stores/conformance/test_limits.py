"""Limits that people set, on every store."""

import pytest

from stagepost.errors import Conflict, NotFound
from stagepost.limit import Limit
from stagepost.stores.postgres import limits as in_postgres
from stagepost.stores.sqlite import limits as in_sqlite
from support.world import World, refused

PAGES = Limit("ocr/pages", 10**9, 0.5, burst=12)
GPU = Limit("gpu", at_once=2)


async def test_they_come_back_by_name_as_they_were_set(world: World) -> None:
    assert await world.store.limits.all() == []
    assert await world.store.limits.put(PAGES)
    assert await world.store.limits.put(GPU)
    assert await world.store.limits.all() == [GPU, PAGES]
    await world.reopen()
    assert await world.store.limits.all() == [GPU, PAGES]


async def test_a_second_rule_of_a_name_takes_the_firsts_place(world: World) -> None:
    await world.store.limits.put(GPU)
    changed = Limit("gpu", 5, 60, at_once=3)
    assert not await world.store.limits.put(changed)
    assert await world.store.limits.all() == [changed]


async def test_one_that_is_taken_away_is_gone(world: World) -> None:
    await world.store.limits.put(GPU)
    await world.store.limits.drop("gpu")
    assert await world.store.limits.all() == []
    assert "gpu" in str(await refused(world.store.limits.drop("gpu"), NotFound))


async def test_their_number_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (in_sqlite, in_postgres):
        monkeypatch.setattr(module, "MOST_LIMITS", 2)
    await world.store.limits.put(GPU)
    await world.store.limits.put(PAGES)
    await refused(world.store.limits.put(Limit("third", 1)), Conflict)
    # Those that are there can still be changed.
    assert not await world.store.limits.put(Limit("gpu", at_once=9))
