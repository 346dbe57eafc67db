"""The limits that people have set, in the embedded store."""

from collections.abc import Sequence

import apsw

from stagepost.errors import Conflict, NotFound
from stagepost.limit import MOST_LIMITS, Limit
from stagepost.stores.limits import freed, too_many_limits
from stagepost.stores.sqlite import changes
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.sqlite.writer import Writer


class SqliteLimits:
    """The LimitRules port."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def all(self) -> Sequence[Limit]:
        """All of them by name."""
        return await self._readers.call(_all)

    async def put(self, limit: Limit) -> bool:
        """Set a limit."""
        new: bool = await self._writer.call(Kind.CHANGE, _put, limit)
        return new

    async def drop(self, name: str) -> None:
        """Take a limit away."""
        await self._writer.call(Kind.CHANGE, _drop, name)

    async def wake(self, task_ids: Sequence[str]) -> Sequence[str]:
        """Tasks that wait for a limit go on."""
        woken: Sequence[str] = await self._writer.call(Kind.CHANGE, _wake, task_ids)
        return woken


def _wake(tx: Transaction, arguments: list[Sequence[str]]) -> Sequence[Sequence[str]]:
    return [
        [task_id for task_id in task_ids if changes.apply_each(tx, [task_id], freed)]
        for task_ids in arguments
    ]


def _all(connection: apsw.Connection) -> Sequence[Limit]:
    rows = connection.execute(
        "SELECT name, units, window, burst, at_once FROM limits ORDER BY name"
    )
    return [Limit(*row) for row in rows]


def _put(tx: Transaction, arguments: list[Limit]) -> Sequence[bool | Conflict]:
    return [_put_one(tx, limit) for limit in arguments]


def _put_one(tx: Transaction, limit: Limit) -> bool | Conflict:
    known = tx.value("SELECT count(*) FROM limits WHERE name = ?", (limit.name,))
    if not known and tx.value("SELECT count(*) FROM limits") >= MOST_LIMITS:
        return too_many_limits()
    row = (limit.name, limit.units, limit.window, limit.burst, limit.at_once)
    tx.execute("INSERT OR REPLACE INTO limits VALUES (?, ?, ?, ?, ?)", row)
    return not known


def _drop(tx: Transaction, arguments: list[str]) -> Sequence[NotFound | None]:
    results: list[NotFound | None] = []
    for name in arguments:
        dropped = tx.rows("DELETE FROM limits WHERE name = ? RETURNING name", (name,))
        results.append(None if dropped else NotFound(f'No limit "{name}" was set.'))
    return results
