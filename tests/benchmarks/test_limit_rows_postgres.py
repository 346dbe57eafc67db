"""The bare limit on PostgreSQL writes the rows that the engine writes, too."""

from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bench.limit.postgres import measure as measure_limit
from bench.stagepost_throughput import measure_on_postgres
from support.postgres import Server
from support.shapes import shape

TASKS = 30


async def _shapes(url: str) -> dict[str, Any]:
    connection = await asyncpg.connect(url, server_settings={"search_path": "stagepost"})
    tables = [
        row[0]
        for row in await connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'stagepost'"
        )
    ]
    shapes: dict[str, Any] = {
        table: {tuple(map(shape, row)) for row in await connection.fetch(f"SELECT * FROM {table}")}
        for table in tables
    }
    indexes = await connection.fetch(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'stagepost'"
    )
    await connection.close()
    return shapes | {"indexes": {row[0] for row in indexes}}


async def test_a_finished_task_of_the_limit_is_one_of_the_engine(
    postgres_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_POSTGRES", postgres_server.url)
    await measure_limit(TASKS)
    await measure_on_postgres(tmp_path, TASKS)
    place = postgres_server.url.rpartition("/")[0]
    limit, engine = [
        await _shapes(f"{place}/{name}") for name in ("bench_limit", "bench_stagepost")
    ]
    # Who leads the engine's loops, and where it notes that it was asked whether it writes.
    for table in ("meta", "leases"):
        del limit[table], engine[table]
    # The limiter has tables of its own there.
    for table in [name for name in engine if name.startswith("limiter_")]:
        del engine[table]
    engine["indexes"] = {index for index in engine["indexes"] if "limiter_" not in index}
    assert len(limit["tasks"]) == 1
    assert len(limit["events"]) == 3
    assert limit == engine
