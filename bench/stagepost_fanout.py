"""One parent that starts no-op children and waits for all of them, embedded or on PostgreSQL."""

import argparse
import asyncio
import os
import time
from pathlib import Path

import uvloop

from bench.apps import app
from bench.postgres_database import fresh_database
from bench.program import Measured, print_measured, scratch_folder
from bench.stagepost_throughput import SLOTS, SLOTS_POSTGRES
from stagepost import interpreter
from stagepost.settings import Settings
from stagepost.wiring import open_engine

_TIMEOUT = 240.0


async def measure(settings: Settings, name: str, tasks: int) -> Measured:
    """From the parent's submit to its completion, which comes after that of its last child."""
    async with open_engine(settings, app) as engine:
        await asyncio.sleep(0.2)
        started = time.perf_counter()
        submitted = await engine.client.submit("fan", {"number": tasks})
        view = await engine.client.wait(submitted.task_id, timeout=_TIMEOUT)
        seconds = time.perf_counter() - started
        done = await engine.client.result(view)
    if done != tasks:
        raise RuntimeError(f"{done} of {tasks} children have completed: {view.task.status}")
    notes = f"{settings.concurrency} slots, one parent"
    return Measured(name, tasks, seconds, durable=True, notes=notes)


async def run(folder: Path, tasks: int, *, postgres: bool) -> Measured:
    """With the store in the folder, or in a fresh database."""
    if not postgres:
        return await measure(Settings(data=folder, concurrency=SLOTS), "stagepost-fanout", tasks)
    url = await fresh_database(os.environ["BENCH_POSTGRES"], "bench_fanout")
    settings = Settings(data=folder, store=url, concurrency=SLOTS_POSTGRES)
    return await measure(settings, "stagepost-fanout-postgres", tasks)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=10_000, help="children")
    parser.add_argument("--postgres", action="store_true", help="the store in BENCH_POSTGRES")
    words = parser.parse_args()
    interpreter.tune()  # as `stagepost up` does
    with scratch_folder() as folder:
        print_measured(uvloop.run(run(folder, words.size, postgres=words.postgres)))


if __name__ == "__main__":
    main()
