"""The fake clock of the test kit."""

import asyncio
import threading

import pytest

from stagepost.clock import Clock, SystemClock
from stagepost.testing import FakeClock
from support.waiting import until


async def test_time_stands_still_until_it_is_advanced() -> None:
    clock = FakeClock(now=5_000)
    assert (clock.now(), clock.monotonic()) == (5_000, 0.0)
    clock.advance(1.5)
    assert (clock.now(), clock.monotonic()) == (6_500, 1.5)


async def test_sleepers_wake_in_order_of_their_time() -> None:
    clock, woken = FakeClock(), []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    async with asyncio.TaskGroup() as group:
        for seconds in (3.0, 1.0, 2.0):
            group.create_task(sleep(seconds))
        await until(lambda: clock.sleepers == 3)
        clock.advance(2.5)
        await asyncio.sleep(0.01)
        assert woken == [1.0, 2.0]
        clock.advance(0.5)
    assert woken == [1.0, 2.0, 3.0]
    assert clock.sleepers == 0


async def test_a_sleep_of_nothing_yields_once() -> None:
    await FakeClock().sleep(0)


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = FakeClock()
    sleeper = asyncio.create_task(clock.sleep(1))
    await until(lambda: clock.sleepers == 1)
    sleeper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeper
    clock.advance(2)
    await asyncio.sleep(0)
    assert clock.sleepers == 0


async def test_a_sleeper_in_another_loop_is_woken() -> None:
    clock = FakeClock()
    thread = threading.Thread(target=lambda: asyncio.run(clock.sleep(1)))
    thread.start()
    await until(lambda: clock.sleepers == 1)
    clock.advance(1)
    await asyncio.to_thread(thread.join, 5)
    assert not thread.is_alive()


def test_only_the_wall_time_can_go_back() -> None:
    clock = FakeClock(now=5_000)
    clock.advance(1)
    clock.set_back(2)
    assert (clock.now(), clock.monotonic()) == (4_000, 1.0)
    with pytest.raises(ValueError, match="forward"):
        clock.advance(-1)


async def test_the_machines_clock_moves_by_itself() -> None:
    clock: Clock = SystemClock()
    before = clock.now(), clock.monotonic()
    await clock.sleep(0.002)
    assert clock.now() > before[0]
    assert clock.monotonic() > before[1]
