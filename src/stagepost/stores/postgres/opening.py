"""Whether the database can be used, and one sentence with the remedy where it can't."""

from typing import Final

import asyncpg
from asyncpg import exceptions as pg

from stagepost.errors import StoreRefused
from stagepost.stores.postgres.address import Address
from stagepost.stores.postgres.connections import Backend, connect
from stagepost.stores.postgres.schema import migrate

OLDEST_SERVER: Final = 13
"""The oldest version of PostgreSQL that the store works on."""


async def prepare(address: Address) -> Backend:
    """A connection to a schema that is up to date. Raises StoreRefused."""
    try:
        backend = await connect(address)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreRefused(refusal(address, error)) from error
    try:
        await _check(address, backend)
        await migrate(backend, address.schema)
    except BaseException as error:
        backend.terminate()
        if isinstance(error, (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)):
            raise StoreRefused(refusal(address, error)) from error
        raise
    return backend


async def _check(address: Address, backend: Backend) -> None:
    version = backend.get_server_version()
    if version.major < OLDEST_SERVER:
        raise StoreRefused(
            f"{address.shown} is PostgreSQL {version.major}; Stagepost needs "
            f"{OLDEST_SERVER} or newer."
        )
    if await backend.fetchval("SELECT pg_is_in_recovery() OR current_setting($1)::boolean", _ONLY):
        raise StoreRefused(f"{address.shown} is read-only, as a standby is; name the primary.")


_ONLY = "default_transaction_read_only"


def refusal(address: Address, error: Exception) -> str:
    """Why the database can't be opened, in one sentence with the remedy."""
    place = address.shown
    match error:
        case pg.InvalidPasswordError() | pg.InvalidAuthorizationSpecificationError():
            return f"{place} refuses this user and password; correct them in STAGEPOST_STORE."
        case pg.InvalidCatalogNameError():
            return f"{place} names a database that does not exist; create it with createdb."
        case pg.InsufficientPrivilegeError():
            return (
                f"The role may not make or use the schema {address.schema} in {place}: "
                "GRANT CREATE ON DATABASE, or let the schema's owner open it first."
            )
        case pg.TooManyConnectionsError():
            return f"{place} has no connection left; raise its max_connections."
        case pg.CannotConnectNowError():
            return f"{place} is starting or stopping; try again in a moment."
        case pg.LockNotAvailableError() | pg.QueryCanceledError():
            return f"Another process has been migrating {place} for long; try again when it ends."
        case OSError():
            return f"No PostgreSQL server answers at {place}; start it, or correct STAGEPOST_STORE."
    return f"{place} can't be used ({type(error).__name__}); see the server's log."
