"""The plans of the statements on every task's path: they must not depend on what is there.

A connection plans a statement once and keeps the plan until the next ANALYZE: one that reads all
tasks because there were few would be used when there are many.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from stagepost.bus import Committed
from stagepost.clock import Clock
from stagepost.stores.postgres import (
    PostgresStore,
    checkpoints,
    claiming,
    plain_submits,
    settling,
)
from stagepost.stores.postgres.address import address_of
from stagepost.stores.postgres.connections import connect
from support.plans import plan_of, wholly_read
from support.postgres import Server
from support.world import a_world

STATEMENTS = {
    "submit": plain_submits.IDLE[0],
    "claim": claiming.IDLE[0],
    "settle": settling.IDLE[0],
    "checkpoint": checkpoints.IDLE[0],
}


@pytest.mark.parametrize("name", STATEMENTS)
async def test_a_plan_made_when_there_was_little_is_one_for_much(
    name: str, postgres_server: Server, tmp_path: Path
) -> None:
    url = postgres_server.url_of(f"plans_{name}")

    async def opened(
        _folder: Path, clock: Clock, committed: Callable[[Committed], None]
    ) -> PostgresStore:
        return await PostgresStore.open(url, clock, committed)

    async with a_world(opened, tmp_path) as world:
        backend = await connect(address_of(url))
        plans = [await plan_of(backend, STATEMENTS[name])]
        await asyncio.gather(*(world.submit() for _ in range(2_000)))
        plans.append(await plan_of(backend, STATEMENTS[name]))
        await backend.execute("ANALYZE")
        plans.append(await plan_of(backend, STATEMENTS[name]))
        await backend.close()
    read = {table for plan in plans for table in wholly_read(plan)}
    assert read <= {"rules", "turns", "lane_turns"}, "which are small"
