"""Limits that people set, on every store."""

import pytest

from stagepost.errors import Conflict, NotFound
from stagepost.limit import Limit
from stagepost.outcome import Waiting
from stagepost.stores.postgres import limits as in_postgres
from stagepost.stores.sqlite import limits as in_sqlite
from stagepost.task import Status
from stagepost.waiting import LimitFree, TimeComes
from support.world import World, new_id, refused

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


async def test_tasks_that_wait_for_a_limit_are_woken_and_no_others(world: World) -> None:
    limited = await world.settled(Waiting((LimitFree("gpu", 600.0),)))
    asleep = await world.settled(Waiting((TimeComes("sleep", world.clock.now() + 10**6),)))
    runs = (await world.running()).task_id
    woken = await world.store.limits.wake([asleep, limited, runs, new_id(), "no id"])
    assert list(woken) == [limited]
    assert await world.status(limited) is Status.QUEUED
    assert await world.status(asleep) is Status.WAITING
    assert (await world.last(limited))["reason"] == "woken"
    assert list(await world.store.limits.wake([limited])) == []


async def test_their_number_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (in_sqlite, in_postgres):
        monkeypatch.setattr(module, "MOST_LIMITS", 2)
    await world.store.limits.put(GPU)
    await world.store.limits.put(PAGES)
    await refused(world.store.limits.put(Limit("third", 1)), Conflict)
    # Those that are there can still be changed.
    assert not await world.store.limits.put(Limit("gpu", at_once=9))
