"""The Seals port in the embedded store."""

from collections.abc import Sequence
from typing import Any, Final

from stagepost.audit.entries import Entry, Fact, entry_of, in_order
from stagepost.audit.seals import ENTRIES_MOST, Seal, sealed
from stagepost.stores.seals import ROW_COLUMNS, SEAL_COLUMNS, ReadSeals, row_of, seal_of
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.sqlite.writer import Writer

_WAITING: Final = "SELECT call_id, fact FROM unsealed WHERE tenant = ? ORDER BY call_id LIMIT ?"
_ROW: Final = f"SELECT {ROW_COLUMNS} FROM calls AS c WHERE c.id = ?"
_LAST: Final = f"SELECT {SEAL_COLUMNS} FROM seals WHERE tenant = ? ORDER BY n DESC LIMIT 1"


class SqliteSeals(ReadSeals):
    """Reads by the readers, writes by the writer."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        async def ask(statement: str, values: Sequence[Any]) -> Sequence[Any]:
            return await readers.call(lambda db: db.execute(statement, values).fetchall())

        super().__init__(ask, placed)
        self._writer = writer

    async def seal(self, tenants: Sequence[str], limit: int) -> int:
        """One seal for each tenant."""
        count: int = await self._writer.call(Kind.CHANGE, _seal, (tenants, limit))
        return count

    async def sent(self, seals: Sequence[Seal]) -> None:
        """An anchor has these."""
        await self._writer.call(Kind.CHANGE, _sent, seals)


def placed(number: int, kind: str) -> str:
    """A value by its number; SQLite needs no type."""
    del kind
    return f"?{number}"


def _seal(tx: Transaction, arguments: list[tuple[Sequence[str], int]]) -> Sequence[int]:
    return [_seal_all(tx, *argument) for argument in arguments]


def _seal_all(tx: Transaction, tenants: Sequence[str], limit: int) -> int:
    count = 0
    for tenant in tenants:
        count += _seal_one(tx, tenant, min(limit - count, ENTRIES_MOST))
    return count


def _seal_one(tx: Transaction, tenant: str, limit: int) -> int:
    waiting = in_order([(id_, Fact(fact)) for id_, fact in tx.rows(_WAITING, (tenant, limit))])
    if not waiting:
        return 0
    entries = [_entry(tx, call_id, fact) for call_id, fact in waiting]
    last = tx.row(_LAST, (tenant,))
    seal = sealed(None if last is None else seal_of(last), tenant, tx.now, entries)
    tx.execute(f"INSERT INTO seals ({SEAL_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", seal)
    for no, entry in enumerate(entries):
        values = (tenant, seal.n, no, entry.call_id, entry.fact.value, entry.digest)
        tx.execute("INSERT INTO seal_entries VALUES (?, ?, ?, ?, ?, ?)", values)
        tx.execute(
            "DELETE FROM unsealed WHERE tenant = ? AND call_id = ? AND fact = ?",
            (tenant, entry.call_id, entry.fact.value),
        )
    return len(entries)


def _entry(tx: Transaction, call_id: str, fact: Fact) -> Entry:
    row = tx.row(_ROW, (call_id,))
    return entry_of(call_id, fact, None if row is None else row_of(row))


def _sent(tx: Transaction, arguments: list[Sequence[Seal]]) -> Sequence[None]:
    for seals in arguments:
        for seal in seals:
            # Only the one that was sent, though another may have its number by now.
            tx.execute(
                "UPDATE seals SET sent_at = ? WHERE tenant = ? AND n = ? AND chained = ?",
                (tx.now, seal.tenant, seal.n, seal.chained),
            )
    return [None] * len(arguments)
