"""The limits that people have set, in PostgreSQL."""

from collections.abc import Sequence
from typing import Final

from stagepost.errors import NotFound
from stagepost.limit import MOST_LIMITS, Limit
from stagepost.stores.limits import freed, too_many_limits
from stagepost.stores.postgres import changes
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.rows import known
from stagepost.stores.postgres.transaction import Transaction

_ALL: Final = "SELECT name, units, seconds, burst, at_once FROM limits ORDER BY name"
_FULL: Final = """
SELECT count(*) >= $2 AND NOT bool_or(name = $1::text) FROM limits"""
_PUT: Final = """
INSERT INTO limits VALUES ($1::text, $2::bigint, $3::double precision, $4::bigint, $5::integer)
ON CONFLICT (name) DO UPDATE SET units = excluded.units, seconds = excluded.seconds,
    burst = excluded.burst, at_once = excluded.at_once
RETURNING xmax = 0"""
_DROP: Final = "DELETE FROM limits WHERE name = $1::text RETURNING name"


class PostgresLimits:
    """The LimitRules port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def all(self) -> Sequence[Limit]:
        """All of them by name."""
        return await self._engine.read(_all)

    async def put(self, limit: Limit) -> bool:
        """Set a limit."""
        return await self._engine.change(lambda tx: _put(tx, limit))

    async def drop(self, name: str) -> None:
        """Take a limit away."""
        await self._engine.change(lambda tx: _drop(tx, name))

    async def wake(self, task_ids: Sequence[str]) -> Sequence[str]:
        """Tasks that wait for a limit go on."""
        return await self._engine.change(lambda tx: _wake(tx, task_ids))


async def _wake(tx: Transaction, task_ids: Sequence[str]) -> Sequence[str]:
    async with tx.connection.transaction():
        tasks = await changes.lock(tx, filter(known, task_ids))
        found = [(task, freed(task, tx.moment.last)) for task in tasks.values()]
        pairs = [(task, change) for task, change in found if change is not None]
        await changes.save(tx, pairs)
    return [task.id for task, _ in pairs]


async def _all(connection: Backend) -> Sequence[Limit]:
    return [Limit(*row) for row in await connection.fetch(_ALL)]


async def _put(tx: Transaction, limit: Limit) -> bool:
    # Two at once may pass the bound by one, which bounds it all the same.
    if await tx.connection.fetchval(_FULL, limit.name, MOST_LIMITS):
        raise too_many_limits()
    row = (limit.name, limit.units, limit.window, limit.burst, limit.at_once)
    return bool(await tx.connection.fetchval(_PUT, *row)) or tx.again


async def _drop(tx: Transaction, name: str) -> None:
    if await tx.connection.fetchval(_DROP, name) is None and not tx.again:
        raise NotFound(f'No limit "{name}" was set.')
