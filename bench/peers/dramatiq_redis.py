"""Dramatiq on Redis.

Default middleware and 8 worker threads. The default prefetch of 16 leaves the threads waiting for
no-op tasks (2,000/s), so it is 256 here, which is documented as `dramatiq_queue_prefetch`. A task
is done when Redis has taken its acknowledgement.
"""

import os
import time
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import Middleware

from bench.peers.load import from_threads
from bench.peers.redis_server import without_durability
from bench.peers.worker import Countdown, WorkerProcess, run_as, say
from bench.program import Measured, print_measured

URL = os.environ["BENCH_REDIS"]
SUBMIT_THREADS = 4
WORKER_THREADS = 8
PREFETCH = 256

broker = RedisBroker(url=URL, namespace="bench-dramatiq")
dramatiq.set_broker(broker)


@dramatiq.actor(actor_name="noop")
def noop(number: int) -> None:
    del number


class Acknowledged(Middleware):
    """Counts what Redis has taken the acknowledgement of."""

    def __init__(self, tasks: int) -> None:
        self._countdown = Countdown(tasks)

    def after_ack(self, broker: Any, message: Any) -> None:
        del broker, message
        self._countdown.one()


def work(tasks: int) -> None:
    broker.add_middleware(Acknowledged(tasks))
    worker = dramatiq.Worker(broker, worker_threads=WORKER_THREADS)
    worker.queue_prefetch = PREFETCH
    worker.start()
    say("ready")
    time.sleep(3600)


def measure(tasks: int) -> None:
    without_durability(URL)
    broker.flush_all()
    with WorkerProcess("bench.peers.dramatiq_redis", tasks) as worker:
        started = time.monotonic()
        from_threads(noop.send, tasks, SUBMIT_THREADS)
        seconds = worker.done_at() - started
    notes = f"{SUBMIT_THREADS} submitting threads, {WORKER_THREADS} worker threads"
    print_measured(Measured("dramatiq-redis", tasks, seconds, durable=False, notes=notes))


if __name__ == "__main__":
    run_as(measure, work)
