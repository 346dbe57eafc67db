"""The engine: no-op tasks submitted one by one, in one process, embedded or on PostgreSQL."""

import argparse
import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop
from uuid_utils import uuid7

from bench import postgres_database
from bench.apps import Number, app
from bench.completed import check_completed
from bench.postgres_database import fresh_database, hot_updates
from bench.program import Measured, print_measured, scratch_folder
from stagepost import interpreter
from stagepost.bus import Bus, Committed, Token
from stagepost.settings import Settings
from stagepost.stores.sqlite.folder import DATABASE
from stagepost.wiring import Engine, open_engine

IN_FLIGHT = 1_000
SLOTS = 512
SLOTS_POSTGRES = 2_048  # four claims: three run or end, and one is on its way
_TIMEOUT = 240.0


class Completions:
    """Counts, on the bus, the completions that commits have made durable; slows nothing down."""

    def __init__(self, tasks: int) -> None:
        self.commits = 0
        self.last = asyncio.get_running_loop().create_future()
        """Done when so many tasks are completed, with the time of it."""
        self._left = tasks

    def committed(self, news: Committed) -> None:
        self.commits += 1
        self._left -= news.counts.get(("noop", "interactive", "completed"), 0)
        if self._left == 0 and not self.last.done():
            self.last.set_result(time.monotonic())

    def token(self, task_id: str, token: Token) -> None:
        del task_id, token

    def missed(self) -> None:
        raise AssertionError("bells were lost within one process")


async def measure(folder: Path, tasks: int) -> Measured:
    """From the first submit to the last durable completion."""
    first = str(uuid7())
    settings = Settings(data=folder, concurrency=SLOTS)
    seconds, commits = await _run(settings, tasks)
    check_completed(folder / DATABASE, first, tasks)
    return _measured("stagepost", tasks, seconds, f"{SLOTS} slots, {commits} commits")


async def measure_on_postgres(folder: Path, tasks: int) -> Measured:
    """The same with its store in PostgreSQL; the folder is that of the blobs."""
    url = await fresh_database(os.environ["BENCH_POSTGRES"], "bench_stagepost")
    settings = Settings(data=folder, store=url, concurrency=SLOTS_POSTGRES)
    seconds, commits = await _run(settings, tasks)
    await postgres_database.check_completed(url, tasks)
    notes = f"{SLOTS_POSTGRES} slots, {commits} commits, {await hot_updates(url)}"
    return _measured("stagepost-postgres, one process", tasks, seconds, notes)


def _measured(name: str, tasks: int, seconds: float, notes: str) -> Measured:
    return Measured(name, tasks, seconds, durable=True, notes=notes)


async def _run(settings: Settings, tasks: int) -> tuple[float, int]:
    async with open_engine(settings, app) as engine, counting(engine.bus, tasks) as completions:
        await asyncio.sleep(0.2)
        started = time.monotonic()
        await submit_all(engine, tasks)
        seconds = await asyncio.wait_for(completions.last, _TIMEOUT) - started
    return seconds, completions.commits


@asynccontextmanager
async def counting(bus: Bus, tasks: int) -> AsyncIterator[Completions]:
    """Count the completions that this process makes."""
    completions = Completions(tasks)
    stop = bus.listen(completions)
    try:
        yield completions
    finally:
        stop()


async def submit_all(engine: Engine, tasks: int) -> None:
    """Submit so many, each awaited by itself, a thousand on their way at once."""
    async with asyncio.TaskGroup() as group:
        for number in range(IN_FLIGHT):
            group.create_task(_submitter(engine, range(number, tasks, IN_FLIGHT)))


async def _submitter(engine: Engine, numbers: range) -> None:
    for number in numbers:
        await engine.client.submit("noop", Number(number=number))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=20_000, help="tasks")
    parser.add_argument(
        "--data", type=Path, help="an existing data folder; a fresh one if left out"
    )
    parser.add_argument("--postgres", action="store_true", help="the store in BENCH_POSTGRES")
    words = parser.parse_args()
    interpreter.tune()  # as `stagepost up` does
    run = measure_on_postgres if words.postgres else measure
    with scratch_folder() as folder:
        print_measured(uvloop.run(run(words.data or folder, words.size)))


if __name__ == "__main__":
    main()
