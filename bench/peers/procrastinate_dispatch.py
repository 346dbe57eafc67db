"""Procrastinate on PostgreSQL at low load: from the call of a defer to the start of its handler.

Its worker is woken by LISTEN/NOTIFY. Every task brings the time of its call along.
"""

import asyncio
import time

import uvloop

from bench.low_load import EVERY, WARM_UP, figures_of
from bench.peers.procrastinate_app import app, create_database, run_worker
from bench.peers.worker import Stamps, WorkerProcess, run_as
from bench.program import print_figures

stamps: Stamps | None = None


@app.task(name="stamp")
async def stamp(sent: int) -> None:
    if stamps:
        stamps.one(sent)


async def _submit(tasks: int) -> None:
    async with app.open_async():
        for _ in range(tasks):
            await stamp.defer_async(sent=time.monotonic_ns())
            await asyncio.sleep(EVERY)


def work(tasks: int) -> None:
    global stamps  # noqa: PLW0603 - the module is this process's whole program
    stamps = Stamps(tasks)
    uvloop.run(run_worker())


def measure(samples: int) -> None:
    uvloop.run(create_database())
    tasks = WARM_UP + samples
    with WorkerProcess("bench.peers.procrastinate_dispatch", tasks) as worker:
        uvloop.run(_submit(tasks))
        print_figures(figures_of("procrastinate-postgres", worker.stamps()))


if __name__ == "__main__":
    run_as(measure, work)
