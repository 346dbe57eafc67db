"""How many tasks of a tenant wait to start, and whether it may have one more.

A task that is accepted for a tenant with a quota gets a row in `backlog`. Nobody takes it out when
the task starts, which would cost every claim: rows of tasks that have started are found and taken
out only when a tenant has no room left: pages from the front, where the oldest wait, as long as
they give some, and one page further on each time; the others go with their tasks. Whoever counts a
tenant's backlog has its row of `backlogs` locked, so that many processes keep one quota together.

Children are counted as they are made, by one statement a page, and never refused: they are the work
of a task that was accepted, and a parent that waits for them would never end. What a batch from
outside will start has its room from the submit on, in `backlog_batches`, and gives it up as its
children are made.
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from stagepost.records import NewTask
from stagepost.stores.accepting import tenant_full
from stagepost.stores.postgres.batch import Answer, Batch
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import SETTLED, Task

_PAGE: Final = 1_000
"""Rows of a backlog that one look takes."""
_MOST_PAGES: Final = 20
"""Looks from the front in one transaction."""

_FIRST: Final = "00000000-0000-0000-0000-000000000000"

_SETTLED: Final = ", ".join(f"'{status}'" for status in sorted(SETTLED))

_LOCK: Final = """
SELECT tenant, waiting + brought, looked_up_to FROM backlogs WHERE tenant = ANY($1::text[])
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
_OVER: Final = f"""
WITH page AS MATERIALIZED (
    SELECT task_id FROM backlog_batches WHERE tenant = $1::text ORDER BY task_id LIMIT {_PAGE}
), over AS MATERIALIZED (
    SELECT page.task_id FROM page LEFT JOIN tasks AS t ON t.id = page.task_id
    WHERE t.id IS NULL OR t.status IN ({_SETTLED})
), gone AS (
    DELETE FROM backlog_batches WHERE tenant = $1::text
        AND task_id = ANY(ARRAY(SELECT task_id FROM over)) RETURNING held
), noted AS (
    UPDATE backlogs SET brought = brought - (SELECT coalesce(sum(held), 0)::bigint FROM gone)
    WHERE tenant = $1::text
)
SELECT coalesce(sum(held), 0)::bigint FROM gone"""
_LOOKED: Final = "UPDATE backlogs SET looked_up_to = $2::uuid WHERE tenant = $1::text"

_ADD: Final = """
WITH added AS (
    INSERT INTO backlog (tenant, task_id) SELECT * FROM unnest($1::text[], $2::uuid[])
    ON CONFLICT DO NOTHING RETURNING tenant
)
UPDATE backlogs AS b SET waiting = b.waiting + a.number
FROM (SELECT tenant, count(*) AS number FROM added GROUP BY tenant) AS a
WHERE b.tenant = a.tenant"""

_BRING: Final = """
WITH added AS (
    INSERT INTO backlog_batches (tenant, task_id, held)
    SELECT * FROM unnest($1::text[], $2::uuid[], $3::bigint[])
    ON CONFLICT DO NOTHING RETURNING tenant, held
)
UPDATE backlogs AS b SET brought = b.brought + a.number
FROM (SELECT tenant, sum(held)::bigint AS number FROM added GROUP BY tenant) AS a
WHERE b.tenant = a.tenant"""
_CHILDREN: Final = f"""
WITH held AS MATERIALIZED (
    SELECT least(held, cardinality($3::uuid[])) AS made, held FROM backlog_batches
    WHERE tenant = $1::text AND task_id = $2::uuid
), lessened AS (
    UPDATE backlog_batches AS b SET held = b.held - h.made FROM held AS h
    WHERE b.tenant = $1::text AND b.task_id = $2::uuid AND h.made < h.held
), gone AS (
    DELETE FROM backlog_batches AS b USING held AS h
    WHERE b.tenant = $1::text AND b.task_id = $2::uuid AND h.made = h.held
), added AS (
    INSERT INTO backlog (tenant, task_id) SELECT $1::text, child FROM unnest($3::uuid[]) AS child
)
INSERT INTO backlogs AS b (tenant, waiting, looked_up_to)
VALUES ($1::text, cardinality($3::uuid[]), '{_FIRST}')
ON CONFLICT (tenant) DO UPDATE SET waiting = b.waiting + excluded.waiting,
    brought = b.brought - coalesce((SELECT made FROM held), 0)"""

_KNOWN: Final = """
SELECT DISTINCT tenant FROM unnest($1::text[], $2::uuid[]) AS g (tenant, task_id)
WHERE EXISTS (SELECT FROM backlog AS b WHERE b.tenant = g.tenant AND b.task_id = g.task_id)
    OR EXISTS (
        SELECT FROM backlog_batches AS b WHERE b.tenant = g.tenant AND b.task_id = g.task_id)"""
_FORGET: Final = """
WITH gone AS (
    DELETE FROM backlog AS b USING unnest($1::text[], $2::uuid[]) AS g (tenant, task_id)
    WHERE b.tenant = g.tenant AND b.task_id = g.task_id RETURNING b.tenant
), batches AS (
    DELETE FROM backlog_batches AS b USING unnest($1::text[], $2::uuid[]) AS g (tenant, task_id)
    WHERE b.tenant = g.tenant AND b.task_id = g.task_id RETURNING b.tenant, b.held
), sums AS (
    SELECT tenant, sum(waiting)::bigint AS waiting, sum(brought)::bigint AS brought FROM (
        SELECT tenant, 1 AS waiting, 0 AS brought FROM gone
        UNION ALL SELECT tenant, 0, held FROM batches) AS each GROUP BY tenant
)
UPDATE backlogs AS b SET waiting = b.waiting - sums.waiting, brought = b.brought - sums.brought
FROM sums WHERE b.tenant = sums.tenant"""

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
    wanted: Counter[str] = Counter()
    for new in batch.left:
        if limits.of(new.tenant) is not None:
            wanted[new.tenant] += new.size
    if not wanted:
        return
    rooms = await _rooms(tx, wanted, limits)
    accepted: list[NewTask] = []
    refused: dict[str, Answer] = {}
    for new in batch.left:
        limit = limits.of(new.tenant)
        if limit is None:
            continue
        if rooms[new.tenant] >= new.size:
            rooms[new.tenant] -= new.size
            accepted.append(new)
        else:
            refused[new.id] = tenant_full(new, limit, rooms[new.tenant])
    await _note(tx, accepted)
    batch.answer(refused)


async def _note(tx: Transaction, accepted: Sequence[NewTask]) -> None:
    single = [(new.tenant, new.id) for new in accepted if not new.brings]
    if single:
        await tx.connection.execute(_ADD, *map(list, zip(*single, strict=True)))
    batches = [(new.tenant, new.id, new.brings) for new in accepted if new.brings]
    if batches:
        await tx.connection.execute(_BRING, *map(list, zip(*batches, strict=True)))


async def count_children(
    tx: Transaction, parent: Task, child_ids: Sequence[str], limits: Limits
) -> None:
    """A task has started these, which count whether or not there is room."""
    if limits.old:
        await limits.read(tx.connection)
    if limits.of(parent.tenant) is not None:
        await tx.connection.execute(_CHILDREN, parent.tenant, parent.id, list(child_ids))


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
        over = waiting + wanted[tenant] - limit
        found = await _clean(tx, tenant, str(seen), over) if over > 0 else 0
        rooms[tenant] = limit - waiting + found
    return rooms


async def _clean(tx: Transaction, tenant: str, seen: str, wanted: int) -> int:
    """Take out what has started until so many are; returns how many, or less if looks end."""
    found = int(await tx.connection.fetchval(_OVER, tenant))
    start, last = _FIRST, seen
    for _ in range(_MOST_PAGES):
        gone, start = await _look(tx, tenant, start)
        found += gone
        if not gone or start == _FIRST or found >= wanted:
            break
    if seen == _FIRST:
        last = start
    elif found < wanted:
        gone, last = await _look(tx, tenant, seen)
        found += gone
    await tx.connection.execute(_LOOKED, tenant, last)
    return found


async def _look(tx: Transaction, tenant: str, start: str) -> tuple[int, str]:
    """How many of a page had started, and where it ends; _FIRST behind the last."""
    row = await tx.connection.fetchrow(_CLEAN, tenant, start)
    assert row is not None
    return int(row[0]), _FIRST if row[1] is None else str(row[1])
