"""What both benchmarks of Procrastinate share: its database, its app, and its worker."""

import asyncio
import os

from procrastinate import App, PsycopgConnector

from bench.peers.postgres_server import address_of, fresh_database
from bench.peers.worker import say

_DATABASE = "bench_procrastinate"
URL = address_of(os.environ["BENCH_POSTGRES"], _DATABASE)
# The fastest of 3 to 50 connections and 5 to 100 jobs at once.
CONNECTIONS = 5
CONCURRENCY = 10

app = App(connector=PsycopgConnector(conninfo=URL, min_size=CONNECTIONS, max_size=CONNECTIONS))


async def run_worker() -> None:
    """Say when the worker runs, and run until killed."""
    async with app.open_async():
        worker = asyncio.create_task(app.run_worker_async(concurrency=CONCURRENCY))
        await asyncio.sleep(0.5)
        say("ready")
        await worker


async def create_database() -> None:
    """An empty database with Procrastinate's tables."""
    fresh_database(os.environ["BENCH_POSTGRES"], _DATABASE)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
