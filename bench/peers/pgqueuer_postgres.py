"""pgqueuer on PostgreSQL, by single inserts; `pgqueuer_bulk` beside this does the same in bulk.

asyncpg pools, its default durability (all tables logged). A task is done when its row has left the
queue table, in the statement that logs it as successful, committed with synchronous_commit on.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.peers.load import from_coroutines
from bench.peers.postgres_server import address_of, fresh_database, wait_until_zero
from bench.peers.worker import Countdown, WorkerProcess, run_as, say
from bench.program import Measured, print_measured

DATABASE = "bench_pgqueuer"
URL = address_of(os.environ["BENCH_POSTGRES"], DATABASE)
CONNECTIONS = 20
# How many tasks its worker fetches, and marks as done, at once. Its default of 10 halves the rate.
BATCH = 1_000

Submit = Callable[[Queries, int], Awaitable[None]]


async def _work(tasks: int) -> None:
    countdown = Countdown(tasks)
    async with asyncpg.create_pool(URL, min_size=5, max_size=5) as pool:
        worker = PgQueuer(AsyncpgPoolDriver(pool))

        @worker.entrypoint("noop")
        async def noop(job: Job) -> None:
            del job
            countdown.one()

        running = asyncio.create_task(worker.run(timedelta(seconds=1), batch_size=BATCH))
        await asyncio.sleep(0.5)
        say("ready")
        await running


async def _submit(submit: Submit, tasks: int) -> float:
    async with asyncpg.create_pool(URL, min_size=CONNECTIONS, max_size=CONNECTIONS) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))
        started = time.monotonic()
        await submit(queries, tasks)
        return started


async def one_by_one(queries: Queries, tasks: int) -> None:
    await from_coroutines(lambda number: queries.enqueue("noop", b"%d" % number), tasks)


async def _create_schema() -> None:
    async with asyncpg.create_pool(URL, min_size=1, max_size=2) as pool:
        await Queries(AsyncpgPoolDriver(pool)).install()


def work(tasks: int) -> None:
    uvloop.run(_work(tasks))


def measure_with(submit: Submit, name: str, how: str, tasks: int) -> None:
    fresh_database(os.environ["BENCH_POSTGRES"], DATABASE)
    uvloop.run(_create_schema())
    with WorkerProcess("bench.peers.pgqueuer_postgres", tasks) as worker:
        started = uvloop.run(_submit(submit, tasks))
        worker.done_at()
        seconds = wait_until_zero(URL, "SELECT count(*) FROM pgqueuer") - started
    notes = f"{how}, batch size {BATCH}"
    print_measured(Measured(name, tasks, seconds, durable=True, notes=notes))


def measure(tasks: int) -> None:
    measure_with(one_by_one, "pgqueuer-postgres", f"{CONNECTIONS} connections", tasks)


if __name__ == "__main__":
    run_as(measure, work)
