"""What every store asks of its seals, in the same words, and between their rows and data."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from stagepost.audit.entries import BEGUN, ENDED, CallRow, Entry, Fact
from stagepost.audit.faults import Held
from stagepost.audit.seals import Seal
from stagepost.calls import PAGE_MOST, CallState
from stagepost.store.seals import Scanned

Ask = Callable[[str, Sequence[Any]], Awaitable[Sequence[Sequence[Any]]]]
"""The rows of a statement with these values."""

Value = Callable[[int, str], str]
"""What stands in a statement for its n-th value, which has one of PostgreSQL's types."""

SEAL_COLUMNS: Final = "tenant, n, at, first, last, entries, digest, chained"
ROW_COLUMNS: Final = ", ".join(f'c."{name}"' for name in (*BEGUN, "state", *ENDED, "kind"))
_FLAGS: Final = frozenset({"maybe_billed", "late", "redacted"})
_IDS: Final = frozenset({"id", "task_id"})
_FIRST: Final = "00000000-0000-0000-0000-000000000000"


def row_of(columns: Sequence[Any]) -> CallRow | None:
    """A CallRow from ROW_COLUMNS; None where an outer join has found none."""
    if columns[0] is None:
        return None
    cut = len(BEGUN)
    begun, state, ended, kind = columns[:cut], columns[cut], columns[cut + 1 : -1], columns[-1]
    return CallRow(
        tuple(str(v) if name in _IDS else v for name, v in zip(BEGUN, begun, strict=True)),
        CallState(state),
        # A flag is a number to SQLite.
        tuple(bool(v) if name in _FLAGS else v for name, v in zip(ENDED, ended, strict=True)),
        kind,
    )


def seal_of(row: Sequence[Any]) -> Seal:
    """A Seal from SEAL_COLUMNS."""
    tenant, n, at, first, last, *rest = row
    return Seal(tenant, n, at, str(first), str(last), *rest)


def several(table: str, after: str, limit: str) -> str:
    """A page of the tenants in a table, read by one look-up in its key for each."""
    return f"""
    WITH RECURSIVE t (tenant) AS (
        SELECT (SELECT min(s.tenant) FROM {table} AS s WHERE s.tenant > {after})
        UNION ALL SELECT (SELECT min(s.tenant) FROM {table} AS s WHERE s.tenant > t.tenant)
        FROM t WHERE t.tenant IS NOT NULL)
    SELECT tenant FROM t WHERE tenant IS NOT NULL LIMIT {limit}"""


class ReadSeals:
    """The SealReading port over whatever answers statements."""

    def __init__(self, ask: Ask, value: Value) -> None:
        self._ask = ask
        self._value = value

    async def tenants(self, after: str, limit: int) -> Sequence[str]:
        """Those that have seals."""
        return await self._tenants("seals", after, limit)

    async def waiting_tenants(self, after: str, limit: int) -> Sequence[str]:
        """Those that have something to be sealed."""
        return await self._tenants("unsealed", after, limit)

    async def _tenants(self, table: str, after: str, limit: int) -> Sequence[str]:
        statement = several(table, self._value(1, "text"), self._value(2, "bigint"))
        rows = await self._ask(statement, (after, min(limit, PAGE_MOST)))
        return [row[0] for row in rows]

    async def chain(self, tenant: str, after: int, limit: int) -> Sequence[Seal]:
        """A page of seals."""
        v = self._value
        statement = f"""SELECT {SEAL_COLUMNS} FROM seals
            WHERE tenant = {v(1, "text")} AND n > {v(2, "bigint")}
            ORDER BY n LIMIT {v(3, "bigint")}"""
        rows = await self._ask(statement, (tenant, after, min(limit, PAGE_MOST)))
        return list(map(seal_of, rows))

    async def last(self, tenant: str) -> int:
        """The end of a chain."""
        statement = f"""SELECT n FROM seals WHERE tenant = {self._value(1, "text")}
            ORDER BY n DESC LIMIT 1"""
        rows = await self._ask(statement, (tenant,))
        return rows[0][0] if rows else 0

    async def held(self, tenant: str, n: int) -> Sequence[Held]:
        """Entries with the rows of their calls."""
        statement = f"""SELECT e.call_id, e.fact, e.digest,
            EXISTS (SELECT 1 FROM seal_entries AS g
                WHERE g.call_id = e.call_id AND g.fact = 'GONE')
            OR EXISTS (SELECT 1 FROM unsealed AS u WHERE u.tenant = e.tenant
                AND u.call_id = e.call_id AND u.fact = 'GONE'), {ROW_COLUMNS}
            FROM seal_entries AS e LEFT JOIN calls AS c ON c.id = e.call_id
            WHERE e.tenant = {self._value(1, "text")} AND e.n = {self._value(2, "bigint")}
            ORDER BY e.no"""
        rows = await self._ask(statement, (tenant, n))
        return [
            Held(Entry(str(row[0]), Fact(row[1]), row[2]), row_of(row[4:]), gone=bool(row[3]))
            for row in rows
        ]

    async def scan(self, after: str | None, limit: int) -> Sequence[Scanned]:
        """A page of calls."""
        statement = f"""SELECT c.id, c.tenant, c.state <> 'INTENT'
            AND NOT EXISTS (SELECT 1 FROM seal_entries AS e
                WHERE e.call_id = c.id AND e.fact = c.state AND e.tenant = c.tenant)
            AND NOT EXISTS (SELECT 1 FROM unsealed AS u
                WHERE u.tenant = c.tenant AND u.call_id = c.id AND u.fact = c.state)
            FROM calls AS c WHERE c.id > {self._value(1, "uuid")}
            ORDER BY c.id LIMIT {self._value(2, "bigint")}"""
        rows = await self._ask(statement, (after or _FIRST, min(limit, PAGE_MOST)))
        return [Scanned(str(row[0]), row[1], loose=bool(row[2])) for row in rows]

    async def waiting(self) -> Mapping[str, int]:
        """What is not sealed, counted."""
        rows = await self._ask("SELECT tenant, count(*) FROM unsealed GROUP BY tenant", ())
        return {row[0]: row[1] for row in rows}

    async def unsent_counts(self) -> Mapping[str, int]:
        """What no anchor has, counted."""
        statement = "SELECT tenant, count(*) FROM seals WHERE sent_at IS NULL GROUP BY tenant"
        return {row[0]: row[1] for row in await self._ask(statement, ())}

    async def unsent(self, limit: int) -> Sequence[Seal]:
        """What no anchor has."""
        statement = f"""SELECT {SEAL_COLUMNS} FROM seals WHERE sent_at IS NULL
            ORDER BY tenant, n LIMIT {self._value(1, "bigint")}"""
        return list(map(seal_of, await self._ask(statement, (min(limit, PAGE_MOST),))))
