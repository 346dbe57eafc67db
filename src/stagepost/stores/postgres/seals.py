"""The Seals port in PostgreSQL."""

from collections.abc import Sequence
from typing import Any, Final

from stagepost.audit.entries import Entry, Fact, entry_of, in_order
from stagepost.audit.seals import ENTRIES_MOST, Seal, sealed
from stagepost.stores.postgres import looking
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.rows import MS
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.seals import ROW_COLUMNS, SEAL_COLUMNS, ReadSeals, row_of, seal_of

_ALONE: Final = "LOCK TABLE seals IN SHARE ROW EXCLUSIVE MODE"
"""Of several that seal at once one does; nobody who reads waits."""

_WAITING: Final = """
SELECT call_id, fact FROM unsealed WHERE tenant = $1::text ORDER BY call_id LIMIT $2::bigint"""
_ROWS: Final = f"SELECT {ROW_COLUMNS} FROM calls AS c WHERE c.id = ANY($1::uuid[])"
_LAST: Final = f"SELECT {SEAL_COLUMNS} FROM seals WHERE tenant = $1::text ORDER BY n DESC LIMIT 1"
_SEAL: Final = f"""
INSERT INTO seals ({SEAL_COLUMNS}) VALUES ($1::text, $2::bigint, $3::bigint, $4::uuid, $5::uuid,
    $6::bigint, $7::text, $8::text)"""
_ENTRIES: Final = """
INSERT INTO seal_entries SELECT $1::text, $2::bigint, r.no - 1, r.call_id, r.fact, r.digest
FROM unnest($3::uuid[], $4::text[], $5::text[]) WITH ORDINALITY AS r (call_id, fact, digest, no)"""
_DONE: Final = """
DELETE FROM unsealed AS u USING unnest($2::uuid[], $3::text[]) AS r (call_id, fact)
WHERE u.tenant = $1::text AND u.call_id = r.call_id AND u.fact = r.fact"""
_SENT: Final = f"""
UPDATE seals SET sent_at = {MS} WHERE tenant = $2 AND n = $3 AND chained = $4"""
"""Only one that was sent, though another may have its number by now.

One at a time, all in one round trip: a plan for many that was made while there were few would read
the whole table for each.
"""


class PostgresSeals(ReadSeals):
    """Over the store's engine."""

    def __init__(self, engine: Engine) -> None:
        async def ask(statement: str, values: Sequence[Any]) -> Sequence[Any]:
            rows: Sequence[Any] = await engine.read(lambda db: db.fetch(statement, *values))
            return [tuple(row) for row in rows]

        super().__init__(ask, placed)
        self._engine = engine

    async def seal(self, tenants: Sequence[str], limit: int) -> int:
        """One seal for each tenant."""
        return await self._engine.change(lambda tx: _seal_all(tx, tenants, limit))

    async def sent(self, seals: Sequence[Seal]) -> None:
        """An anchor has these."""
        await self._engine.change(
            lambda tx: tx.connection.executemany(
                _SENT, [(tx.moment.last, seal.tenant, seal.n, seal.chained) for seal in seals]
            )
        )


def placed(number: int, kind: str) -> str:
    """A value by its number, with its type."""
    return f"${number}::{kind}"


async def _seal_all(tx: Transaction, tenants: Sequence[str], limit: int) -> int:
    count = 0
    async with tx.connection.transaction():
        await tx.connection.execute(_ALONE)
        now = tx.moment.saw(await looking.now(tx.connection, tx.moment.last))
        for tenant in tenants:
            count += await _seal_one(tx, tenant, now, min(limit - count, ENTRIES_MOST))
    return count


async def _seal_one(tx: Transaction, tenant: str, now: int, limit: int) -> int:
    db = tx.connection
    found = await db.fetch(_WAITING, tenant, limit)
    waiting = in_order([(str(row[0]), Fact(row[1])) for row in found])
    if not waiting:
        return 0
    rows = await db.fetch(_ROWS, [call_id for call_id, _ in waiting])
    calls = {str(row[0]): row_of(tuple(row)) for row in rows}
    entries = [entry_of(call_id, fact, calls.get(call_id)) for call_id, fact in waiting]
    last = await db.fetchrow(_LAST, tenant)
    seal = sealed(None if last is None else seal_of(tuple(last)), tenant, now, entries)
    await db.execute(_SEAL, *seal)
    await _keep(tx, seal, entries)
    return len(entries)


async def _keep(tx: Transaction, seal: Seal, entries: Sequence[Entry]) -> None:
    ids, facts = [each.call_id for each in entries], [each.fact.value for each in entries]
    digests = [each.digest for each in entries]
    await tx.connection.execute(_ENTRIES, seal.tenant, seal.n, ids, facts, digests)
    await tx.connection.execute(_DONE, seal.tenant, ids, facts)
