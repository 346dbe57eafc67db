"""A limiter under load: how much of a limit is used by those who want all of it, and what it costs.

Memory: four event loops in threads of one process. PostgreSQL: four processes. Each has sixteen
askers for one unit after the other, who come back when they are told. A grant happens between the
question and its answer; as above the limit counts what surely lies in one window.
"""

import argparse
import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence

import uvloop
from uuid_utils import uuid7

from bench.postgres_database import fresh_database
from bench.program import Figures, latencies, print_figures
from stagepost.clock import SystemClock
from stagepost.limit import Limit
from stagepost.limiter import Charge, Limiter, Reservation
from stagepost.limiters.memory import MemoryLimiter
from stagepost.limiters.postgres import PostgresLimiter

_LIMIT = Limit("limited", 500, 1.0)
_FREE = Limit("free", 10**9, 3600.0)
_PARTIES = 4
_ASKERS = 16  # of each
_MANY = 64
_BEGIN = 4.0  # seconds until all have started

Grants = list[tuple[float, float]]


async def _wanting(limiter: Limiter, begin: float, seconds: float) -> Grants:
    """Whoever asks for all that there is; the (asked, answered) of each grant."""
    await asyncio.sleep(max(0.0, begin - time.monotonic()))
    wanting = (_want(limiter, begin + seconds) for _ in range(_ASKERS))
    return [grant for grants in await asyncio.gather(*wanting) for grant in grants]


async def _want(limiter: Limiter, until: float) -> Grants:
    grants: Grants = []
    wanted = _one(_LIMIT)
    while (asked := time.monotonic()) < until:
        verdict = await limiter.reserve(wanted)
        answered = time.monotonic()
        if verdict.granted:
            grants.append((asked, answered))
            wanted = _one(_LIMIT)
        else:
            await asyncio.sleep(min(verdict.wait, until - answered + 0.001))
    return grants


async def _cost(limiter: Limiter, seconds: float) -> dict[str, float]:
    """Reservations a second by many askers at once, and how long one alone takes."""
    alone = [await _timed(limiter) for _ in range(200)]
    until = time.monotonic() + seconds

    async def ask() -> int:
        number = 0
        while time.monotonic() < until:
            await limiter.reserve(_one(_FREE))
            number += 1
        return number

    total = sum(await asyncio.gather(*(ask() for _ in range(_MANY))))
    return {"reserve /s": round(total / seconds, 1), **latencies(alone)}


async def _timed(limiter: Limiter) -> float:
    began = time.perf_counter()
    await limiter.reserve(_one(_FREE))
    return (time.perf_counter() - began) * 1e3


def _one(limit: Limit) -> Reservation:
    return Reservation(str(uuid7()), [Charge(limit, 1)])


def _used(grants: Sequence[tuple[float, float]], begin: float, seconds: float) -> dict[str, float]:
    """The share of the limit that was used from the second window on, and how often too much."""
    assert _LIMIT.units is not None
    first = begin + _LIMIT.window
    later = [at for at, _ in grants if at >= first]
    return {
        "share": round(len(later) / (_LIMIT.units * (seconds / _LIMIT.window - 1)), 4),
        "above": float(_above(sorted(grants))),
    }


def _above(grants: Grants) -> int:
    assert _LIMIT.units is not None
    above = 0
    for place, (asked, _) in enumerate(grants):
        # The one that would be too much, if it surely lies in the window of this one.
        later = grants[place + _LIMIT.units : place + _LIMIT.units + 2 * _PARTIES * _ASKERS]
        above += any(answered < asked + _LIMIT.window for _, answered in later)
    return above


async def _memory(seconds: float) -> Figures:
    limiter = MemoryLimiter(SystemClock())
    begin, found = time.monotonic() + _BEGIN, list[tuple[float, float]]()

    def run() -> None:
        found.extend(uvloop.run(_wanting(limiter, begin, seconds)))

    await _in_threads(run)
    return Figures("memory", {**_used(found, begin, seconds), **await _cost(limiter, seconds / 4)})


async def _in_threads(run: Callable[[], None]) -> None:
    threads = [threading.Thread(target=run) for _ in range(_PARTIES)]
    for thread in threads:
        thread.start()
    joins: list[Awaitable[None]] = [asyncio.to_thread(thread.join) for thread in threads]
    await asyncio.gather(*joins)


async def _postgres(seconds: float) -> Figures:
    url = await fresh_database(os.environ["BENCH_POSTGRES"], "bench_limits")
    begin = time.monotonic() + _BEGIN
    words = ("-m", "bench.limits_load", "--worker", url, str(begin), "--size", str(seconds))
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
        for _ in range(_PARTIES)
    ]
    told = await asyncio.gather(*(process.communicate() for process in processes))
    grants = [(asked, answered) for out, _ in told for asked, answered in json.loads(out)]
    limiter = await PostgresLimiter.open(url, SystemClock())
    cost = await _cost(limiter, seconds / 4)
    await limiter.close()
    return Figures("postgres", {**_used(grants, begin, seconds), **cost})


async def _worker(url: str, begin: float, seconds: float) -> None:
    limiter = await PostgresLimiter.open(url, SystemClock())
    grants = await _wanting(limiter, begin, seconds)
    await limiter.close()
    print(json.dumps(grants), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=float, default=20)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--worker", nargs=2)
    words = parser.parse_args()
    if words.worker:
        uvloop.run(_worker(words.worker[0], float(words.worker[1]), words.size))
        return
    print_figures(uvloop.run((_postgres if words.postgres else _memory)(words.size)))


if __name__ == "__main__":
    main()
