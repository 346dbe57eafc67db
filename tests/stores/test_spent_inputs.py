"""Redrives from before inputs were forgotten: an older folder or schema keeps none that is over."""

from pathlib import Path

import asyncpg
import orjson

from stagepost.clock import SystemClock
from stagepost.mass import Kind, MassChange
from stagepost.records import Resume, Scope
from stagepost.stores import masses
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.postgres.schema.spent import SPENT as POSTGRES_SPENT
from stagepost.stores.sqlite.schema.spent import SPENT as SQLITE_SPENT
from support.older import deaf, folder_at, make_older_folder, make_older_schema
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


def test_of_an_older_folder(tmp_path: Path) -> None:
    before = {state: redrive() for state in STATES}
    old = "".join(script(of, state) for state, of in before.items())
    make_older_folder(tmp_path, SQLITE_SPENT, old)
    with folder_at(tmp_path) as connection:
        found = connection.execute("SELECT id, spec FROM mass_changes")
        rows = {f"{row[0]}": f"{row[1]}" for row in found}
    check(before, rows)


async def test_of_an_older_schema(postgres_server: Server, schema: str) -> None:
    before = {state: redrive() for state in STATES}
    old = "".join(script(of, state) for state, of in before.items())
    url = await make_older_schema(postgres_server.url, schema, POSTGRES_SPENT, old)
    await (await PostgresStore.open(url, SystemClock(), deaf)).close()
    connection = await asyncpg.connect(postgres_server.url)
    await connection.execute(f"SET search_path = {schema}")
    specs = await connection.fetch("SELECT id, spec FROM mass_changes")
    await connection.close()
    assert len(specs) == len(STATES)
    check(before, {str(row[0]): row[1] for row in specs})
