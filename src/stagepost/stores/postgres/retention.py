"""What is taken away: by age in pages, one task by a person's wish, and what nothing refers to."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

from uuid_utils import uuid7

from stagepost.errors import Conflict
from stagepost.records import Scope
from stagepost.retention import HASHES_MOST, Erasure, Hashes, Page, Tombstone
from stagepost.stores import tombstones
from stagepost.stores.accepting import IDEMPOTENCY_KEPT
from stagepost.stores.postgres import changes, corrected, looking, quotas, reading, uses
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.rows import MS, TASK_COLUMNS, known, task_of
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.postgres.waking import COUNTED
from stagepost.stores.wording import absent
from stagepost.task import Task

_FIRST: Final = "00000000-0000-0000-0000-000000000000"
_OVER: Final = "status IN ('COMPLETED', 'CANCELLED') AND ended_at <= $2::bigint"

_OLD_EVENTS: Final = """
SELECT task_id, count(*), min(at) FROM events WHERE task_id > $1::uuid
GROUP BY task_id ORDER BY task_id LIMIT $2::bigint"""
_OLD_TASKS: Final = f"""
SELECT id, {_OVER}, created_at FROM tasks WHERE id > $1::uuid ORDER BY id LIMIT $3::bigint"""

_CANCELLING: Final = "EXISTS (SELECT FROM cancelling AS c WHERE c.batch_id = b.id)"
_HAS_OPEN_CHILDREN: Final = f"""
SELECT 1 FROM {COUNTED} WHERE b.parent_id = $1::uuid AND (b."left" + w."left" > 0 OR {_CANCELLING})
LIMIT 1"""
_PRUNABLE: Final = f"""
SELECT t.id, (SELECT p.id FROM tasks AS p WHERE p.id = t.parent_id) FROM tasks AS t
WHERE t.id = ANY($1::uuid[]) AND t.{_OVER} AND NOT EXISTS (
    SELECT FROM batches AS b WHERE b.parent_id = t.id AND (b."left" > 0 OR {_CANCELLING}))
ORDER BY t.id FOR UPDATE OF t SKIP LOCKED"""
"""Looked at again where it is written: a page is read before. Who holds one is left alone."""

_EVENTS: Final = f"""
WITH gone AS (
    DELETE FROM events AS e USING tasks AS t WHERE t.id = ANY($1::uuid[]) AND t.{_OVER}
        AND e.task_id = t.id AND e.seq < t.seq RETURNING 1
)
SELECT count(*) FROM gone"""

_BLOBS: Final = """
SELECT b.key FROM blobs AS b WHERE b.kept AND b.key IN (
    SELECT blob FROM steps WHERE task_id = ANY($1::uuid[]) AND blob IS NOT NULL
    UNION ALL SELECT blob FROM artifacts WHERE task_id = ANY($1::uuid[])
    UNION ALL SELECT blob FROM call_bodies WHERE task_id = ANY($1::uuid[]) AND blob IS NOT NULL
    UNION ALL SELECT result_blob FROM tasks WHERE id = ANY($1::uuid[]) AND result_blob IS NOT NULL)
ORDER BY b.key FOR UPDATE"""
_LET_GO: Final = """
UPDATE blobs SET kept = false, staged_at = $2::bigint WHERE key = ANY($1::text[])"""

_BURY: Final = """
INSERT INTO tombstones (task_id, tenant, "user", at, by, hashes, status)
SELECT id, tenant, "user", $2::bigint, $3::text, $4::text, status FROM tasks
WHERE id = ANY($1::uuid[])"""

_DELETE: Final = "DELETE FROM tasks WHERE id = ANY($1::uuid[]) RETURNING tenant, id"

_OLD_STONES: Final = f"""
WITH gone AS (
    DELETE FROM tombstones WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM tombstones AS s WHERE by IS NULL AND at <= {MS} - $2::bigint
            AND (SELECT count(*)
                FROM open_calls AS o WHERE o.task_id = s.task_id AND NOT o.noted) = 0
        ORDER BY at LIMIT $3::bigint FOR UPDATE SKIP LOCKED)) RETURNING 1
)
SELECT count(*) FROM gone"""
"""The calls of a task go with its tombstone, and their cost stays: it is noted by then."""
_OLD_KEYS: Final = f"""
WITH gone AS (
    DELETE FROM idempotency WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM idempotency WHERE created_at < {MS} - $2::bigint
        ORDER BY created_at LIMIT $3::bigint FOR UPDATE SKIP LOCKED)) RETURNING 1
)
SELECT count(*) FROM gone"""

_UPLOAD_SUMS: Final = """
SELECT sha256 FROM uploads JOIN upload_uses ON upload_id = id WHERE upload_uses.task_id = $1::uuid
ORDER BY sha256 LIMIT $2::bigint"""
_ARTIFACT_SUMS: Final = """
SELECT sha256 FROM artifacts WHERE task_id = $1::uuid ORDER BY sha256 LIMIT $2::bigint"""

_UNREFERENCED: Final = f"""
SELECT key FROM blobs WHERE NOT kept AND staged_at <= {MS} - $2::bigint
ORDER BY staged_at LIMIT $3::bigint"""
_FORGET: Final = f"""
WITH gone AS (
    DELETE FROM blobs WHERE key = ANY($3::text[]) AND NOT kept AND staged_at <= {MS} - $2::bigint
    RETURNING key
), files AS (DELETE FROM uploads WHERE id IN (SELECT key FROM gone))
SELECT key FROM gone"""
_STRANGE: Final = """
SELECT k.key FROM unnest($1::text[]) AS k (key)
WHERE NOT EXISTS (SELECT FROM blobs AS b WHERE b.key = k.key)"""
_TASK: Final = f"SELECT {TASK_COLUMNS} FROM tasks AS t WHERE t.id = $1::uuid"
_IDENTIFY: Final = """
INSERT INTO meta (name, value) VALUES ('identity', $1::text) ON CONFLICT DO NOTHING"""
_IDENTITY: Final = "SELECT value FROM meta WHERE name = 'identity'"


class PostgresRetention:
    """The Retention port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def prune_events(self, after: str, *, older_than: float, limit: int) -> Page:
        """Take old events."""
        horizon = await self._before(older_than)

        async def look(db: Backend) -> "_Look":
            rows = await db.fetch(_OLD_EVENTS, after or _FIRST, limit)
            return _looked(rows, [str(row[0]) for row in rows if row[1] > 1], horizon, limit)

        async def prune(tx: Transaction, ids: list[str]) -> int:
            return int(await tx.connection.fetchval(_EVENTS, ids, horizon))

        return await self._page(look, prune)

    async def prune_tasks(self, after: str, *, older_than: float, limit: int) -> Page:
        """Take old tasks."""
        horizon = await self._before(older_than)

        async def look(db: Backend) -> "_Look":
            rows = await db.fetch(_OLD_TASKS, after or _FIRST, horizon, limit)
            return _looked(rows, [str(row[0]) for row in rows if row[1]], horizon, limit)

        async def prune(tx: Transaction, ids: list[str]) -> int:
            async with tx.connection.transaction():
                rows = await tx.connection.fetch(_PRUNABLE, ids, horizon)
                chosen = tombstones.going((str(row[0]), row[1] and str(row[1])) for row in rows)
                now = tx.moment.saw(await looking.now(tx.connection, tx.moment.last))
                await _take(tx, chosen, now, since=now)
            return len(chosen)

        return await self._page(look, prune)

    async def _page(
        self,
        look: "Callable[[Backend], Awaitable[_Look]]",
        prune: Callable[[Transaction, list[str]], Awaitable[int]],
    ) -> Page:
        found = await self._engine.read(look)
        if not found.ids:
            return Page(found.after, 0)
        return Page(found.after, await self._engine.change(lambda tx: prune(tx, found.ids)))

    async def _before(self, seconds: float) -> int:
        return await self.now() - round(seconds * 1000)

    async def now(self) -> int:
        """The store's instant."""
        last = self._engine.moment.last
        return await self._engine.read(lambda db: looking.now(db, last))

    async def prune_tombstones(self, *, older_than: float, limit: int) -> int:
        """Take old tombstones."""
        return await self._count(_OLD_STONES, round(older_than * 1000), limit)

    async def prune_keys(self, limit: int) -> int:
        """Take old idempotency keys."""
        return await self._count(_OLD_KEYS, IDEMPOTENCY_KEPT, limit)

    async def _count(self, statement: str, *arguments: Any) -> int:
        async def work(tx: Transaction) -> int:
            return int(await tx.connection.fetchval(statement, tx.moment.last, *arguments))

        return await self._engine.change(work)

    async def erase(
        self, task_id: str, scope: Scope, erasure: Erasure
    ) -> tuple[Tombstone, Sequence[str]]:
        """Take one task."""
        return await self._engine.change(lambda tx: _erase(tx, task_id, scope, erasure))

    async def tombstone(self, task_id: str, scope: Scope) -> Tombstone | None:
        """What is left of a task."""
        stone = await self._engine.read(lambda db: reading.stone_of(db, task_id))
        return stone if stone is not None and tombstones.holds(scope, stone) else None

    async def unreferenced(self, *, older_than: float, limit: int) -> Sequence[str]:
        """Blobs that nothing refers to."""
        last, age = self._engine.moment.last, round(older_than * 1000)
        rows = await self._engine.read(lambda db: db.fetch(_UNREFERENCED, last, age, limit))
        return [row[0] for row in rows]

    async def forget_blobs(self, keys: Sequence[str], *, older_than: float) -> Sequence[str]:
        """Forget blobs."""
        age = round(older_than * 1000)

        async def work(tx: Transaction) -> list[str]:
            rows = await tx.connection.fetch(_FORGET, tx.moment.last, age, list(keys))
            return [row[0] for row in rows]

        return await self._engine.change(work) if keys else ()

    async def strange_blobs(self, keys: Sequence[str]) -> Sequence[str]:
        """Keys without a row."""
        rows = await self._engine.read(lambda db: db.fetch(_STRANGE, list(keys)))
        return [row[0] for row in rows]

    async def identity(self) -> str:
        """The store's own text."""

        async def work(tx: Transaction) -> str:
            await tx.connection.execute(_IDENTIFY, str(uuid7()))
            return str(await tx.connection.fetchval(_IDENTITY))

        return await self._engine.change(work)


class _Look(NamedTuple):
    after: str | None
    ids: list[str]


def _looked(rows: Sequence[Any], found: list[str], horizon: int, limit: int) -> _Look:
    """Rows of (task, ..., when it began), in the order of the ids, which rise with time."""
    over = len(rows) < limit or rows[-1][-1] > horizon
    return _Look(None if over else str(rows[-1][0]), found)


async def _take(
    tx: Transaction,
    ids: list[str],
    now: int,
    *,
    since: int,
    by: str | None = None,
    hashes: str | None = None,
) -> list[str]:
    """Bury locked tasks; answers the blobs to which nothing refers any more since that instant."""
    freed = [row[0] for row in await tx.connection.fetch(_BLOBS, ids)]
    await tx.connection.execute(_LET_GO, freed, since)
    freed += await uses.release(tx, ids, since)
    await tx.connection.execute(_BURY, ids, now, by, hashes)
    for table, column in tombstones.OWNED.items():
        # Inputs stand in their tasks' rows here.
        if table != "inputs":
            await tx.connection.execute(
                f"DELETE FROM {table} WHERE {column} = ANY($1::uuid[])", ids
            )
    gone = await tx.connection.fetch(_DELETE, ids)
    await quotas.forget(tx, [(row[0], str(row[1])) for row in gone])
    return freed


async def _erase(
    tx: Transaction, task_id: str, scope: Scope, erasure: Erasure
) -> tuple[Tombstone, Sequence[str]]:
    if not known(task_id):
        raise absent(task_id)
    async with tx.connection.transaction():
        task = (await changes.lock(tx, [task_id])).get(task_id)
        if task is None:
            stone = await reading.stone_of(tx.connection, task_id)
            if stone is None or stone.by is None or not tombstones.holds(scope, stone):
                raise tombstones.absence(task_id, scope, stone)
            return stone, ()
        if not scope.holds(task):
            raise absent(task_id)
        refusal = tombstones.unerasable(task, erasure) or await _kin_in_the_way(tx, task)
        if refusal is not None:
            raise refusal
        now = tx.moment.last
        hashes = Hashes(
            erasure.input,
            erasure.result,
            await _sums(tx, _UPLOAD_SUMS, task_id),
            await _sums(tx, _ARTIFACT_SUMS, task_id),
        )
        text = tombstones.hashes_text(hashes)
        await corrected.forget(tx, task_id, now)
        # Due for the sweeper from the beginning of time on.
        freed = await _take(tx, [task_id], now, since=0, by=erasure.by, hashes=text)
    stone = Tombstone(task_id, task.tenant, task.user, now, erasure.by, hashes, task.status)
    return stone, freed


async def _kin_in_the_way(tx: Transaction, task: Task) -> Conflict | None:
    if await tx.connection.fetchval(_HAS_OPEN_CHILDREN, task.id) is not None:
        return tombstones.has_open_children()
    if task.parent_id is None:
        return None
    # A parent that is final stays so: it needs no lock.
    row = await tx.connection.fetchrow(_TASK, task.parent_id)
    return tombstones.needed_by_parent(None if row is None else task_of(tuple(row)))


async def _sums(tx: Transaction, statement: str, task_id: str) -> tuple[str, ...]:
    return tuple(row[0] for row in await tx.connection.fetch(statement, task_id, HASHES_MOST))
