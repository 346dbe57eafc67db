"""Procrastinate on PostgreSQL.

Single defers over a pool of connections, one asynchronous worker woken by LISTEN/NOTIFY, finished
jobs kept as by default. A task is done when its row says `succeeded`, committed with
synchronous_commit on.
"""

import asyncio
import os
import time

import uvloop
from procrastinate import App, PsycopgConnector

from bench.peers.load import from_coroutines
from bench.peers.postgres_server import address_of, fresh_database, wait_until_zero
from bench.peers.worker import Countdown, WorkerProcess, run_as, say
from bench.program import Measured, print_measured

DATABASE = "bench_procrastinate"
URL = address_of(os.environ["BENCH_POSTGRES"], DATABASE)
# The fastest of 3 to 50 connections and 5 to 100 jobs at once.
CONNECTIONS = 5
CONCURRENCY = 10

app = App(connector=PsycopgConnector(conninfo=URL, min_size=CONNECTIONS, max_size=CONNECTIONS))
countdown: Countdown | None = None


@app.task(name="noop")
async def noop(number: int) -> None:
    del number
    if countdown:
        countdown.one()


async def _work() -> None:
    async with app.open_async():
        worker = asyncio.create_task(app.run_worker_async(concurrency=CONCURRENCY))
        await asyncio.sleep(0.5)
        say("ready")
        await worker


async def _submit(tasks: int) -> float:
    async with app.open_async():
        started = time.monotonic()
        await from_coroutines(lambda number: noop.defer_async(number=number), tasks)
        return started


async def _create_schema() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


def work(tasks: int) -> None:
    global countdown  # noqa: PLW0603 - the module is this process's whole program
    countdown = Countdown(tasks)
    uvloop.run(_work())


def measure(tasks: int) -> None:
    fresh_database(os.environ["BENCH_POSTGRES"], DATABASE)
    uvloop.run(_create_schema())
    with WorkerProcess("bench.peers.procrastinate_postgres", tasks) as worker:
        started = uvloop.run(_submit(tasks))
        worker.done_at()
        unfinished = "SELECT count(*) FROM procrastinate_jobs WHERE status <> 'succeeded'"
        seconds = wait_until_zero(URL, unfinished) - started
    notes = f"{CONNECTIONS} connections, worker concurrency {CONCURRENCY}"
    print_measured(Measured("procrastinate-postgres", tasks, seconds, durable=True, notes=notes))


if __name__ == "__main__":
    run_as(measure, work)
