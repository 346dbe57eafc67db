"""The table of measured programs."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Program:
    """A module that takes `--tasks N` and prints one `Measured` line.

    `tasks` is 20,000 or, for a slow peer, what takes it some seconds: the rate is what counts.
    """

    name: str
    module: str
    tasks: int
    environment: Literal["project", "peers"]


LIMIT = Program("limit", "bench.limit", 20_000, "project")

PEERS = (
    Program("dramatiq-redis", "bench.peers.dramatiq_redis", 20_000, "peers"),
    Program("taskiq-redis", "bench.peers.taskiq_redis", 20_000, "peers"),
    Program("celery-redis", "bench.peers.celery_redis", 10_000, "peers"),
    Program("procrastinate-postgres", "bench.peers.procrastinate_postgres", 4_000, "peers"),
    Program("pgqueuer-postgres", "bench.peers.pgqueuer_postgres", 8_000, "peers"),
    Program("pgqueuer-bulk", "bench.peers.pgqueuer_bulk", 20_000, "peers"),
    Program("dbos-sqlite", "bench.peers.dbos_sqlite", 1_000, "peers"),
)

# What the peers are compared with.
SUBJECT = LIMIT
