"""The seals in a database, read over a connection of its own."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg

from stagepost.errors import StoreRefused
from stagepost.store.seals import SealReading
from stagepost.stores.postgres import refusals, schema
from stagepost.stores.postgres.address import Address, address_of
from stagepost.stores.postgres.connections import Backend, connect
from stagepost.stores.postgres.opening import refusal
from stagepost.stores.postgres.schema.seals import SEALS
from stagepost.stores.postgres.seals import placed
from stagepost.stores.seals import ReadSeals

_SEALED_FROM: Final = [each.script for each in schema.MIGRATIONS].index(SEALS) + 1


@asynccontextmanager
async def read_seals(url: str) -> AsyncIterator[SealReading]:
    """What a verification reads; nothing is written. Raises StoreRefused, StoreUnavailable."""
    address = address_of(url)
    connection = await _open(address)

    async def ask(statement: str, values: Sequence[Any]) -> Sequence[Any]:
        try:
            return [tuple(row) for row in await connection.fetch(statement, *values)]
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise refusals.refusal(error) from error

    try:
        yield ReadSeals(ask, placed)
    finally:
        connection.terminate()


async def _open(address: Address) -> Backend:
    try:
        connection = await connect(address)
        found = await schema.found_in(connection)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreRefused(refusal(address, error)) from error
    if found.version < _SEALED_FROM or found.oldest > schema.VERSION:
        connection.terminate()
        raise StoreRefused(
            f"The schema {address.schema} has version {found.version}, which holds no seals that "
            "this Stagepost knows; open it with this version first."
        )
    return connection
