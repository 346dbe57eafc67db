"""A process that takes all it can get of a limit for a while, and tells when it got it."""

import asyncio
import json
import random
import sys
import time

from uuid_utils import uuid7

from stagepost.clock import SystemClock
from stagepost.limit import Limit
from stagepost.limiter import Charge, Reservation
from stagepost.limiters.postgres import PostgresLimiter

LANES = 4


async def take(limiter: PostgresLimiter, limit: Limit, until: float) -> list[tuple[float, float]]:
    """The (asked, answered) of each grant, in seconds of the machine's one monotonic clock."""
    grants: list[tuple[float, float]] = []
    wanted = Reservation(str(uuid7()), [Charge(limit, 1)])
    while (asked := time.monotonic()) < until:
        verdict = await limiter.reserve(wanted)
        answered = time.monotonic()
        if not verdict.granted:
            await asyncio.sleep(min(verdict.wait, until - answered + 0.001))
            continue
        grants.append((asked, answered))
        if limit.at_once is not None:
            await asyncio.sleep(random.uniform(0, 0.01))
            # Told before it is true, so that what counts here is surely held.
            grants[-1] = (answered, time.monotonic())
            await limiter.settle(wanted)
        wanted = Reservation(str(uuid7()), [Charge(limit, 1)])
    return grants


async def main(url: str, rule: str, seconds: float) -> None:
    limiter = await PostgresLimiter.open(url, SystemClock())
    limit = Limit.parse("hammered", rule)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)  # until all are
    begin = time.monotonic()
    found = await asyncio.gather(*(take(limiter, limit, begin + seconds) for _ in range(LANES)))
    await limiter.close()
    told = sorted(grant for grants in found for grant in grants)
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
