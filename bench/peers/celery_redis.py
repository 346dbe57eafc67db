"""Celery on Redis.

As its guide to optimising says for many short tasks: results ignored, a large prefetch, early
acknowledgement (its default), no gossip, mingle or heartbeat. The solo pool was the fastest for
no-op tasks (1,700/s; threads 1,100, prefork 1,300). A task is done when the worker has sent its
success signal; it was acknowledged before it ran.
"""

import os
import time
from typing import Any

from celery import Celery, signals

from bench.peers.load import from_threads
from bench.peers.redis_server import without_durability
from bench.peers.worker import Countdown, WorkerProcess, run_as, say
from bench.program import Measured, print_measured

URL = os.environ["BENCH_REDIS"]
SUBMIT_THREADS = 2

app = Celery("bench", broker=URL)
app.conf.update(
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    worker_prefetch_multiplier=128,
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="noop")
def noop(number: int) -> None:
    del number


def work(tasks: int) -> None:
    countdown = Countdown(tasks)

    def succeeded(**_: Any) -> None:
        countdown.one()

    def ready(**_: Any) -> None:
        say("ready")

    signals.task_success.connect(succeeded, weak=False)
    signals.worker_ready.connect(ready, weak=False)
    quiet = ["--loglevel=ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    app.worker_main(["worker", "--pool=solo", *quiet])


def measure(tasks: int) -> None:
    without_durability(URL)
    with WorkerProcess("bench.peers.celery_redis", tasks) as worker:
        started = time.monotonic()
        from_threads(noop.delay, tasks, SUBMIT_THREADS)
        seconds = worker.done_at() - started
    notes = f"{SUBMIT_THREADS} submitting threads, pool solo, early acknowledgement"
    print_measured(Measured("celery-redis", tasks, seconds, durable=False, notes=notes))


if __name__ == "__main__":
    run_as(measure, work)
