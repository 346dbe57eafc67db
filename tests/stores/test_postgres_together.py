"""Many processes that open one database for the first time at once."""

import asyncio

from stagepost.bus import Committed
from stagepost.clock import SystemClock
from stagepost.stores.postgres import PostgresStore
from support.postgres import Server


def _deaf(_: Committed) -> None:
    """Nobody listens."""


async def test_of_many_that_start_at_once_one_makes_the_schema(
    postgres_server: Server,
) -> None:
    for number in range(5):
        url = postgres_server.url_of(f"together_{number}")
        opening = (PostgresStore.open(url, SystemClock(), _deaf) for _ in range(4))
        for store in await asyncio.gather(*opening):
            await store.ping()
            await store.close()
