"""The engine on PostgreSQL: one process submits no-op tasks one by one, one worker runs them."""

import asyncio
import os
import time
from pathlib import Path

import uvloop

from bench import postgres_database
from bench.apps import app
from bench.peers.worker import WorkerProcess, run_as, say
from bench.postgres_database import fresh_database, hot_updates
from bench.program import Measured, print_measured, scratch_folder
from bench.stagepost_throughput import counting, submit_all
from stagepost import interpreter
from stagepost.part import Part
from stagepost.settings import Settings
from stagepost.wiring import open_engine

SLOTS = 8_192  # more cost nothing, and the worker has claims on their way while others end
DATABASE = "bench_stagepost"
_TIMEOUT = 240.0
_URL = "BENCH_STAGEPOST"


def measure(tasks: int) -> None:
    """From the first submit to the last durable completion, as `stagepost api` and `worker`."""
    interpreter.tune()  # as both do
    print_measured(uvloop.run(_measure(tasks)))


async def _measure(tasks: int) -> Measured:
    url = os.environ[_URL] = await fresh_database(os.environ["BENCH_POSTGRES"], DATABASE)
    with scratch_folder() as folder:
        async with open_engine(Settings(data=folder, store=url), app, parts=[Part.API]) as engine:
            with WorkerProcess("bench.stagepost_postgres", tasks) as worker:
                started = time.monotonic()
                await submit_all(engine, tasks)
                done_at = await asyncio.to_thread(worker.done_at)
        await postgres_database.check_completed(url, tasks)
    notes = f"{SLOTS} slots, {await hot_updates(url)}"
    return Measured("stagepost-postgres", tasks, done_at - started, durable=True, notes=notes)


def work(tasks: int) -> None:
    """The worker process."""
    interpreter.tune()
    with scratch_folder() as folder:
        uvloop.run(_work(folder, tasks))


async def _work(folder: Path, tasks: int) -> None:
    settings = Settings(data=folder, store=os.environ[_URL], concurrency=SLOTS)
    parts = [Part.WORKER, Part.MAINTENANCE]
    async with open_engine(settings, app, parts=parts) as engine:
        async with counting(engine.bus, tasks) as completions:
            say("ready")
            done_at = await asyncio.wait_for(completions.last, _TIMEOUT)
        say(repr(done_at))


if __name__ == "__main__":
    run_as(measure, work)
