"""Dramatiq on Redis at low load: from the call of a send to the start of its handler.

Everything as it is by default. Every task brings the time of its call along.
"""

import os
import time

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench.low_load import EVERY, WARM_UP, figures_of
from bench.peers.redis_server import without_durability
from bench.peers.worker import Stamps, WorkerProcess, run_as, say
from bench.program import print_figures

URL = os.environ["BENCH_REDIS"]
WORKER_THREADS = 8

broker = RedisBroker(url=URL, namespace="bench-dramatiq")
dramatiq.set_broker(broker)
stamps: Stamps | None = None


@dramatiq.actor(actor_name="stamp")
def stamp(sent: int) -> None:
    if stamps:
        stamps.one(sent)


def work(tasks: int) -> None:
    global stamps  # noqa: PLW0603 - the module is this process's whole program
    stamps = Stamps(tasks)
    dramatiq.Worker(broker, worker_threads=WORKER_THREADS).start()
    say("ready")
    time.sleep(3600)


def measure(samples: int) -> None:
    without_durability(URL)
    broker.flush_all()
    tasks = WARM_UP + samples
    with WorkerProcess("bench.peers.dramatiq_dispatch", tasks) as worker:
        for _ in range(tasks):
            stamp.send(time.monotonic_ns())
            time.sleep(EVERY)
        print_figures(figures_of("dramatiq-redis", worker.stamps()))


if __name__ == "__main__":
    run_as(measure, work)
