"""Redrives from before inputs were forgotten: an older folder or schema keeps none that is over."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import orjson
import pytest

from stagepost.bus import Committed
from stagepost.clock import SystemClock
from stagepost.mass import Kind, MassChange
from stagepost.records import Resume, Scope
from stagepost.stores import masses
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.postgres import schema as postgres_schema
from stagepost.stores.postgres.schema.spent import SPENT as POSTGRES_SPENT
from stagepost.stores.sqlite import schema as sqlite_schema
from stagepost.stores.sqlite.folder import DataFolder, open_writer
from stagepost.stores.sqlite.schema.spent import SPENT as SQLITE_SPENT
from support.postgres import Server
from support.world import new_id

INPUT = '{"text":"a \\u0000 name"}'
STATES = ("running", "done", "stopped")


def redrive() -> MassChange:
    return MassChange(
        id=new_id(), kind=Kind.REDRIVE, scope=Scope("acme"), by="ada", task_ids=(new_id(),),
        resume=Resume(input=INPUT), attempts={"review": 2}, per_minute=3,
    )  # fmt: skip


def script(of: MassChange, state: str) -> str:
    text = masses.spec_text(of).replace("'", "''")
    return f"""
        INSERT INTO mass_changes (id, kind, tenant, spec, state, matched, sent, completed, failed,
            cursor, next_at, recent, created_at, open)
        VALUES ('{of.id}', 'redrive', 'acme', '{text}', '{state}', 1, 1, 1, 0, '', 1, '[]', 1,
            '1');"""


def check(before: dict[str, MassChange], rows: dict[str, str]) -> None:
    for state, of in before.items():
        kept = Resume(input=INPUT) if state == "running" else Resume(fresh=True)
        now = masses.change_of((of.id, "redrive", "acme", None, rows[of.id]))
        assert now.resume == kept
        spec, earlier = orjson.loads(rows[of.id]), orjson.loads(masses.spec_text(of))
        assert spec | {"resume": None} == earlier | {"resume": None}


def test_of_an_older_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {state: redrive() for state in STATES}
    number = sqlite_schema.MIGRATIONS.index(SQLITE_SPENT)
    with monkeypatch.context() as older:
        older.setattr(sqlite_schema, "MIGRATIONS", sqlite_schema.MIGRATIONS[:number])
        older.setattr(sqlite_schema, "VERSION", number)
        folder = DataFolder(tmp_path)
        connection = open_writer(folder)
        connection.execute("".join(script(of, state) for state, of in before.items()))
        connection.close()
        folder.release()
    folder = DataFolder(tmp_path)
    connection = open_writer(folder)
    rows = {
        f"{row[0]}": f"{row[1]}" for row in connection.execute("SELECT id, spec FROM mass_changes")
    }
    connection.close()
    folder.release()
    check(before, rows)


@pytest.fixture
async def schema(postgres_server: Server) -> AsyncIterator[str]:
    name = f"spent_{new_id().replace('-', '')}"
    yield name
    connection = await asyncpg.connect(postgres_server.url)
    await connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
    await connection.close()


def _deaf(_: Committed) -> None:
    pass


async def test_of_an_older_schema(
    postgres_server: Server, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {state: redrive() for state in STATES}
    url = f"{postgres_server.url}?schema={schema}"
    scripts = [each.script for each in postgres_schema.MIGRATIONS]
    number = scripts.index(POSTGRES_SPENT)
    with monkeypatch.context() as older:
        older.setattr(postgres_schema, "MIGRATIONS", postgres_schema.MIGRATIONS[:number])
        older.setattr(postgres_schema, "VERSION", number)
        await (await PostgresStore.open(url, SystemClock(), _deaf)).close()
    connection = await asyncpg.connect(postgres_server.url)
    await connection.execute(f"SET search_path = {schema}")
    await connection.execute("".join(script(of, state) for state, of in before.items()))
    await (await PostgresStore.open(url, SystemClock(), _deaf)).close()
    specs = await connection.fetch("SELECT id, spec FROM mass_changes")
    await connection.close()
    assert len(specs) == len(STATES)
    check(before, {str(row[0]): row[1] for row in specs})
