"""How many tasks of a tenant wait to start, and whether it may have one more.

A task that is accepted for a tenant with a quota gets a row in `backlog`. Nobody takes it out when
the task starts, which would cost every claim: rows of tasks that have started are found and taken
out only when a tenant has no room left, a page from the front, where the oldest wait, and one page
further on each time; the others go with their tasks. Whoever counts a tenant's backlog has its row
of `backlogs` locked, so that many processes keep one quota together.
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from stagepost.records import NewTask
from stagepost.stores.accepting import tenant_full
from stagepost.stores.postgres.batch import Answer, Batch
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.transaction import Transaction

_PAGE: Final = 1_000
"""Rows of a backlog that one look takes, twice in a transaction."""

_FIRST: Final = "00000000-0000-0000-0000-000000000000"

_LOCK: Final = """
SELECT tenant, waiting, looked_up_to FROM backlogs WHERE tenant = ANY($1::text[])
ORDER BY tenant FOR UPDATE"""
_NEW: Final = f"""
INSERT INTO backlogs (tenant, waiting, looked_up_to)
SELECT tenant, 0, '{_FIRST}' FROM unnest($1::text[]) AS tenant ON CONFLICT DO NOTHING"""

_CLEAN: Final = f"""
WITH page AS MATERIALIZED (
    SELECT task_id FROM backlog WHERE tenant = $1::text AND task_id > $2::uuid
    ORDER BY task_id LIMIT {_PAGE}
), begun AS MATERIALIZED (
    SELECT page.task_id FROM page LEFT JOIN tasks AS t ON t.id = page.task_id
    WHERE t.id IS NULL OR t.fence > 0 OR t.status NOT IN ('PENDING', 'QUEUED')
), gone AS (
    DELETE FROM backlog WHERE tenant = $1::text
        AND task_id = ANY(ARRAY(SELECT task_id FROM begun)) RETURNING 1
), noted AS (
    UPDATE backlogs SET waiting = waiting - (SELECT count(*) FROM gone) WHERE tenant = $1::text
)
SELECT (SELECT count(*) FROM gone), (SELECT task_id FROM page ORDER BY task_id DESC LIMIT 1)"""
_LOOKED: Final = "UPDATE backlogs SET looked_up_to = $2::uuid WHERE tenant = $1::text"

_ADD: Final = """
WITH added AS (
    INSERT INTO backlog (tenant, task_id) SELECT * FROM unnest($1::text[], $2::uuid[])
    ON CONFLICT DO NOTHING RETURNING tenant
)
UPDATE backlogs AS b SET waiting = b.waiting + a.number
FROM (SELECT tenant, count(*) AS number FROM added GROUP BY tenant) AS a
WHERE b.tenant = a.tenant"""

_KNOWN: Final = """
SELECT DISTINCT tenant FROM unnest($1::text[], $2::uuid[]) AS g (tenant, task_id)
JOIN backlog AS b USING (tenant, task_id)"""
_FORGET: Final = """
WITH gone AS (
    DELETE FROM backlog AS b USING unnest($1::text[], $2::uuid[]) AS g (tenant, task_id)
    WHERE b.tenant = g.tenant AND b.task_id = g.task_id RETURNING b.tenant
)
UPDATE backlogs AS b SET waiting = b.waiting - g.number
FROM (SELECT tenant, count(*) AS number FROM gone GROUP BY tenant) AS g WHERE b.tenant = g.tenant"""

_ALL: Final = "SELECT tenant, max_queued FROM tenant_quotas"


class Limits:
    """The quotas as they were within the last second. `default` is that of all other tenants."""

    AGE: Final = 1.0  # seconds

    def __init__(self, default: int | None) -> None:
        self.default = default
        self._own: dict[str, int | None] = {}
        self._not_after = 0.0

    @property
    def old(self) -> bool:
        """Whether they have to be read again."""
        return time.monotonic() >= self._not_after

    def forget(self) -> None:
        """Let them be read again before the next submit."""
        self._not_after = 0.0

    async def read(self, backend: Backend) -> None:
        """Read them again."""
        asked_at = time.monotonic()
        self._own = dict(map(tuple, await backend.fetch(_ALL)))
        self._not_after = asked_at + self.AGE

    @property
    def none(self) -> bool:
        """Whether nobody has a quota."""
        return self.default is None and not self._own

    def of(self, tenant: str) -> int | None:
        """A tenant's quota; None for any number."""
        return self._own.get(tenant, self.default)


async def ask(tx: Transaction, batch: Batch, limits: Limits) -> None:
    """Refuse those for which their tenants have no room; the others are counted."""
    if limits.none:
        return
    wanted = Counter(new.tenant for new in batch.left if limits.of(new.tenant) is not None)
    if not wanted:
        return
    rooms = await _rooms(tx, wanted, limits)
    accepted: list[NewTask] = []
    refused: dict[str, Answer] = {}
    for new in batch.left:
        limit = limits.of(new.tenant)
        if limit is None:
            continue
        if rooms[new.tenant] > 0:
            rooms[new.tenant] -= 1
            accepted.append(new)
        else:
            refused[new.id] = tenant_full(limit)
    if accepted:
        columns = [new.tenant for new in accepted], [new.id for new in accepted]
        await tx.connection.execute(_ADD, *columns)
    batch.answer(refused)


async def forget(tx: Transaction, gone: Sequence[tuple[str, str]]) -> None:
    """These (tenant, task) are not kept any more."""
    columns = [tenant for tenant, _ in gone], [task_id for _, task_id in gone]
    tenants = sorted(row[0] for row in await tx.connection.fetch(_KNOWN, *columns))
    if tenants:
        await tx.connection.fetch(_LOCK, tenants)
        await tx.connection.execute(_FORGET, *columns)


async def _rooms(tx: Transaction, wanted: Counter[str], limits: Limits) -> dict[str, int]:
    """How many tasks each of these tenants may get; nobody else counts theirs meanwhile."""
    tenants = sorted(wanted)
    rows = await tx.connection.fetch(_LOCK, tenants)
    if len(rows) < len(tenants):
        await tx.connection.execute(_NEW, tenants)
        rows = await tx.connection.fetch(_LOCK, tenants)
    rooms: dict[str, int] = {}
    for tenant, waiting, seen in map(tuple, rows):
        limit = limits.of(tenant)
        assert limit is not None
        full = waiting + wanted[tenant] > limit
        rooms[tenant] = limit - waiting + (await _clean(tx, tenant, seen) if full else 0)
    return rooms


async def _clean(tx: Transaction, tenant: str, seen: Any) -> int:
    """Take out what has started, as far as one looks; returns how many."""
    found, end = 0, None
    for start in dict.fromkeys((_FIRST, str(seen))):
        row = await tx.connection.fetchrow(_CLEAN, tenant, start)
        assert row is not None
        found, end = found + row[0], row[1]
    await tx.connection.execute(_LOOKED, tenant, _FIRST if end is None else end)
    return int(found)
