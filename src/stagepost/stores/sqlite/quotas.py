"""How many tasks of a tenant wait to start, and whether it may have one more.

A task that is accepted for a tenant with a quota gets a row in `backlog`. Nobody takes it out when
the task starts, which would cost every claim: rows of tasks that have started are found and taken
out only when a tenant has no room left: pages from the front, where the oldest wait, as long as
they give some, and one page further on each time; the others go with their tasks.

Children are counted as they are made, a page at once, and never refused: they are the work of a
task that was accepted, and a parent that waits for them would never end. What a batch from outside
will start has its room from the submit on, in `backlog_batches`, and gives it up as its children
are made.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import apsw
import orjson

from stagepost.errors import Conflict, TenantFull
from stagepost.quota import MOST, Backlog, Quota
from stagepost.records import NewTask
from stagepost.stores.accepting import tenant_full, too_many_quotas
from stagepost.stores.rows import json
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import SETTLED, Task

if TYPE_CHECKING:
    # The writer itself asks what a tenant has waiting.
    from stagepost.stores.sqlite.writer import Writer

_PAGE: Final = 1_000
"""Rows of a backlog that one look takes."""
_MOST_PAGES: Final = 20
"""Looks from the front in one transaction."""

_SETTLED: Final = ", ".join(f"'{status}'" for status in sorted(SETTLED))

_LIMITS: Final = """
SELECT json_group_array(json_array(tenant, max_queued)) FROM tenant_quotas
WHERE tenant IN (SELECT value FROM json_each(?))"""

_THEIRS: Final = "SELECT task_id FROM backlog WHERE tenant = ?1 AND task_id > ?2"
_CLEAN: Final = f"""
DELETE FROM backlog WHERE tenant = ?1 AND task_id IN (
    SELECT b.task_id FROM ({_THEIRS} ORDER BY task_id LIMIT {_PAGE}) AS b
    LEFT JOIN tasks AS t ON t.id = b.task_id
    WHERE t.id IS NULL OR t.fence > 0 OR t.status NOT IN ('PENDING', 'QUEUED'))"""
_OVER: Final = f"""
DELETE FROM backlog_batches WHERE tenant = ?1 AND task_id IN (
    SELECT b.task_id FROM (
        SELECT task_id FROM backlog_batches WHERE tenant = ?1 ORDER BY task_id LIMIT {_PAGE}) AS b
    LEFT JOIN tasks AS t ON t.id = b.task_id
    WHERE t.id IS NULL OR t.status IN ({_SETTLED})) RETURNING held"""
_PAGE_END: Final = f"SELECT max(task_id) FROM ({_THEIRS} ORDER BY task_id LIMIT {_PAGE})"

_ADD: Final = "INSERT INTO backlog SELECT value->>0, value->>1 FROM json_each(?)"
_BRING: Final = (
    "INSERT INTO backlog_batches SELECT value->>0, value->>1, value->>2 FROM json_each(?)"
)
_NOTE: Final = """
INSERT INTO backlogs (tenant, waiting, brought, looked_up_to) VALUES (?1, ?2, ?3, '')
ON CONFLICT (tenant) DO UPDATE SET waiting = waiting + ?2, brought = brought + ?3"""
_HELD: Final = "SELECT held FROM backlog_batches WHERE tenant = ? AND task_id = ?"
_LESSEN: Final = "UPDATE backlog_batches SET held = held - ?3 WHERE tenant = ?1 AND task_id = ?2"
_MADE: Final = "DELETE FROM backlog_batches WHERE tenant = ? AND task_id = ? AND held <= 0"
_NOTE_CLEAN: Final = """
UPDATE backlogs SET waiting = waiting - ?2, brought = brought - ?3, looked_up_to = ?4
WHERE tenant = ?1"""

_THESE: Final = """
(tenant, task_id) IN (
    SELECT tenant, id FROM tasks WHERE id IN (SELECT value FROM json_each(?)))"""
_FORGET: Final = f"DELETE FROM backlog WHERE {_THESE} RETURNING tenant"
_FORGET_BATCHES: Final = f"DELETE FROM backlog_batches WHERE {_THESE} RETURNING tenant, held"
_NOTE_FORGOTTEN: Final = """
UPDATE backlogs SET waiting = waiting - ?2, brought = brought - ?3 WHERE tenant = ?1"""

_SET: Final = """
INSERT OR REPLACE INTO tenant_quotas SELECT ?1, ?2
WHERE (SELECT count(*) FROM tenant_quotas WHERE tenant <> ?1) < ?3"""
_WAITING: Final = f"""
SELECT (SELECT count(*) FROM backlog AS b JOIN tasks AS t ON t.id = b.task_id
    WHERE b.tenant = ?1 AND t.fence = 0 AND t.status IN ('PENDING', 'QUEUED'))
+ (SELECT coalesce(sum(held), 0) FROM backlog_batches AS b JOIN tasks AS t ON t.id = b.task_id
    WHERE b.tenant = ?1 AND t.status NOT IN ({_SETTLED}))"""
_OF: Final = "SELECT max_queued FROM tenant_quotas WHERE tenant = ?"


class Rooms:
    """How many tasks the tenants with a quota may get in this transaction."""

    def __init__(self, tx: Transaction, limits: dict[str, int], wanted: Counter[str]) -> None:
        self._tx = tx
        self._limits = limits
        self._left = {tenant: self._room(tenant, wanted[tenant]) for tenant in limits}

    def admits(self, new: NewTask) -> bool:
        """Whether a task may be accepted, which is then counted."""
        left = self._left.get(new.tenant)
        if left is None:
            return True
        if left < new.size:
            return False
        self._left[new.tenant] = left - new.size
        return True

    def refusal(self, new: NewTask) -> TenantFull:
        """Why it is not."""
        return tenant_full(new, self._limits[new.tenant], self._left[new.tenant])

    def note(self, accepted: Iterable[NewTask]) -> None:
        """Write down what was accepted."""
        theirs = [new for new in accepted if new.tenant in self._limits]
        single = [(new.tenant, new.id) for new in theirs if not new.brings]
        batches = [(new.tenant, new.id, new.brings) for new in theirs if new.brings]
        self._tx.execute(_ADD, (json(single),))
        if batches:
            self._tx.execute(_BRING, (json(batches),))
        waiting = Counter(tenant for tenant, _ in single)
        brought = _sums((tenant, number) for tenant, _, number in batches)
        for tenant in waiting.keys() | brought.keys():
            self._tx.execute(_NOTE, (tenant, waiting[tenant], brought[tenant]))

    def _room(self, tenant: str, wanted: int) -> int:
        limit = self._limits[tenant]
        row = self._tx.row(
            "SELECT waiting + brought, looked_up_to FROM backlogs WHERE tenant = ?", (tenant,)
        )
        waiting, seen = row or (0, "")
        over = waiting + wanted - limit
        return int(limit - waiting + (self._clean(tenant, seen, over) if over > 0 else 0))

    def _clean(self, tenant: str, seen: str, wanted: int) -> int:
        """Take out what has started until so many are; returns how many, or less if looks end."""
        ended = sum(self._tx.column(_OVER, (tenant,)))
        found, start, last = 0, "", seen
        for _ in range(_MOST_PAGES):
            gone, start = self._look(tenant, start)
            found += gone
            if not gone or not start or ended + found >= wanted:
                break
        if not seen:
            last = start
        elif ended + found < wanted:
            gone, last = self._look(tenant, seen)
            found += gone
        self._tx.execute(_NOTE_CLEAN, (tenant, found, ended, last))
        return int(ended + found)

    def _look(self, tenant: str, start: str) -> tuple[int, str]:
        """How many of a page had started, and where it ends; "" behind the last."""
        end = self._tx.value(_PAGE_END, (tenant, start)) or ""
        self._tx.execute(_CLEAN, (tenant, start))
        return self._tx.changes(), end


def _sums(rows: Iterable[tuple[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for tenant, number in rows:
        found[tenant] += number
    return found


def rooms_for(tx: Transaction, news: Sequence[NewTask], default: int | None) -> Rooms | None:
    """The rooms of those tenants of a batch that have a quota; None if none has."""
    if default is None and tx.row("SELECT 1 FROM tenant_quotas LIMIT 1") is None:
        return None
    wanted = _sums((new.tenant, new.size) for new in news)
    own = dict(orjson.loads(tx.value(_LIMITS, (json(list(wanted)),))))
    limits = {tenant: own.get(tenant, default) for tenant in wanted}
    limited = {tenant: limit for tenant, limit in limits.items() if limit is not None}
    return Rooms(tx, limited, wanted) if limited else None


def forget(tx: Transaction, task_ids: Sequence[str]) -> None:
    """These tasks are about to be taken away."""
    rows = (json(list(task_ids)),)
    waiting = Counter(tx.column(_FORGET, rows))
    brought = _sums(tx.rows(_FORGET_BATCHES, rows))
    for tenant in waiting.keys() | brought.keys():
        tx.execute(_NOTE_FORGOTTEN, (tenant, waiting[tenant], brought[tenant]))


def count_children(
    tx: Transaction, parent: Task, child_ids: Sequence[str], default: int | None
) -> None:
    """A task is about to start these, which count whether or not there is room."""
    tenant = parent.tenant
    row = tx.row(_OF, (tenant,))
    if (default if row is None else row[0]) is None:
        return
    held = tx.value(_HELD, (tenant, parent.id)) or 0
    made = min(held, len(child_ids))
    if made:
        tx.execute(_LESSEN, (tenant, parent.id, made))
        tx.execute(_MADE, (tenant, parent.id))
    tx.execute(_ADD, (json([(tenant, child_id) for child_id in child_ids]),))
    tx.execute(_NOTE, (tenant, len(child_ids), -made))


def set_quotas(tx: Transaction, arguments: list[Quota]) -> Sequence[Conflict | None]:
    """Quotas of tenants, from now on."""
    return [_set_quota(tx, quota) for quota in arguments]


def _set_quota(tx: Transaction, quota: Quota) -> Conflict | None:
    tx.execute(_SET, (*quota, MOST))
    return None if tx.changes() else too_many_quotas()


def unset_quotas(tx: Transaction, arguments: list[str]) -> Sequence[None]:
    """Tenants for which the default counts again."""
    for tenant in arguments:
        tx.execute("DELETE FROM tenant_quotas WHERE tenant = ?", (tenant,))
    return [None] * len(arguments)


def backlog(db: apsw.Connection, tenant: str, default: int | None) -> Backlog:
    """A tenant's quota and how many of its tasks wait."""
    row = db.execute("SELECT max_queued FROM tenant_quotas WHERE tenant = ?", (tenant,)).fetchone()
    waiting = db.execute(_WAITING, (tenant,)).get
    return Backlog(Quota(tenant, row[0] if row else default), row is not None, waiting)


def quotas(db: apsw.Connection, after: str, limit: int) -> Sequence[Quota]:
    """A page of the quotas that tenants have of their own."""
    found = db.execute(
        "SELECT tenant, max_queued FROM tenant_quotas WHERE tenant > ? ORDER BY tenant LIMIT ?",
        (after, limit),
    )
    return [Quota(*row) for row in found]


class SqliteQuotas:
    """The Quotas port."""

    def __init__(self, writer: "Writer", readers: Readers, default: int | None) -> None:
        self._writer = writer
        self._readers = readers
        self._default = default

    async def set(self, quota: Quota) -> None:
        """Give a tenant a quota of its own."""
        await self._writer.call(Kind.CHANGE, set_quotas, quota)

    async def unset(self, tenant: str) -> None:
        """The default quota counts again."""
        await self._writer.call(Kind.CHANGE, unset_quotas, tenant)

    async def get(self, tenant: str) -> Backlog:
        """A tenant's quota and how many of its tasks wait."""
        return await self._readers.call(lambda db: backlog(db, tenant, self._default))

    async def find(self, after: str, limit: int) -> Sequence[Quota]:
        """The quotas that tenants have of their own."""
        return await self._readers.call(lambda db: quotas(db, after, limit))
