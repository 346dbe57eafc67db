"""Fill a store with finished tasks, by the engine's own verbs in large groups.

Each is submitted, claimed and settled as a no-op task is, so its rows and events are what a worker
would have left behind.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop
from uuid_utils import uuid7

from bench.completed import check_completed
from bench.program import Figures, print_figures
from stagepost.choice import LaneTurns
from stagepost.clock import SystemClock
from stagepost.outcome import Succeeded
from stagepost.records import Claimed, Demand, NewTask, WorkerRecord
from stagepost.stores.sqlite import SqliteStore
from stagepost.stores.sqlite.folder import DATABASE
from stagepost.task import Payload

GROUP = 2_000
_LANE = "interactive"


async def fill(folder: Path, tasks: int) -> Figures:
    """So many completed tasks in a new store."""
    started = time.monotonic()
    store = SqliteStore(folder, SystemClock(), lambda _: None)
    worker = WorkerRecord(str(uuid7()), "grown", (_LANE,), ("noop",), GROUP, "bench")
    await store.register(worker)
    for first in range(0, tasks, GROUP):
        await _finish(store, worker, range(first, min(first + GROUP, tasks)))
    await store.retire(worker.id)
    await store.close()
    check_completed(folder / DATABASE, "", tasks)
    # What is still to be written must not slow down what is measured next.
    os.sync()
    size = (folder / DATABASE).stat().st_size / 1024**2
    figures = {"MiB": round(size, 1), "seconds": round(time.monotonic() - started, 1)}
    return Figures("grown store", figures, f"{tasks:,} finished tasks")


async def _finish(store: SqliteStore, worker: WorkerRecord, numbers: range) -> None:
    await asyncio.gather(*(store.submit(_new(number)) for number in numbers))
    demand = Demand(worker.id, len(numbers), LaneTurns({_LANE: 1}), worker.types)
    claimed: Sequence[Claimed] = await store.claim(demand, wait=30.0)
    if len(claimed) != len(numbers):
        raise SystemExit(f"{len(claimed)} tasks were claimed of {len(numbers)}")
    done = Succeeded(Payload("null", 4))
    await asyncio.gather(*(store.settle(claim.lease, done) for claim in claimed))


def _new(number: int) -> NewTask:
    task_id = str(uuid7())
    return NewTask(
        task_id,
        "local",
        "local",
        "noop",
        _LANE,
        f'{{"number":{number}}}',
        max_attempts=4,
        ttl=86_400.0,
        trace_id=task_id.replace("-", ""),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True, help="a folder that is made")
    parser.add_argument("--size", type=int, default=1_000_000, help="tasks")
    words = parser.parse_args()
    print_figures(uvloop.run(fill(words.data, words.size)))


if __name__ == "__main__":
    main()
