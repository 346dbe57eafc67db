"""A connection that the server ends in the middle of a write."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import asyncpg

from stagepost.bus import Committed
from stagepost.clock import Clock
from stagepost.stores.postgres import PostgresStore
from support.postgres import Server
from support.world import a_world


async def test_a_write_whose_connection_is_lost_on_the_way_is_done_once(
    postgres_server: Server, tmp_path: Path
) -> None:
    async def opened(
        _folder: Path, clock: Clock, committed: Callable[[Committed], None]
    ) -> PostgresStore:
        return await PostgresStore.open(postgres_server.url_of("lost"), clock, committed)

    async with a_world(opened, tmp_path) as world:
        await world.submit()
        await world.worker()
        for verb in (world.submit, world.claim):
            locking = await asyncpg.connect(postgres_server.url)
            async with locking.transaction():
                await locking.execute("LOCK TABLE lost.tasks IN EXCLUSIVE MODE")
                doing = asyncio.create_task(verb())
                await _ended_while_it_waits(locking)
            await locking.close()
            async with asyncio.timeout(20):
                assert await doing
        [lane] = await world.store.lanes(["interactive"])
        assert (lane.queued, lane.running) == (1, 1)


async def _ended_while_it_waits(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    async with asyncio.timeout(20):
        while not await connection.fetch(  # the server has no event of ours
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        ):
            await asyncio.sleep(0.01)
            # Within a transaction the first look is the last one otherwise.
            await connection.execute("SELECT pg_stat_clear_snapshot()")
