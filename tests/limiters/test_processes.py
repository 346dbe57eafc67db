"""Four processes on one limit, by the machine's own clock."""

import asyncio
import json
import sys
from pathlib import Path

from stagepost.clock import SystemClock
from stagepost.limit import Limit
from stagepost.limiter import Charge, Reservation
from stagepost.limiters.postgres import PostgresLimiter
from support.postgres import Server
from support.world import new_id

HAMMER = Path(__file__).with_name("hammer.py")
Grants = list[tuple[float, float]]


async def hammered(server: Server, rule: str, seconds: float) -> list[Grants]:
    url = server.url_of(f"hammered_{new_id()[-12:]}")
    pipe = asyncio.subprocess.PIPE
    words = (sys.executable, str(HAMMER), url, rule, str(seconds))
    processes = [
        await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe) for _ in range(4)
    ]
    async with asyncio.timeout(100):
        for process in processes:
            assert process.stdout is not None
            assert await process.stdout.readline() == b"ready\n"
        told = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    return [json.loads(out) for out, _ in told]


async def test_together_they_never_pass_the_rate(postgres_server: Server) -> None:
    per_process = await hammered(postgres_server, "100/500ms", 3.0)
    grants = sorted(grant for grants in per_process for grant in grants)
    assert len(grants) > 100, "they never got into a second window"
    assert all(per_process), "one of them got nothing"
    for first, (asked, _) in enumerate(grants):
        # All that were surely granted within half a second from then on.
        within = [answered for _, answered in grants[first:] if answered < asked + 0.5]
        assert len(within) <= 100


async def test_together_they_never_hold_more_than_the_number(postgres_server: Server) -> None:
    per_process = await hammered(postgres_server, "3", 2.0)
    ends = [(at, 1) for grants in per_process for at, _ in grants]
    ends += [(at, -1) for grants in per_process for _, at in grants]
    held = most = 0
    for _, change in sorted(ends, key=lambda end: (end[0], end[1])):
        held += change
        most = max(most, held)
    assert most == 3
    assert all(grants for grants in per_process), "one of them got nothing"


HOLDER = """
import asyncio, sys
from stagepost.clock import SystemClock
from stagepost.limit import Limit
from stagepost.limiter import Charge, Reservation
from stagepost.limiters.postgres import PostgresLimiter

async def main():
    limiter = await PostgresLimiter.open(sys.argv[1], SystemClock(), lease=1.0)
    wanted = Reservation("held", [Charge(Limit("gpu", at_once=1), 1)])
    print((await limiter.reserve(wanted)).granted, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_what_a_killed_process_held_is_free_after_its_lease(postgres_server: Server) -> None:
    url = postgres_server.url_of(f"killed_{new_id()[-12:]}")
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, url, stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    limiter = await PostgresLimiter.open(url, SystemClock(), lease=1.0)
    wanted = Reservation("next", [Charge(Limit("gpu", at_once=1), 1)])
    try:
        assert await asyncio.wait_for(holder.stdout.readline(), 30) == b"True\n"
        # While it lives it keeps what it holds, for longer than a lease.
        assert not (await limiter.reserve(wanted, patience=2.5)).granted
        holder.kill()
        await holder.wait()
        async with asyncio.timeout(30):
            while not (await limiter.reserve(wanted, patience=5)).granted:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    finally:
        if holder.returncode is None:
            holder.kill()
            await holder.wait()
        await limiter.close()
