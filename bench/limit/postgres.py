"""The bare limit of PostgreSQL: no-op tasks in three kinds of group commits, and nothing else."""

import argparse
import asyncio
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import uuid_utils
import uvloop

from bench.limit import postgres_rows
from bench.limit.__main__ import IN_FLIGHT, trace_id
from bench.limit.writer import QUEUE
from bench.postgres_database import check_completed, fresh_database, hot_updates
from bench.program import Measured, print_measured
from stagepost.stores.postgres.address import address_of
from stagepost.stores.postgres.connections import connect
from stagepost.stores.postgres.schema import migrate

MOST = 1_000
_TIMEOUT = 240.0

Row = tuple[Any, ...]


class Limit:
    """Submits, claims and finishes, each on a connection of its own with what has gathered."""

    def __init__(self, url: str, tasks: int) -> None:
        self._address = address_of(url)
        self._left = tasks
        self._submits: deque[tuple[Row, asyncio.Future[None]]] = deque()
        self._finishes: deque[Row] = deque()
        self._pooled = 0
        self._news = [asyncio.Event() for _ in range(3)]
        self._worker = str(uuid_utils.uuid7())
        self.commits = 0
        self.last: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        """Done with the time of the last durable completion."""

    async def open(self) -> list["asyncio.Task[None]"]:
        """Make the tables, and start the three loops."""
        self._backends = [await connect(self._address) for _ in range(3)]
        await migrate(self._backends[0], self._address.schema)
        steps = (self._submit, self._claim, self._finish)
        return [
            asyncio.create_task(self._loop(step, news, backend))
            for step, news, backend in zip(steps, self._news, self._backends, strict=True)
        ]

    async def close(self) -> None:
        """Close the connections."""
        for backend in self._backends:
            await backend.close(timeout=5)

    def submit(self, row: Row) -> "asyncio.Future[None]":
        """A future that is done once the task is on disk."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._submits.append((row, future))
        self._news[0].set()
        return future

    async def _loop(
        self,
        step: Callable[[asyncpg.Connection], Awaitable[bool]],
        news: asyncio.Event,
        backend: asyncpg.Connection,
    ) -> None:
        while True:
            await news.wait()
            news.clear()
            while await step(backend):
                self.commits += 1

    async def _submit(self, backend: asyncpg.Connection) -> bool:
        batch = _taken(self._submits)
        if not batch:
            return False
        rows = [row for row, _ in batch]
        await backend.execute(postgres_rows.SUBMIT, *map(list, zip(*rows, strict=True)))
        self._pooled += len(batch)
        self._news[1].set()
        for _, future in batch:
            future.set_result(None)
        return True

    async def _claim(self, backend: asyncpg.Connection) -> bool:
        if not self._pooled:
            return False
        lease = str(uuid_utils.uuid7())
        lane, *tenant_and_type = QUEUE
        found = await backend.fetch(
            postgres_rows.CLAIM, lane, MOST, lease, self._worker, *tenant_and_type
        )
        self._pooled -= len(found)
        self._finishes.extend((id_, fence, "null") for id_, fence in found)
        self._news[2].set()
        return True

    async def _finish(self, backend: asyncpg.Connection) -> bool:
        batch = _taken(self._finishes)
        if not batch:
            return False
        await backend.execute(postgres_rows.FINISH, *map(list, zip(*batch, strict=True)))
        self._left -= len(batch)
        if not self._left:
            self.last.set_result(time.perf_counter())
        return True


def _taken(queue: deque[Any]) -> list[Any]:
    return [queue.popleft() for _ in range(min(len(queue), MOST))]


async def measure(tasks: int) -> Measured:
    """From the first submit to the last durable completion."""
    url = await fresh_database(os.environ["BENCH_POSTGRES"], "bench_limit")
    limit = Limit(url, tasks)
    loops = await limit.open()
    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for first in range(IN_FLIGHT):
            group.create_task(_submitter(limit, range(first, tasks, IN_FLIGHT)))
    ends: list[asyncio.Future[Any]] = [limit.last, *loops]
    await asyncio.wait(ends, timeout=_TIMEOUT, return_when="FIRST_COMPLETED")
    seconds = limit.last.result() - started
    for loop in loops:
        loop.cancel()
    await asyncio.gather(*loops, return_exceptions=True)
    await limit.close()
    await check_completed(url, tasks)
    notes = f"{limit.commits} commits, {await hot_updates(url)}"
    return Measured("limit-postgres", tasks, seconds, durable=True, notes=notes)


async def _submitter(limit: Limit, numbers: range) -> None:
    for number in numbers:
        task = str(uuid_utils.uuid7())
        lane, tenant, type_name = QUEUE
        who = (task, tenant, "local", type_name, lane)
        await limit.submit((*who, f'{{"number":{number}}}', 4, 86_400_000, trace_id(task)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=20_000, help="tasks")
    print_measured(uvloop.run(measure(parser.parse_args().size)))


if __name__ == "__main__":
    main()
