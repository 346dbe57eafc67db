"""The table of measured programs."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Program:
    """A module that takes its words and `--size N`, and prints one line with what it measured.

    The size is what the benchmark's page says: tasks, seconds or streams. `quick` is the size of a
    run that only shows that the program works.
    """

    name: str
    module: str
    size: int
    quick: int
    environment: Literal["project", "peers"] = "project"
    words: tuple[str, ...] = ()


# Throughput, in tasks: 20,000 or, for a slow peer, what takes it some seconds. The rate counts.
STAGEPOST = Program("stagepost", "bench.stagepost_throughput", 20_000, 1_500)
LIMIT = Program("limit", "bench.limit", 20_000, 2_000)
PEERS = (
    Program("dramatiq-redis", "bench.peers.dramatiq_redis", 20_000, 500, "peers"),
    Program("taskiq-redis", "bench.peers.taskiq_redis", 20_000, 500, "peers"),
    Program("celery-redis", "bench.peers.celery_redis", 10_000, 500, "peers"),
    Program("procrastinate-postgres", "bench.peers.procrastinate_postgres", 4_000, 200, "peers"),
    Program("pgqueuer-postgres", "bench.peers.pgqueuer_postgres", 8_000, 200, "peers"),
    Program("pgqueuer-bulk", "bench.peers.pgqueuer_bulk", 20_000, 1_000, "peers"),
    Program("dbos-sqlite", "bench.peers.dbos_sqlite", 1_000, 50, "peers"),
)

# The same with the store in PostgreSQL. Of 60,000 tasks the first and the last batches, on their
# way through an empty engine, are a fiftieth part; of 20,000 they are a fifteenth.
POSTGRES = Program("stagepost-postgres", "bench.stagepost_postgres", 60_000, 1_500)
POSTGRES_ALONE = Program(
    "stagepost-postgres, one process", "bench.stagepost_throughput", 20_000, 1_500,
    words=("--postgres",),
)  # fmt: skip
LIMIT_POSTGRES = Program("limit-postgres", "bench.limit.postgres", 60_000, 2_000)
RIVER = Program("river-bulk", "bench.peers.river_bulk", 60_000, 1_000, "peers")
POSTGRES_PEERS = (
    Program("procrastinate-postgres", "bench.peers.procrastinate_postgres", 4_000, 200, "peers"),
    Program("pgqueuer-bulk", "bench.peers.pgqueuer_bulk", 60_000, 1_000, "peers"),
    RIVER,
)

# Children of one parent.
FANOUT = Program("stagepost-fanout", "bench.stagepost_fanout", 10_000, 1_200)
FANOUT_POSTGRES = Program(
    "stagepost-fanout-postgres", "bench.stagepost_fanout", 10_000, 1_200, words=("--postgres",)
)

# Growth, in finished tasks that the store begins with.
GROWN = Program("grown store", "bench.grown_store", 1_000_000, 2_000)

# Submit, in seconds.
SUBMIT = Program("stagepost over HTTP", "bench.http_load", 10, 1, words=("stagepost",))
CONSTANT = Program("constant answer", "bench.http_load", 10, 1, words=("bare",))

# Dispatch, in tasks.
CLIENT = Program("stagepost, client", "bench.stagepost_dispatch", 500, 20, words=("client",))
HTTP = Program("stagepost, HTTP", "bench.stagepost_dispatch", 500, 20, words=("http",))
DISPATCH_PEERS = (
    Program("procrastinate-postgres", "bench.peers.procrastinate_dispatch", 500, 20, "peers"),
    Program("dramatiq-redis", "bench.peers.dramatiq_dispatch", 500, 20, "peers"),
)

# Progress, in streams.
PROGRESS = Program("stagepost", "bench.progress_load", 1_000, 20, words=("stagepost",))
BARE_PROGRESS = Program("bare endpoint", "bench.progress_load", 1_000, 20, words=("bare",))
IDLE = Program("stagepost", "bench.idle_load", 5_000, 50, words=("stagepost",))
BARE_IDLE = Program("bare endpoint", "bench.idle_load", 5_000, 50, words=("bare",))

# Sleepers, in sleeping tasks.
SLEEPERS = Program("sleepers, embedded", "bench.sleepers_load", 100_000, 200)
SLEEPERS_POSTGRES = Program(
    "sleepers, PostgreSQL", "bench.sleepers_load", 100_000, 200, words=("--postgres",)
)

# Quota, in minutes of the provider.
QUOTA = Program("stagepost", "bench.quota_load", 10, 2, words=("stagepost",))
QUOTA_PEERS = (
    Program("openai SDK", "bench.quota_load", 10, 2, words=("openai",)),
    Program("LiteLLM Router", "bench.quota_load", 10, 2, words=("litellm",)),
)

# Limits, in seconds.
LIMITS = Program("limits, memory", "bench.limits_load", 20, 2)
LIMITS_POSTGRES = Program("limits, PostgreSQL", "bench.limits_load", 20, 2, words=("--postgres",))

# Contract reviews, through Stagepost and through the design that it replaces: with a thread for
# each call that the provider takes at once, and with as many as the framework has by itself, the
# latter also at a provider that does not count what it refuses.
REVIEWS = Program("Stagepost", "bench.reviews_load", 300, 6, words=("stagepost",))
SIZED = Program("endpoint, 10 threads", "bench.reviews_load", 300, 6, words=("endpoint", "10"))
DEFAULT = Program("endpoint, 40 threads", "bench.reviews_load", 300, 6, words=("endpoint", "40"))
LENIENT = Program(
    "the same, refusals not counted",
    "bench.reviews_load", 300, 6, words=("endpoint", "40", "--lenient"),
)  # fmt: skip
FIRST_BARE = Program("constant answer", "bench.reviews_load", 300, 6, words=("constant",))

# Clauses, each a call of a second.
CLAUSES = Program("ctx.map of calls", "bench.clauses_load", 200, 20, words=("map",))
CONTRACT = Program("contract-review", "bench.clauses_load", 200, 20, words=("review",))
