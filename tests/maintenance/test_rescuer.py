"""The rescuer: acts only on a store that it has itself seen up for one whole lease."""

from typing import Any

import pytest

from stagepost.errors import StoreUnavailable
from stagepost.maintenance.rescuer import Rescuer
from stagepost.records import Rescue
from stagepost.testing import FakeClock

LEASE = 15.0


class Books:
    """The part of a store that a rescuer uses."""

    def __init__(self) -> None:
        self.up = True
        self.leads = True
        self.rescues: list[float] = []

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        return self.leads

    async def ping(self) -> None:
        if not self.up:
            raise StoreUnavailable("away")

    async def rescue(self, *, older_than: float) -> Rescue:
        self.rescues.append(older_than)
        return Rescue(("worker-1",), ("task-1",))


class Scene:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = Books()
        store: Any = self.store
        self.rescuer = Rescuer(store, self.clock, LEASE)

    async def look(self, *, times: int, every: float = LEASE / 5) -> int:
        """How many of the looks have rescued."""
        before = len(self.store.rescues)
        for _ in range(times):
            self.clock.advance(every)
            await self.rescuer.look()
        return len(self.store.rescues) - before


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_it_rescues_nobody_before_one_whole_lease(scene: Scene) -> None:
    assert await scene.look(times=5) == 0
    assert await scene.look(times=3) == 3
    assert scene.store.rescues == [LEASE] * 3


async def test_an_outage_of_the_store_rescues_nobody(scene: Scene) -> None:
    await scene.look(times=10)
    scene.store.up = False
    assert await scene.look(times=20) == 0
    scene.store.up = True
    assert await scene.look(times=5) == 0
    assert await scene.look(times=1) == 1


async def test_a_gap_in_its_own_looks_makes_it_count_anew(scene: Scene) -> None:
    await scene.look(times=10)
    scene.clock.advance(3600)
    assert await scene.look(times=5) == 0
    assert await scene.look(times=1) == 1


async def test_a_small_delay_does_not(scene: Scene) -> None:
    await scene.look(times=10)
    assert await scene.look(times=3, every=LEASE / 2.5) == 3


async def test_a_rescue_that_fails_makes_it_count_anew(scene: Scene) -> None:
    await scene.look(times=10)

    async def away(*, older_than: float) -> Rescue:
        raise StoreUnavailable("away")

    scene.store.rescue = away  # type: ignore[method-assign]
    scene.clock.advance(LEASE / 5)
    assert await scene.rescuer.look() == Rescue()
    del scene.store.rescue
    assert await scene.look(times=5) == 0
    assert await scene.look(times=1) == 1


async def test_only_the_leader_rescues_and_whoever_takes_over_has_counted(scene: Scene) -> None:
    scene.store.leads = False
    assert await scene.look(times=20) == 0
    scene.store.leads = True
    assert await scene.look(times=1) == 1
