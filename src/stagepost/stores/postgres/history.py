"""How long tasks took: a row for each type and size class."""

from collections.abc import Mapping, Sequence
from typing import Final

from stagepost.estimates import KEPT, History
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.rows import MS
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.rows import HISTORY_ROWS, HISTORY_UNUSED

Times = Mapping[tuple[str, int], Sequence[int]]

_ADD: Final = f"""
INSERT INTO history AS h (type, size_class, took, at)
VALUES ($2::text, $3::integer, $4::bigint[], {MS})
ON CONFLICT (type, size_class) DO UPDATE SET at = excluded.at,
    took = (h.took || excluded.took)[
        greatest(1, cardinality(h.took) + cardinality(excluded.took) - {KEPT - 1}):]"""
_FORGET: Final = f"""
DELETE FROM history WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM history WHERE at < {MS} - {HISTORY_UNUSED} LIMIT 100
    FOR UPDATE SKIP LOCKED))"""


class PostgresHistory:
    """The Histories port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add(self, took: Times) -> None:
        """Keep more times."""
        await self._engine.change(lambda tx: _add(tx, took))

    async def all(self) -> History:
        """Everything that is kept."""
        return await self._engine.read(_all)


async def _add(tx: Transaction, took: Times) -> None:
    # In one order everywhere, so that two processes with the same rows wait for each other in turn.
    rows = [(*place, list(times)[-KEPT:]) for place, times in sorted(took.items())]
    async with tx.connection.transaction():
        for row in rows:
            await tx.connection.execute(_ADD, tx.moment.last, *row)
        await tx.connection.execute(_FORGET, tx.moment.last)


async def _all(db: Backend) -> History:
    found: dict[str, dict[int, Sequence[int]]] = {}
    statement = "SELECT type, size_class, took FROM history LIMIT $1::integer"
    for type_name, place, took in await db.fetch(statement, HISTORY_ROWS):
        found.setdefault(type_name, {})[place] = took
    return found
