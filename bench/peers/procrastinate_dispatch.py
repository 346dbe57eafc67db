"""Procrastinate on PostgreSQL at low load: from the call of a defer to the start of its handler.

Its worker is woken by LISTEN/NOTIFY. Every task brings the time of its call along.
"""

import asyncio
import os
import time

import uvloop
from procrastinate import App, PsycopgConnector

from bench.low_load import EVERY, WARM_UP, figures_of
from bench.peers.postgres_server import address_of, fresh_database
from bench.peers.worker import Stamps, WorkerProcess, run_as, say
from bench.program import print_figures

DATABASE = "bench_procrastinate"
URL = address_of(os.environ["BENCH_POSTGRES"], DATABASE)
CONNECTIONS = 5
CONCURRENCY = 10

app = App(connector=PsycopgConnector(conninfo=URL, min_size=CONNECTIONS, max_size=CONNECTIONS))
stamps: Stamps | None = None


@app.task(name="stamp")
async def stamp(sent: int) -> None:
    if stamps:
        stamps.one(sent)


async def _work() -> None:
    async with app.open_async():
        worker = asyncio.create_task(app.run_worker_async(concurrency=CONCURRENCY))
        await asyncio.sleep(0.5)
        say("ready")
        await worker


async def _submit(tasks: int) -> None:
    async with app.open_async():
        for _ in range(tasks):
            await stamp.defer_async(sent=time.monotonic_ns())
            await asyncio.sleep(EVERY)


async def _create_schema() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


def work(tasks: int) -> None:
    global stamps  # noqa: PLW0603 - the module is this process's whole program
    stamps = Stamps(tasks)
    uvloop.run(_work())


def measure(samples: int) -> None:
    fresh_database(os.environ["BENCH_POSTGRES"], DATABASE)
    uvloop.run(_create_schema())
    tasks = WARM_UP + samples
    with WorkerProcess("bench.peers.procrastinate_dispatch", tasks) as worker:
        uvloop.run(_submit(tasks))
        print_figures(figures_of("procrastinate-postgres", worker.stamps()))


if __name__ == "__main__":
    run_as(measure, work)
