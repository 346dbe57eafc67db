"""The seals in a data folder, read beside whoever has it open, or while nobody has."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import apsw

from stagepost.errors import StoreRefused, StoreUnavailable
from stagepost.store.seals import SealReading
from stagepost.stores.seals import ReadSeals
from stagepost.stores.sqlite import refusals, schema
from stagepost.stores.sqlite.folder import BUSY_TIMEOUT, DATABASE
from stagepost.stores.sqlite.schema.seals import SEALS
from stagepost.stores.sqlite.seals import placed

_FLAGS: Final = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_SEALED_FROM: Final = schema.MIGRATIONS.index(SEALS) + 1


@asynccontextmanager
async def read_seals(folder: Path) -> AsyncIterator[SealReading]:
    """What a verification reads; nothing is written. Raises StoreRefused, StoreUnavailable."""
    database = folder / DATABASE
    if not database.exists():
        raise StoreRefused(f"There is no ledger in {folder}; name the data folder with --data.")
    alone = _is_alone(database)
    before = database.stat()
    connection = await asyncio.to_thread(_open, database, alone)

    async def ask(statement: str, values: Sequence[Any]) -> Sequence[Any]:
        return await asyncio.to_thread(_fetch, connection, statement, values)

    try:
        yield ReadSeals(ask, placed)
    finally:
        connection.close()
    after = database.stat()
    same = (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    if alone and not (same and _is_alone(database)):
        raise StoreUnavailable("A server has opened the data folder meanwhile; verify again.")


def _is_alone(database: Path) -> bool:
    """Whether nobody has the database open: then it can be read without making files beside it."""
    log = database.with_name(f"{DATABASE}-wal")
    return not log.exists()


def _fetch(connection: apsw.Connection, statement: str, values: Sequence[Any]) -> list[Any]:
    try:
        return connection.execute(statement, values).fetchall()
    except apsw.Error as error:
        raise refusals.refusal(error) from error


def _open(database: Path, alone: bool) -> apsw.Connection:  # noqa: FBT001  # private
    mode = "mode=ro&immutable=1" if alone else "mode=ro"
    try:
        connection = apsw.Connection(f"{database.absolute().as_uri()}?{mode}", flags=_FLAGS)
        connection.set_busy_timeout(BUSY_TIMEOUT)
        version = schema.version_of(connection)
    except apsw.Error as error:
        raise StoreRefused(f"{database} can't be read ({error}).") from error
    if not _SEALED_FROM <= version <= schema.VERSION:
        connection.close()
        raise StoreRefused(
            f"{database} has schema {version}, which holds no seals that this Stagepost knows; "
            "open it with `stagepost up` of this version first."
        )
    return connection
