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
from stagepost.stores.postgres.connections import Backend, connect
from support.postgres import Server
from support.world import a_world

STATEMENTS = {
    "submit": plain_submits.IDLE[0],
    "claim": claiming.IDLE[0],
    "settle": settling.IDLE[0],
    "checkpoint": checkpoints.IDLE[0],
}


async def plan_of(backend: Backend, statement: str) -> list[str]:
    """What a connection that uses the statement for the first time would do."""
    await backend.execute(f"PREPARE planned AS {statement}")
    parameters = ", ".join(["NULL"] * statement_parameters(statement))
    rows = await backend.fetch(f"EXPLAIN (COSTS OFF) EXECUTE planned ({parameters})")
    await backend.execute("DEALLOCATE planned")
    return [row[0].strip() for row in rows]


def statement_parameters(statement: str) -> int:
    return max(number for number in range(1, 30) if f"${number}" in statement)


def wholly_read(plan: list[str]) -> list[str]:
    """The tables of a plan that it reads from their beginning to their end."""
    found = []
    for line, after in zip(plan, [*plan[1:], ""], strict=True):
        node = line.removeprefix("->").strip()
        scans = node.startswith(("Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan"))
        if scans and not after.startswith(("Index Cond", "TID Cond", "Recheck Cond")):
            found.append(node.split(" on ")[1].split()[0])
    return found


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
