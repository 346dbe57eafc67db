"""A look at a database that changes nothing in it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import asyncpg

from stagepost.stores.postgres.address import address_of
from stagepost.stores.postgres.connections import Backend, connect
from stagepost.stores.postgres.opening import refusal
from stagepost.stores.postgres.schema import found_in

_PLAIN: Final = """
SELECT pg_is_in_recovery() AS standby,
       current_setting('default_transaction_read_only') = 'on' AS read_only,
       current_setting('fsync') = 'on' AS fsync,
       current_setting('full_page_writes') = 'on' AS whole_pages,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('synchronous_standby_names') AS standby_names,
       current_setting('max_connections')::integer AS most,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
       pg_database_size(current_database()) AS size"""
_RIGHTS: Final = """
SELECT CASE WHEN to_regnamespace($1) IS NULL
    THEN has_database_privilege(current_database(), 'CREATE')
    ELSE has_schema_privilege($1, 'CREATE') AND has_schema_privilege($1, 'USAGE') END"""
_WAITING: Final = "SELECT split_part(type, '/', 1), count(*) FROM pool GROUP BY 1"
_NOW: Final = "SELECT extract(epoch FROM clock_timestamp())::double precision"
_CLOCK_LOOKS: Final = 3


@dataclass(frozen=True, slots=True)
class Look:
    """What a server and its database say of themselves. `place` holds no password.

    `trouble` says why nothing could be seen, with the remedy. `ahead` is how many seconds its clock
    is before this machine's; `version` and `oldest` are 0 where there is no schema yet; `waiting`
    counts the tasks that can be claimed, by type. Sizes are bytes.
    """

    place: str
    trouble: str = ""
    server: int = 0
    standby: bool = False
    read_only: bool = False
    fsync: bool = True
    whole_pages: bool = True
    synchronous_commit: str = "on"
    standby_names: str = ""
    most: int = 0
    used: int = 0
    size: int = 0
    schema: str = ""
    rights: bool = True
    version: int = 0
    oldest: int = 0
    ahead: float = 0.0
    waiting: Mapping[str, int] = field(default_factory=dict)


async def inspect(url: str) -> Look:
    """Look at the database of a store's address. Raises StoreRefused for what is no address."""
    address = address_of(url)
    look = Look(address.shown, schema=address.schema)
    try:
        backend = await connect(address)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return replace(look, trouble=refusal(address, error))
    try:
        return await _seen(look, backend)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return replace(look, trouble=refusal(address, error))
    finally:
        backend.terminate()


async def _seen(look: Look, backend: Backend) -> Look:
    plain: Any = await backend.fetchrow(_PLAIN)
    found = await found_in(backend)
    return replace(
        look,
        **dict(plain),
        server=backend.get_server_version().major,
        rights=await backend.fetchval(_RIGHTS, look.schema),
        version=found.version,
        oldest=found.oldest,
        ahead=await _ahead(backend),
        waiting=dict(await backend.fetch(_WAITING)) if found.version else {},
    )


async def _ahead(backend: Backend) -> float:
    """By the quickest of a few answers, from the middle of its way."""
    looks: list[tuple[float, float]] = []
    for _ in range(_CLOCK_LOOKS):
        began = time.monotonic()
        theirs = await backend.fetchval(_NOW)
        took = time.monotonic() - began
        looks.append((took, theirs - (time.time() - took / 2)))
    return min(looks)[1]
