"""How long tasks took: a row for each type and size class."""

from collections.abc import Mapping, Sequence
from typing import Final

import apsw
import orjson

from stagepost.estimates import KEPT, History
from stagepost.stores.rows import HISTORY_ROWS, HISTORY_UNUSED, json
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.sqlite.writer import Writer

Times = Mapping[tuple[str, int], Sequence[int]]

_FIND: Final = "SELECT took FROM history WHERE type = ? AND size_class = ?"
_FORGET: Final = """
DELETE FROM history WHERE (type, size_class) IN (
    SELECT type, size_class FROM history WHERE at < ? LIMIT 100)"""


class SqliteHistory:
    """The Histories port."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def add(self, took: Times) -> None:
        """Keep more times."""
        await self._writer.call(Kind.CHANGE, _add, took)

    async def all(self) -> History:
        """Everything that is kept."""
        return await self._readers.call(_all)


def _add(tx: Transaction, arguments: list[Times]) -> Sequence[None]:
    for times in arguments:
        for (type_name, place), took in times.items():
            row = tx.row(_FIND, (type_name, place))
            kept = [*(orjson.loads(row[0]) if row else ()), *took][-KEPT:]
            tx.execute(
                "INSERT OR REPLACE INTO history (type, size_class, took, at) VALUES (?, ?, ?, ?)",
                (type_name, place, json(kept), tx.now),
            )
    tx.execute(_FORGET, (tx.now - HISTORY_UNUSED,))
    return [None] * len(arguments)


def _all(db: apsw.Connection) -> History:
    found: dict[str, dict[int, Sequence[int]]] = {}
    rows = db.execute("SELECT type, size_class, took FROM history LIMIT ?", (HISTORY_ROWS,))
    for type_name, place, took in rows:
        found.setdefault(type_name, {})[place] = orjson.loads(took)
    return found
