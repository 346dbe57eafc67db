"""Sleeping tasks that all become due within a window, beside a steady load of no-op tasks.

They are put to sleep by the engine's own verbs, each with an end of its own in the window. The
engine then serves another lane, at a rate that does not use it up, before the window and in it. How
late a task woke is what its history says: the event's instant less the end of its sleep, both by
the store's clock.
"""

import argparse
import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import uvloop
from uuid_utils import uuid7

from bench.apps import Number, app
from bench.postgres_database import fresh_database
from bench.program import Figures, latencies, print_figures, scratch_folder
from stagepost import interpreter
from stagepost.bus import Committed, Token
from stagepost.choice import LaneTurns
from stagepost.clock import SystemClock
from stagepost.outcome import Waiting
from stagepost.records import Claimed, Demand, NewTask, WorkerRecord
from stagepost.settings import Settings
from stagepost.store import Store
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.sqlite import SqliteStore
from stagepost.waiting import TimeComes
from stagepost.wiring import Engine, open_engine

_LANE = "batch"
_GROUP = 1_000
_FAR = 30 * 86_400.0  # seconds: those by which it is measured how fast tasks fall asleep
_MARGIN = 5.0  # seconds
_WINDOW = 60.0  # seconds, for 100,000 tasks
_BEFORE = 15.0  # seconds of the load before the window, at most
_RATE = 1_000.0  # no-op tasks a second
_PAUSE = 0.02  # seconds between two handfuls of them
_SLOTS = 64
_LATE = 60.0  # seconds behind the window in which the last must have woken


@dataclass
class Completions:
    """Counts no-op tasks as they are completed, on the bus."""

    done: int = 0

    def committed(self, news: Committed) -> None:
        self.done += news.counts.get(("noop", "interactive", "completed"), 0)

    def token(self, task_id: str, token: Token) -> None:
        del task_id, token

    def missed(self) -> None:
        raise AssertionError("bells were lost within one process")


async def measure(settings: Settings, sleepers: int, window: float) -> Figures:
    """How late they wake, and what the others notice."""
    ahead = min(_BEFORE, window)
    async with _store(settings) as store:
        begun = time.time()
        some = min(_GROUP, sleepers)
        await _fall_asleep(store, some, begun + _FAR, window)
        needed = (time.time() - begun) * sleepers / some
        begins = time.time() + 1.5 * needed + _MARGIN + ahead
        ends = await _fall_asleep(store, sleepers, begins, window)
    if time.time() > begins - ahead:
        raise SystemExit("the tasks fell asleep too slowly to be measured")
    async with open_engine(settings, app) as engine:
        await asyncio.sleep(begins - ahead - time.time())
        before = await _load(engine, ahead)
        during = await _load(engine, window)
        await _all_woken(engine.store, list(ends), begins + window + _LATE)
        late = await _lateness(engine.store, ends)
    figures = {
        **{f"late {name}": value for name, value in latencies(late).items()},
        "before /s": round(before, 1),
        "while they wake /s": round(during, 1),
    }
    return Figures("sleepers", figures, f"{sleepers:,} tasks in {window:.0f} s")


@asynccontextmanager
async def _store(settings: Settings) -> AsyncIterator[Store]:
    def deaf(_news: Committed) -> None:
        pass

    clock = SystemClock()
    store: Store
    if settings.store:
        store = await PostgresStore.open(settings.store, clock, deaf)
    else:
        store = SqliteStore(settings.folder, clock, deaf)
    try:
        yield store
    finally:
        await store.close()


async def _fall_asleep(store: Store, sleepers: int, begins: float, window: float) -> dict[str, int]:
    """Put so many tasks to sleep; answers their ends by their ids."""
    worker = WorkerRecord(str(uuid7()), "sleepers", (_LANE,), ("sleeper",), _GROUP, "bench")
    await store.register(worker)
    ends: dict[str, int] = {}
    for first in range(0, sleepers, _GROUP):
        numbers = range(first, min(first + _GROUP, sleepers))
        await asyncio.gather(*(store.submit(_new()) for _ in numbers))
        demand = Demand(worker.id, len(numbers), LaneTurns({_LANE: 1}), worker.types)
        claims = await _all_claimed(store, demand, len(numbers))
        wakes = [begins + window * number / sleepers for number in numbers]
        found = await asyncio.gather(*map(_sleeper(store), claims, wakes))
        ends.update(zip((claim.task_id for claim in claims), found, strict=True))
        await store.beat(worker.id, "running")
    await store.retire(worker.id)
    return ends


async def _all_claimed(store: Store, demand: Demand, wanted: int) -> list[Claimed]:
    claims: list[Claimed] = []
    while len(claims) < wanted:
        found = await store.claim(replace(demand, slots=wanted - len(claims)), wait=30.0)
        if not found:
            raise SystemExit(f"{len(claims)} tasks were claimed of {wanted}")
        claims += found
    return claims


def _sleeper(store: Store) -> Callable[[Claimed, float], Awaitable[int]]:
    async def sleep(claim: Claimed, wakes: float) -> int:
        pending = await store.waits.sleep(claim.lease, "sleep", wakes - time.time())
        assert pending.until is not None
        await store.settle(claim.lease, Waiting((TimeComes("sleep", pending.until),)))
        return pending.until

    return sleep


def _new() -> NewTask:
    task_id = str(uuid7())
    return NewTask(task_id, "local", "local", "sleeper", _LANE, "{}", max_attempts=4, ttl=86_400.0)


async def _load(engine: Engine, seconds: float) -> float:
    """Submit no-op tasks at a steady rate; answers how many a second were completed."""
    completions = Completions()
    stop = engine.bus.listen(completions)
    begun = time.perf_counter()
    sent = 0
    while (passed := time.perf_counter() - begun) < seconds:
        due = round(passed * _RATE) - sent
        await asyncio.gather(*(engine.client.submit("noop", Number(number=n)) for n in range(due)))
        sent += due
        await asyncio.sleep(_PAUSE)
    rate = completions.done / (time.perf_counter() - begun)
    stop()
    return rate


async def _all_woken(store: Store, task_ids: Sequence[str], limit: float) -> None:
    last = task_ids[-1]
    while len(await store.events(last, 3, 1)) == 0:  # the store is asked
        if time.time() > limit:
            raise SystemExit("the last of them did not wake in time")
        await asyncio.sleep(0.1)


async def _lateness(store: Store, ends: dict[str, int]) -> list[float]:
    """Milliseconds between each sleep's end and the event that says so."""
    late: list[float] = []
    ids = list(ends)
    for first in range(0, len(ids), _GROUP):
        some = ids[first : first + _GROUP]
        news = await store.news(dict.fromkeys(some, 3), 10)
        for task_id in some:
            (woken,) = news[task_id]
            if woken.data != {"reason": "woken"}:
                raise SystemExit(f"task {task_id} was not woken but {woken}")
            late.append(float(woken.at - ends[task_id]))
    return late


async def _run(folder: Path, words: argparse.Namespace) -> Figures:
    url = ""
    if words.postgres:
        url = await fresh_database(os.environ["BENCH_POSTGRES"], "bench_sleepers")
    settings = Settings(data=folder, store=url, concurrency=_SLOTS, lanes={"interactive": 1})
    window = max(2.0, _WINDOW * min(1.0, words.size / 100_000))
    return await measure(settings, words.size, window)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=100_000, help="sleeping tasks")
    parser.add_argument("--postgres", action="store_true", help="the store in BENCH_POSTGRES")
    words = parser.parse_args()
    interpreter.tune()  # as `stagepost up` does
    with scratch_folder() as folder:
        print_figures(uvloop.run(_run(folder, words)))


if __name__ == "__main__":
    main()
