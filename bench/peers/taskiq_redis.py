"""taskiq on Redis.

The list broker, the fastest of its brokers (4,000/s; the stream broker, which acknowledges,
2,200/s). It keeps nothing of a task that was fetched, so a task is done when its handler has
returned and the step of saving its result, with no result backend, is over.
"""

import asyncio
import os
import time
from typing import Any

import uvloop
from taskiq import TaskiqMiddleware
from taskiq.api import run_receiver_task
from taskiq_redis import ListQueueBroker

from bench.peers.load import from_coroutines
from bench.peers.redis_server import without_durability
from bench.peers.worker import Countdown, WorkerProcess, run_as, say
from bench.program import Measured, print_measured

URL = os.environ["BENCH_REDIS"]
CONNECTIONS = 10
AT_ONCE = 100

broker = ListQueueBroker(URL, max_connection_pool_size=CONNECTIONS)


@broker.task(task_name="noop")
async def noop(number: int) -> None:
    del number


class Saved(TaskiqMiddleware):
    """Counts the tasks whose result is saved, the last step that this broker knows."""

    def __init__(self, tasks: int) -> None:
        super().__init__()
        self._countdown = Countdown(tasks)

    def post_save(self, message: Any, result: Any) -> None:
        del message, result
        self._countdown.one()


async def _work(tasks: int) -> None:
    broker.add_middlewares(Saved(tasks))
    receiver = asyncio.create_task(
        run_receiver_task(broker, max_async_tasks=AT_ONCE, max_prefetch=AT_ONCE, run_startup=True)
    )
    await asyncio.sleep(0.5)
    say("ready")
    await receiver


async def _submit(tasks: int) -> None:
    await broker.startup()
    await from_coroutines(noop.kiq, tasks)
    await broker.shutdown()


def work(tasks: int) -> None:
    uvloop.run(_work(tasks))


def measure(tasks: int) -> None:
    without_durability(URL)
    with WorkerProcess("bench.peers.taskiq_redis", tasks) as worker:
        started = time.monotonic()
        uvloop.run(_submit(tasks))
        seconds = worker.done_at() - started
    notes = f"list broker (no acknowledgement), {CONNECTIONS} connections, {AT_ONCE} tasks at once"
    print_measured(Measured("taskiq-redis", tasks, seconds, durable=False, notes=notes))


if __name__ == "__main__":
    run_as(measure, work)
