"""However many runs a schedule remembers, a look reads only those that are open."""

import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import asyncpg
import pytest

from stagepost.schedule import Overlap
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.postgres import schedule_writes as postgres_writes
from stagepost.stores.postgres import schedules as postgres_schedules
from stagepost.stores.sqlite.folder import DATABASE
from support.postgres_worlds import PostgresWorlds
from support.schedules import begin, finish_all, look
from support.world import World, a_world, open_sqlite


async def live(world: World) -> None:
    """Every way of a schedule's runs, at least once."""
    waits = await begin(world, overlap=Overlap.QUEUE)
    await begin(world, overlap=Overlap.CANCEL_OLD)
    for _ in range(3):
        world.clock.advance(60)
        await look(world)
    await finish_all(world)
    await look(world)
    await world.store.schedules.standing()
    assert (await world.store.schedules.due(1)).free == []
    assert waits.id


@pytest.fixture
def statements() -> Iterator[set[str]]:
    """Every statement that SQLite runs while a test lasts."""
    seen: set[str] = set()

    def trace(_cursor: object, statement: str, _bindings: object) -> bool:
        seen.add(statement)
        return True

    def hook(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    apsw.connection_hooks.append(hook)
    yield seen
    apsw.connection_hooks.remove(hook)


async def test_sqlite_finds_open_runs_by_their_index(statements: set[str], tmp_path: Path) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        await live(world)
        database = world.folder / DATABASE
    asked = [
        text for text in statements if re.search("schedule_runs", text) and "CREATE" not in text
    ]
    assert len(asked) >= 6
    connection = apsw.Connection(str(database))
    found = {
        (statement, detail)
        for statement in asked
        for *_, detail in connection.execute(
            f"EXPLAIN QUERY PLAN {statement}", (None,) * statement.count("?")
        )
    }
    connection.close()
    assert [each for each in found if re.match("SCAN (schedule_runs|[rwt])", each[1])] == []
    by_schedule = [each for each in found if each[1].endswith("PRIMARY KEY (schedule_id=?)")]
    assert by_schedule == []


OPEN_RUNS = {
    "free": (postgres_schedules._FREE, "10"),
    "going on": (postgres_writes._GOING_ON, "gen_random_uuid(), 'live'"),
    "waiting": (postgres_writes._WAITING, "gen_random_uuid(), 'live'"),
}
REMEMBERED = """
INSERT INTO schedule_runs (schedule_id, planned_at, stream, task_id, open)
SELECT $1::uuid, n, 'live', gen_random_uuid(), false FROM generate_series(1, 10000) AS n"""


async def test_postgresql_finds_open_runs_by_their_index(
    postgres_worlds: PostgresWorlds, tmp_path: Path
) -> None:
    async with a_world(postgres_worlds.open, tmp_path / "data") as world:
        store = world.store
        assert isinstance(store, PostgresStore)
        schedule = await begin(world)

        async def explained(db: asyncpg.Connection) -> dict[str, str]:
            await db.execute(REMEMBERED, schedule.id)
            await db.execute("ANALYZE schedule_runs")
            return {name: await _plan(db, *asked) for name, asked in OPEN_RUNS.items()}

        for name, plan in (await store._engine.read(explained)).items():
            assert "schedule_runs_open" in plan, (name, plan)
            assert "schedule_runs_pkey" not in plan, (name, plan)


async def _plan(db: asyncpg.Connection, statement: str, arguments: str) -> str:
    await db.execute(f"PREPARE looked_at AS {statement}")
    rows = await db.fetch(f"EXPLAIN EXECUTE looked_at ({arguments})")
    await db.execute("DEALLOCATE looked_at")
    return "\n".join(row[0] for row in rows)
