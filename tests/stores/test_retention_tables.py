"""Every table that names a task loses its rows with the task, or has a reason to keep them."""

from pathlib import Path

import apsw
import asyncpg
import pytest

from stagepost.bus import Committed
from stagepost.clock import SystemClock
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.postgres import schema as postgres_schema
from stagepost.stores.sqlite import schema as sqlite_schema
from stagepost.stores.sqlite.folder import DATABASE, DataFolder, open_writer
from stagepost.stores.tombstones import OWNED
from support.postgres import Server
from support.world import new_id

NAMES = {"task_id", "parent_id", "batch_id"}
REASONS = {
    "pool": "only tasks that can be claimed are in it, and those are never taken",
    "idempotency": "a key is remembered for a day, though its task is gone",
    "uploads": "an upload is taken with its blob; several tasks may use it",
    "upload_uses": "released, so that what nobody uses any more is swept",
    "tombstones": "they are what is left",
    "wakes": "notes for a batch that is gone are thrown away when they are looked at",
    "cancelling": "a task is not taken before all of its children have heard",
    "mass_tasks": "a redrive that is under way takes note that the task is gone",
    "unique_keys": "a trigger takes the key with the task",
    "keyed": "only tasks that are QUEUED or RUNNING are in it, and those are never taken",
    "calls": "the ledger outlives the task, and goes with its tombstone",
    "open_calls": "as the calls do; what is UNKNOWN stays so",
    "backlog": "counted by tenant: taken with the task, and counted no more",
    "backlog_batches": "as the backlog",
    "schedule_runs": "a schedule knows that it had this run; a task that is gone counts as over",
}


def check(tables: dict[str, set[str]]) -> None:
    naming = {table: columns & NAMES for table, columns in tables.items() if columns & NAMES}
    naming.pop("tasks", None)
    assert len(naming) > 8
    assert set(naming) <= set(OWNED) | set(REASONS)
    for table, column in OWNED.items():
        assert table not in tables or column in tables[table]


def test_of_sqlite() -> None:
    connection = apsw.Connection(":memory:")
    sqlite_schema.migrate(connection)
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema")]
    check({f"{name}": columns_of(connection, f"{name}") for name in names})


def columns_of(connection: apsw.Connection, table: str) -> set[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return {f"{row[0]}" for row in rows}


def _deaf(_: Committed) -> None:
    pass


async def test_of_postgres(postgres_server: Server, schema: str) -> None:
    url = f"{postgres_server.url}?schema={schema}"
    await (await PostgresStore.open(url, SystemClock(), _deaf)).close()
    connection = await asyncpg.connect(postgres_server.url)
    rows = await connection.fetch(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = $1",
        schema,
    )
    await connection.close()
    tables: dict[str, set[str]] = {}
    for table, column in rows:
        tables.setdefault(table, set()).add(column)
    check(tables)


# Folders and schemas from before uploads were counted

TASK = """
INSERT INTO tasks (id, tenant, "user", type, lane, status, created_at, deadline, ttl, max_attempts,
    run_at, input)
VALUES ('{id}', 'acme', 'ada', 'review', 'interactive', 'COMPLETED', 1, 1, 1, 1, 1, {input});"""
UPLOAD = """
INSERT INTO uploads (id, tenant, task_id, name, media_type, size, sha256, created_at)
VALUES ('{id}', 'acme', {task}, 'a', 'b', 1, 'sha', 1);
INSERT INTO blobs (key, staged_at, kept) VALUES ('{id}', 1, {kept});"""


def before(kept: str) -> tuple[str, dict[str, str]]:
    """A script that fills the tables of the first version, and the ids of what it has made."""
    ids = {name: new_id() for name in ("came", "named", "shared", "nobody", "first", "second")}
    first, second = ids["first"], ids["second"]
    files = (
        f'{{"a":"{ids["came"]}","b":"{ids["shared"]}"}}',
        f'["{ids["named"]}","{ids["shared"]}"]',
    )
    script = TASK.format(id=first, input=f"'{files[0]}'") + TASK.format(
        id=second, input=f"'{files[1]}'"
    )
    script += UPLOAD.format(id=ids["came"], task=f"'{first}'", kept=kept)
    for name in ("named", "shared", "nobody"):
        script += UPLOAD.format(id=ids[name], task="NULL", kept=kept)
    return script, ids


def expected(ids: dict[str, str]) -> tuple[set[tuple[str, str]], set[str]]:
    """Which task uses which upload, and which blobs are kept."""
    uses = {
        (ids["first"], ids["came"]),
        (ids["first"], ids["shared"]),
        (ids["second"], ids["named"]),
        (ids["second"], ids["shared"]),
    }
    return uses, {upload for _, upload in uses}


def test_an_older_folder_knows_afterwards_which_tasks_use_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, ids = before("1")
    with monkeypatch.context() as older:
        older.setattr(sqlite_schema, "MIGRATIONS", sqlite_schema.MIGRATIONS[:1])
        older.setattr(sqlite_schema, "VERSION", 1)
        folder = DataFolder(tmp_path)
        connection = open_writer(folder)
        connection.execute(script)
        connection.execute(
            "INSERT INTO inputs SELECT id, input FROM tasks WHERE id = ?", (ids["second"],)
        )
        connection.execute("UPDATE tasks SET input = NULL WHERE id = ?", (ids["second"],))
        connection.close()
        folder.release()
    folder = DataFolder(tmp_path)
    connection = open_writer(folder)
    uses = set(connection.execute("SELECT task_id, upload_id FROM upload_uses"))
    kept = {row[0] for row in connection.execute("SELECT key FROM blobs WHERE kept")}
    connection.close()
    folder.release()
    assert (uses, kept) == expected(ids)
    assert (tmp_path / f"{DATABASE}.v1").exists()


async def test_an_older_schema_knows_afterwards_which_tasks_use_what(
    postgres_server: Server, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, ids = before("true")
    url = f"{postgres_server.url}?schema={schema}"
    with monkeypatch.context() as older:
        older.setattr(postgres_schema, "MIGRATIONS", postgres_schema.MIGRATIONS[:1])
        older.setattr(postgres_schema, "VERSION", 1)
        await (await PostgresStore.open(url, SystemClock(), _deaf)).close()
    connection = await asyncpg.connect(postgres_server.url)
    await connection.execute(f"SET search_path = {schema}")
    await connection.execute(script)
    await (await PostgresStore.open(url, SystemClock(), _deaf)).close()
    rows = await connection.fetch("SELECT task_id, upload_id FROM upload_uses")
    kept = await connection.fetch("SELECT key FROM blobs WHERE kept")
    await connection.close()
    assert ({(str(row[0]), row[1]) for row in rows}, {row[0] for row in kept}) == expected(ids)
