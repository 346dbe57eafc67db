"""How many tasks of a tenant wait to start, and whether it may have one more.

A task that is accepted for a tenant with a quota gets a row in `backlog`. Nobody takes it out when
the task starts, which would cost every claim: rows of tasks that have started are found and taken
out only when a tenant has no room left, a page from the front, where the oldest wait, and one page
further on each time; the others go with their tasks.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import apsw
import orjson

from stagepost.errors import Conflict
from stagepost.quota import MOST, Backlog, Quota
from stagepost.records import NewTask
from stagepost.stores.accepting import too_many_quotas
from stagepost.stores.rows import json
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.sqlite.writer import Writer

_PAGE: Final = 1_000
"""Rows of a backlog that one look takes, twice in a transaction."""

_LIMITS: Final = """
SELECT json_group_array(json_array(tenant, max_queued)) FROM tenant_quotas
WHERE tenant IN (SELECT value FROM json_each(?))"""

_THEIRS: Final = "SELECT task_id FROM backlog WHERE tenant = ?1 AND task_id > ?2"
_CLEAN: Final = f"""
DELETE FROM backlog WHERE tenant = ?1 AND task_id IN (
    SELECT b.task_id FROM ({_THEIRS} ORDER BY task_id LIMIT {_PAGE}) AS b
    LEFT JOIN tasks AS t ON t.id = b.task_id
    WHERE t.id IS NULL OR t.fence > 0 OR t.status NOT IN ('PENDING', 'QUEUED'))"""
_PAGE_END: Final = f"SELECT max(task_id) FROM ({_THEIRS} ORDER BY task_id LIMIT {_PAGE})"

_ADD: Final = "INSERT INTO backlog SELECT value->>0, value->>1 FROM json_each(?)"
_NOTE: Final = """
INSERT INTO backlogs VALUES (?1, ?2, '')
ON CONFLICT (tenant) DO UPDATE SET waiting = waiting + ?2"""
_NOTE_CLEAN: Final = """
UPDATE backlogs SET waiting = waiting - ?2, looked_up_to = ?3 WHERE tenant = ?1"""

_FORGET: Final = """
DELETE FROM backlog WHERE (tenant, task_id) IN (
    SELECT tenant, id FROM tasks WHERE id IN (SELECT value FROM json_each(?))) RETURNING tenant"""
_NOTE_FORGOTTEN: Final = "UPDATE backlogs SET waiting = waiting - ?2 WHERE tenant = ?1"

_SET: Final = """
INSERT OR REPLACE INTO tenant_quotas SELECT ?1, ?2
WHERE (SELECT count(*) FROM tenant_quotas WHERE tenant <> ?1) < ?3"""
_WAITING: Final = """
SELECT count(*) FROM backlog AS b JOIN tasks AS t ON t.id = b.task_id
WHERE b.tenant = ? AND t.fence = 0 AND t.status IN ('PENDING', 'QUEUED')"""


class Rooms:
    """How many tasks the tenants with a quota may get in this transaction."""

    def __init__(self, tx: Transaction, limits: dict[str, int], wanted: Counter[str]) -> None:
        self._tx = tx
        self.limits = limits
        self._left = {tenant: self._room(tenant, wanted[tenant]) for tenant in limits}

    def admits(self, new: NewTask) -> bool:
        """Whether a task may be accepted, which is then counted."""
        left = self._left.get(new.tenant)
        if left is None:
            return True
        if left <= 0:
            return False
        self._left[new.tenant] = left - 1
        return True

    def note(self, accepted: Iterable[NewTask]) -> None:
        """Write down what was accepted."""
        theirs = [new for new in accepted if new.tenant in self.limits]
        self._tx.execute(_ADD, (json([(new.tenant, new.id) for new in theirs]),))
        for row in Counter(new.tenant for new in theirs).items():
            self._tx.execute(_NOTE, row)

    def _room(self, tenant: str, wanted: int) -> int:
        limit = self.limits[tenant]
        row = self._tx.row("SELECT waiting, looked_up_to FROM backlogs WHERE tenant = ?", (tenant,))
        waiting, seen = row or (0, "")
        if waiting + wanted > limit:
            waiting -= self._clean(tenant, seen)
        return int(limit - waiting)

    def _clean(self, tenant: str, seen: str) -> int:
        tx = self._tx
        end = tx.value(_PAGE_END, (tenant, seen)) or ""
        found = 0
        for start in dict.fromkeys(("", seen)):
            tx.execute(_CLEAN, (tenant, start))
            found += tx.changes()
        tx.execute(_NOTE_CLEAN, (tenant, found, end))
        return found


def rooms_for(tx: Transaction, news: Sequence[NewTask], default: int | None) -> Rooms | None:
    """The rooms of those tenants of a batch that have a quota; None if none has."""
    if default is None and tx.row("SELECT 1 FROM tenant_quotas LIMIT 1") is None:
        return None
    wanted = Counter(new.tenant for new in news)
    own = dict(orjson.loads(tx.value(_LIMITS, (json(list(wanted)),))))
    limits = {tenant: own.get(tenant, default) for tenant in wanted}
    limited = {tenant: limit for tenant, limit in limits.items() if limit is not None}
    return Rooms(tx, limited, wanted) if limited else None


def forget(tx: Transaction, task_ids: Sequence[str]) -> None:
    """These tasks are about to be taken away."""
    for row in Counter(tx.column(_FORGET, (json(list(task_ids)),))).items():
        tx.execute(_NOTE_FORGOTTEN, row)


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

    def __init__(self, writer: Writer, readers: Readers, default: int | None) -> None:
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
