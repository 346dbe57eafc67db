"""Leadership: asked for a few times a lease, never believed for longer."""

from typing import Any

import pytest

from stagepost.errors import StoreUnavailable
from stagepost.maintenance.leadership import LEASE, Leadership
from stagepost.testing import FakeClock


class Books:
    """A store in which one holder leads."""

    def __init__(self) -> None:
        self.leader: str | None = None
        self.asked = 0
        self.up = True

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        assert (name, seconds) in {("loop", LEASE), ("loop", 0.0)}
        self.asked += 1
        if not self.up:
            raise StoreUnavailable("away")
        self.leader = self.leader or holder
        leads = self.leader == holder
        if leads and not seconds:
            self.leader = None
        return leads


def two() -> tuple[Books, FakeClock, Leadership, Leadership]:
    store, clock = Books(), FakeClock()
    made: Any = store
    return store, clock, Leadership(made, clock, "loop"), Leadership(made, clock, "loop")


async def test_one_of_two_leads_and_the_store_is_asked_now_and_then() -> None:
    store, clock, one, other = two()
    for _ in range(100):
        assert await one.holds()
        assert not await other.holds()
        clock.advance(LEASE / 100)
    assert 2 * 4 <= store.asked <= 2 * 5


async def test_a_lost_lease_is_noticed_before_it_can_be_anothers_for_long() -> None:
    store, clock, one, other = two()
    assert await one.holds()
    store.leader = None
    assert await other.holds()
    clock.advance(LEASE / 4)
    assert not await one.holds()


async def test_while_the_store_is_away_nobody_leads() -> None:
    store, clock, one, _ = two()
    assert await one.holds()
    clock.advance(LEASE / 4)
    store.up = False
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await one.holds()
    store.up = True
    assert await one.holds()


async def test_who_resigns_leaves_the_lead_to_the_next_that_asks() -> None:
    store, clock, one, other = two()
    assert await one.holds()
    assert not await other.holds()
    await other.resign()
    assert store.leader is not None, "who does not lead has nothing to give up"
    await one.resign()
    clock.advance(LEASE / 4)
    assert await other.holds()
    assert not await one.holds()


async def test_a_store_that_is_away_holds_no_resigning_up() -> None:
    store, _, one, _ = two()
    assert await one.holds()
    store.up = False
    await one.resign()
    store.up = True
    assert await one.holds()
