"""The scheduler: does what is due, in batches, and outlives a store that is away."""

import asyncio
from typing import Any

from engine_kit.contexts import settle_down
from stagepost.errors import StoreUnavailable
from stagepost.maintenance.scheduler import Scheduler
from stagepost.testing import FakeClock


class Books:
    """The part of a store that a scheduler uses."""

    def __init__(self) -> None:
        self.due = 0
        self.late = 0
        self.up = True
        self.asked = 0
        self.leads = True

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        return self.leads

    async def release_due(self, limit: int) -> int:
        self.asked += 1
        if not self.up:
            raise StoreUnavailable("away")
        done = min(limit, self.due)
        self.due -= done
        return done

    async def expire_queued(self, limit: int) -> int:
        done = min(limit, self.late)
        self.late -= done
        return done


async def test_it_works_off_all_that_is_due_and_then_rests() -> None:
    store, clock = Books(), FakeClock()
    made: Any = store
    scheduler = Scheduler(made, clock)
    store.due, store.late = 1_700, 900
    running = asyncio.create_task(scheduler.run())
    await settle_down()
    assert (store.due, store.late, store.asked) == (0, 0, 4)
    assert clock.sleepers == 1
    store.due = 1
    clock.advance(0.2)
    await settle_down()
    assert (store.due, store.asked) == (0, 5)
    store.up, store.due = False, 1
    clock.advance(0.2)
    await settle_down()
    store.up = True
    clock.advance(2.0)
    await settle_down()
    assert store.due == 0
    running.cancel()


async def test_only_the_leader_does_what_is_due() -> None:
    store, clock = Books(), FakeClock()
    made: Any = store
    scheduler = Scheduler(made, clock)
    store.due, store.leads = 3, False
    assert not await scheduler.look()
    assert (store.due, store.asked) == (3, 0)
    store.leads = True
    clock.advance(10)
    await scheduler.look()
    assert store.due == 0
