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

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.up = True
        self.leads = True
        self.ahead = 0
        """Milliseconds by which its clock is before everybody's."""
        self.told = 0
        self.rescues: list[float] = []

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        return self.leads

    async def ping(self) -> int:
        if not self.up:
            raise StoreUnavailable("away")
        self.told = self._clock.now() + self.ahead
        return self.told

    async def rescue(self, *, older_than: float, as_of: int) -> Rescue:
        assert as_of == self.told
        self.rescues.append(older_than)
        return Rescue(("worker-1",), ("task-1",))


class Scene:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = Books(self.clock)
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

    async def away(*, older_than: float, as_of: int) -> Rescue:
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


@pytest.mark.parametrize("seconds", [3_600, 2, -2, -3_600])
async def test_a_jump_of_the_stores_clock_rescues_nobody(scene: Scene, seconds: int) -> None:
    await scene.look(times=10)
    scene.store.ahead += seconds * 1_000
    assert await scene.look(times=5) == 0
    assert await scene.look(times=1) == 1


async def test_while_the_stores_clock_stands_still_nobody_is_rescued(scene: Scene) -> None:
    await scene.look(times=10)
    scene.store.ahead += 60_000
    for _ in range(20):
        scene.store.ahead -= 3_000
        assert await scene.look(times=1, every=3.0) == 0
    assert await scene.look(times=4, every=3.0) == 0
    assert await scene.look(times=1, every=3.0) == 1


async def test_a_clock_that_is_corrected_a_little_does_not_hold_it_up(scene: Scene) -> None:
    await scene.look(times=10)
    for _ in range(10):
        scene.store.ahead += 1_000
        assert await scene.look(times=1) == 1


async def test_a_slow_answer_is_no_jump(scene: Scene) -> None:
    ping = scene.store.ping

    async def slow() -> int:
        scene.clock.advance(2.0)
        now = await ping()
        scene.clock.advance(2.0)
        return now

    await scene.look(times=10)
    for answer in (slow, ping, slow, ping):
        scene.store.ping = answer  # type: ignore[method-assign]
        assert await scene.look(times=1, every=1.0) == 1
