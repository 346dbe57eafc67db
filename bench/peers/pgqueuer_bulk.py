"""pgqueuer on PostgreSQL by its bulk insert: 1,000 tasks a call, which the others do not have."""

from pgqueuer.queries import Queries

from bench.peers.pgqueuer_postgres import measure_with, work
from bench.peers.worker import run_as

ROWS = 1_000


async def in_bulk(queries: Queries, tasks: int) -> None:
    for first in range(0, tasks, ROWS):
        payloads: list[bytes | None] = [b"%d" % n for n in range(first, min(first + ROWS, tasks))]
        await queries.enqueue(["noop"] * len(payloads), payloads, [0] * len(payloads))


def measure(tasks: int) -> None:
    measure_with(in_bulk, "pgqueuer-bulk", f"bulk inserts of {ROWS}", tasks)


if __name__ == "__main__":
    run_as(measure, work)
