"""Housekeeping on a real store: what goes, when, and by whom."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stagepost.blobs import Blobs
from stagepost.blobstores.folder import FolderBlobs
from stagepost.errors import Gone, StoreUnavailable
from stagepost.maintenance import lost_calls
from stagepost.maintenance.housekeeping import Housekeeping
from stagepost.maintenance.lost_calls import LostCalls
from stagepost.maintenance.pruner import Pruned, Pruner
from stagepost.maintenance.sweeper import Sweeper
from stagepost.records import Idempotency
from stagepost.settings import Keep
from stagepost.testing import FakeClock
from support.calls import sent
from support.tasks import succeeded
from support.world import DAY, World, a_world, new_id, open_sqlite, refused


class QuickClock(FakeClock):
    """Nobody has to wait on it: whoever sleeps moves it."""

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)


async def yes() -> bool:
    return True


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return FolderBlobs(tmp_path / "blobs")


async def put(blobs: Blobs, key: str) -> str:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"bytes"

    await blobs.put(key, chunks(), limit=10)
    return key


def there(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "blobs").glob("??/*")}


async def staged(world: World, blobs: Blobs) -> str:
    key = new_id()
    await world.store.stage(key)
    return await put(blobs, key)


class TestPruner:
    async def test_a_round_takes_all_that_has_had_its_time(self, world: World) -> None:
        old = [await world.settled(succeeded()) for _ in range(3)]
        await world.submit(lane="batch", ttl=90 * DAY, idempotency=Idempotency("s", "k", "f"))
        pruner = Pruner(world.store, QuickClock(), Keep(tasks_days=2, events_days=1))
        assert await pruner.round(yes) == Pruned(0, 0, 0, 0)
        world.clock.advance(DAY)
        assert await pruner.round(yes) == Pruned(0, 6, 0, 0)
        world.clock.advance(DAY)
        assert await pruner.round(yes) == Pruned(3, 0, 0, 1)
        await refused(world.view(old[0]), Gone)
        world.clock.advance(365 * DAY)
        assert await pruner.round(yes) == Pruned(0, 0, 3, 0)

    async def test_more_than_a_page_is_one_round(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stagepost.maintenance.pruner._PAGE", 2)
        monkeypatch.setattr("stagepost.maintenance.pruner._ROWS", 2)
        for number in range(5):
            claimed = await world.running(idempotency=Idempotency("s", f"{number}", "f"))
            await world.store.settle(claimed.lease, succeeded())
        world.clock.advance(31 * DAY)
        pruner = Pruner(world.store, QuickClock(), Keep())
        assert await pruner.round(yes) == Pruned(5, 0, 0, 5)

    async def test_it_stops_when_another_leads(self, world: World) -> None:
        await world.settled(succeeded())
        world.clock.advance(31 * DAY)

        async def no() -> bool:
            return False

        assert await Pruner(world.store, QuickClock(), Keep()).round(no) == Pruned(0, 0, 0, 0)


class TestSweeper:
    async def calm(self, world: World, blobs: Blobs) -> tuple[Sweeper, QuickClock]:
        """A sweeper that has seen the store's clock go evenly for long enough."""
        clock = QuickClock()
        sweeper = Sweeper(world.store, blobs, clock)
        assert await sweeper.round(yes) == 0
        self.together(world, clock, 601)
        return sweeper, clock

    def together(self, world: World, clock: QuickClock, seconds: float) -> None:
        """Both clocks go on."""
        world.clock.advance(seconds)
        clock.advance(seconds)

    async def test_a_blob_goes_when_nothing_has_referred_to_it_for_a_day(
        self, world: World, blobs: Blobs, tmp_path: Path
    ) -> None:
        sweeper, clock = await self.calm(world, blobs)
        key = await staged(world, blobs)
        for _ in range(24 * 60 - 1):
            self.together(world, clock, 60)
        assert await sweeper.round(yes) == 0
        self.together(world, clock, 60)
        assert await sweeper.round(yes) == 1
        assert there(tmp_path) == set()
        assert await world.store.retention.strange_blobs([key]) == [key]

    async def test_after_a_jump_of_the_stores_clock_it_waits(
        self, world: World, blobs: Blobs
    ) -> None:
        sweeper, clock = await self.calm(world, blobs)
        await staged(world, blobs)
        world.clock.advance(2 * DAY)
        assert await sweeper.round(yes) == 0
        self.together(world, clock, 599)
        assert await sweeper.round(yes) == 0
        self.together(world, clock, 1)
        assert await sweeper.round(yes) == 1

    async def test_files_that_no_row_knows_go_after_a_day(
        self, world: World, blobs: Blobs, tmp_path: Path
    ) -> None:
        known, young = await staged(world, blobs), await put(blobs, new_id())
        old, half = await put(blobs, new_id()), new_id()
        (tmp_path / "blobs" / half[-2:]).mkdir(exist_ok=True)
        partial = tmp_path / "blobs" / half[-2:] / f"{half}.partial"
        partial.write_bytes(b"half")
        for path in (tmp_path / "blobs").glob("??/*"):
            if path.name != young:
                os.utime(path, (1, 1))
        sweeper, _ = await self.calm(world, blobs)
        assert await sweeper.round(yes) == 2
        assert there(tmp_path) == {known, young}
        assert old not in there(tmp_path)

    async def test_files_of_another_store_are_left(
        self, world: World, blobs: Blobs, tmp_path: Path
    ) -> None:
        assert await blobs.belong_to("another")
        old = await put(blobs, new_id())
        os.utime(tmp_path / "blobs" / old[-2:] / old, (1, 1))
        sweeper, _ = await self.calm(world, blobs)
        assert await sweeper.round(yes) == 0
        assert there(tmp_path) == {old}


class Round:
    """Counts its calls; may find the store away."""

    def __init__(self) -> None:
        self.calls = 0
        self.up = True

    async def round(self, leads: Any) -> None:
        assert await leads()
        self.calls += 1
        if not self.up:
            raise StoreUnavailable("away")


class Leads:
    """The part of a store that says who leads."""

    def __init__(self) -> None:
        self.leads = True

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        assert name == "housekeeping"
        return self.leads


async def test_each_has_its_time_and_an_outage_ends_neither() -> None:
    pruner, sweeper, lost, clock, store = Round(), Round(), Round(), FakeClock(), Leads()
    parts: Any = (store, clock, pruner, sweeper, lost)
    housekeeping = Housekeeping(*parts)
    await housekeeping.look()
    await housekeeping.look()
    assert (pruner.calls, sweeper.calls, lost.calls) == (1, 1, 1)
    clock.advance(60)
    sweeper.up = False
    await housekeeping.look()
    sweeper.up = True
    clock.advance(540)
    await housekeeping.look()
    assert (pruner.calls, sweeper.calls, lost.calls) == (2, 3, 3)
    store.leads = False
    clock.advance(600)
    await housekeeping.look()
    assert (pruner.calls, sweeper.calls, lost.calls) == (2, 3, 3)


async def test_calls_of_dead_claims_are_counted_all_of_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost_calls, "_PAGE", 2)
    claimed = await world.running()
    for _ in range(5):
        await sent(world, claimed)
    counting = LostCalls(world.store)
    assert await counting.round(yes) == 0
    await world.lose()
    assert await counting.round(no) == 0
    assert await counting.round(yes) == 5
    assert await counting.round(yes) == 0
    assert await world.store.calls.unknown_by_type() == {"review": 5}


async def no() -> bool:
    return False
