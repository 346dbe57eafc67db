"""A schema one version further than the code that is tested, as the next version would leave it."""

from typing import Final

import asyncpg
import pytest

from stagepost.bus import Committed
from stagepost.clock import SystemClock
from stagepost.stores.postgres import PostgresStore, schema
from stagepost.stores.postgres.address import address_of
from stagepost.stores.postgres.schema import ITS_OWN, Migration

# One column that old code leaves empty and one that it leaves at its default.
_WIDER: Final = """
CREATE TABLE next (task_id uuid PRIMARY KEY, note text);
DO $$ DECLARE found record; BEGIN
    FOR found IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() {some} LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN next_note text', found.tablename);
        EXECUTE format('ALTER TABLE %I ADD COLUMN next_many bigint NOT NULL DEFAULT 7',
            found.tablename);
    END LOOP;
END $$;
CREATE INDEX next_by_note ON tasks (next_note) WHERE next_note IS NOT NULL"""

EXPAND: Final = Migration(_WIDER.format(some="AND tablename = 'tasks'"), oldest=schema.OLDEST)
"""Adds what the next version needs; the tested one can work on what it leaves."""

EXPAND_ALL: Final = Migration(_WIDER.format(some=""), oldest=schema.OLDEST)
"""The same to every table, for which nobody else may hold a lock."""

CONTRACT: Final = Migration("DROP TABLE tags", oldest=ITS_OWN)
"""Takes away what the tested version uses."""


_COLUMNS: Final = """
SELECT table_name, string_agg(column_name || ' ' || data_type, ', ' ORDER BY ordinal_position)
FROM information_schema.columns WHERE table_schema = current_schema() GROUP BY table_name"""
_ROWS: Final = "SELECT t::text FROM {} AS t ORDER BY 1"


async def upgrade(url: str, *migrations: Migration) -> None:
    """What the first process of a newer version does at its start, and no more."""
    version = schema.VERSION + len(migrations)
    oldest = max(schema.OLDEST, *(each.oldest or version for each in migrations))
    with pytest.MonkeyPatch.context() as newer:
        newer.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, *migrations))
        newer.setattr(schema, "VERSION", version)
        newer.setattr(schema, "OLDEST", oldest)
        await (await PostgresStore.open(url, SystemClock(), _deaf)).close()


async def everything(url: str) -> dict[str, list[str]]:
    """The columns of every table, then its rows, as text."""
    address = address_of(url)
    settings = {"search_path": address.schema}
    connection = await asyncpg.connect(address.url, server_settings=settings)
    try:
        tables = await connection.fetch(_COLUMNS)
        return {
            name: [columns, *(row[0] for row in await connection.fetch(_ROWS.format(name)))]
            for name, columns in tables
        }
    finally:
        await connection.close()


async def drop(url: str) -> None:
    """Remove a schema."""
    address = address_of(url)
    connection = await asyncpg.connect(address.url)
    await connection.execute(f"DROP SCHEMA {address.schema} CASCADE")
    await connection.close()


def _deaf(_: Committed) -> None:
    pass
