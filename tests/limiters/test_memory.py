"""What is the limiter's alone that keeps its books in memory: it forgets what is over."""

from stagepost.limit import Calendar, Limit, Pace
from stagepost.limiter import Charge, Notice, Reservation
from stagepost.limiters.memory import MemoryLimiter
from stagepost.testing import FakeClock


async def spend(limiter: MemoryLimiter, limit: Limit, key: str) -> None:
    wanted = Reservation(key, [Charge(limit, 5)])
    assert (await limiter.reserve(wanted)).granted
    await limiter.settle(wanted)


def day(n: int) -> Limit:
    return Limit(f"budget:user/acme/{n}:day", 10, calendar=Calendar.DAY)


async def test_budgets_of_days_that_are_over_are_forgotten() -> None:
    clock = FakeClock()
    limiter = MemoryLimiter(clock)
    for n in range(3_000):
        await spend(limiter, day(n), f"a{n}")
    assert len(limiter._accounts) == 3_000
    assert (await limiter.state([day(0)]))[0].used == 5
    clock.advance(86_400)
    for n in range(3_000, 4_100):
        await spend(limiter, day(n), f"a{n}")
    assert len(limiter._accounts) <= 1_100


async def test_what_is_still_of_use_is_kept() -> None:
    clock = FakeClock()
    limiter = MemoryLimiter(clock)
    ever = Limit("budget:task/7", 10, calendar=Calendar.EVER)
    told = Limit("model:a/b:tokens", 1_000, pace=Pace())
    await spend(limiter, ever, "ever")
    await spend(limiter, told, "told")
    await limiter.heed([Notice(told, most=100)])
    clock.advance(3_600)
    for n in range(2_500):
        await spend(limiter, day(n), f"a{n}")
    states = await limiter.state([ever, told])
    assert (states[0].used, states[1].most) == (5, 100)
