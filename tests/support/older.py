"""Folders and schemas as an older version has left them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import asyncpg
import pytest

from stagepost.bus import Committed
from stagepost.clock import SystemClock
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.postgres import schema as postgres_schema
from stagepost.stores.sqlite import schema as sqlite_schema
from stagepost.stores.sqlite.folder import DataFolder, open_writer


def deaf(_: Committed) -> None:
    """Nobody is told of what is committed."""


@contextmanager
def folder_at(path: Path) -> Iterator[apsw.Connection]:
    """A connection to a folder's database, which is brought up to this version first."""
    folder = DataFolder(path)
    connection = open_writer(folder)
    try:
        yield connection
    finally:
        connection.close()
        folder.release()


def make_older_folder(path: Path, before: str, script: str) -> None:
    """A folder of the version before a migration's script, in which another script was run."""
    number = sqlite_schema.MIGRATIONS.index(before)
    with pytest.MonkeyPatch.context() as older:
        older.setattr(sqlite_schema, "MIGRATIONS", sqlite_schema.MIGRATIONS[:number])
        older.setattr(sqlite_schema, "VERSION", number)
        with folder_at(path) as connection:
            connection.execute(script)


async def make_older_schema(url: str, schema: str, before: str, script: str) -> str:
    """The same of a schema in the database at `url`; answers the store's address of it."""
    address = f"{url}?schema={schema}"
    number = [each.script for each in postgres_schema.MIGRATIONS].index(before)
    with pytest.MonkeyPatch.context() as older:
        older.setattr(postgres_schema, "MIGRATIONS", postgres_schema.MIGRATIONS[:number])
        older.setattr(postgres_schema, "VERSION", number)
        await (await PostgresStore.open(address, SystemClock(), deaf)).close()
    connection = await asyncpg.connect(url)
    await connection.execute(f"SET search_path = {schema}")
    await connection.execute(script)
    await connection.close()
    return address
