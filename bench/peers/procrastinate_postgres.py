"""Procrastinate on PostgreSQL.

Single defers over a pool of connections, one asynchronous worker woken by LISTEN/NOTIFY, finished
jobs kept as by default. A task is done when its row says `succeeded`, committed with
synchronous_commit on.
"""

import time

import uvloop

from bench.peers.load import from_coroutines
from bench.peers.postgres_server import wait_until_zero
from bench.peers.procrastinate_app import (
    CONCURRENCY,
    CONNECTIONS,
    URL,
    app,
    create_database,
    run_worker,
)
from bench.peers.worker import Countdown, WorkerProcess, run_as
from bench.program import Measured, print_measured

countdown: Countdown | None = None


@app.task(name="noop")
async def noop(number: int) -> None:
    del number
    if countdown:
        countdown.one()


async def _submit(tasks: int) -> float:
    async with app.open_async():
        started = time.monotonic()
        await from_coroutines(lambda number: noop.defer_async(number=number), tasks)
        return started


def work(tasks: int) -> None:
    global countdown  # noqa: PLW0603 - the module is this process's whole program
    countdown = Countdown(tasks)
    uvloop.run(run_worker())


def measure(tasks: int) -> None:
    uvloop.run(create_database())
    with WorkerProcess("bench.peers.procrastinate_postgres", tasks) as worker:
        started = uvloop.run(_submit(tasks))
        worker.done_at()
        unfinished = "SELECT count(*) FROM procrastinate_jobs WHERE status <> 'succeeded'"
        seconds = wait_until_zero(URL, unfinished) - started
    notes = f"{CONNECTIONS} connections, worker concurrency {CONCURRENCY}"
    print_measured(Measured("procrastinate-postgres", tasks, seconds, durable=True, notes=notes))


if __name__ == "__main__":
    run_as(measure, work)
