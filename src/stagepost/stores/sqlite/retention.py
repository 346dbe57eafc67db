"""What is taken away: by age in pages, one task by a person's wish, and what nothing refers to."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import apsw
from uuid_utils import uuid7

from stagepost.errors import Conflict, StagepostError
from stagepost.records import Scope
from stagepost.retention import HASHES_MOST, Erasure, Hashes, Page, Tombstone
from stagepost.stores import tombstones
from stagepost.stores.accepting import IDEMPOTENCY_KEPT
from stagepost.stores.rows import json
from stagepost.stores.sqlite import changes, corrected, quotas, reading, uses
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.sqlite.writer import Writer
from stagepost.task import Task

_OVER: Final = "status IN ('COMPLETED', 'CANCELLED') AND ended_at <= ?2"

_OLD_EVENTS: Final = """
SELECT task_id, count(*), min(at) FROM events WHERE task_id > ?1
GROUP BY task_id ORDER BY task_id LIMIT ?2"""
_OLD_TASKS: Final = f"""
SELECT id, {_OVER}, created_at FROM tasks WHERE id > ?1 ORDER BY id LIMIT ?3"""

_OPEN_CHILDREN: Final = """
SELECT 1 FROM batches AS b WHERE b.parent_id = {parent}
    AND (b."left" > 0 OR EXISTS (SELECT 1 FROM cancelling AS c WHERE c.batch_id = b.id))"""
_HAS_OPEN_CHILDREN: Final = _OPEN_CHILDREN.format(parent="?")
_PRUNABLE: Final = f"""
SELECT id, (SELECT p.id FROM tasks AS p WHERE p.id = t.parent_id) FROM tasks AS t
WHERE id IN (SELECT value FROM json_each(?1)) AND {_OVER}
    AND NOT EXISTS ({_OPEN_CHILDREN.format(parent="t.id")})"""
"""Looked at again where it is written: a page is read before, beside the writer."""

_EVENTS: Final = f"""
DELETE FROM events WHERE task_id IN (
    SELECT id FROM tasks WHERE id IN (SELECT value FROM json_each(?1)) AND {_OVER})
AND seq < (SELECT seq FROM tasks WHERE id = events.task_id)"""

_BLOBS: Final = """
SELECT blob FROM steps WHERE task_id IN (SELECT value FROM json_each(?1)) AND blob IS NOT NULL
UNION ALL SELECT blob FROM artifacts WHERE task_id IN (SELECT value FROM json_each(?1))
UNION ALL SELECT blob FROM call_bodies WHERE task_id IN (SELECT value FROM json_each(?1))
    AND blob IS NOT NULL
UNION ALL SELECT result_blob FROM tasks WHERE id IN (SELECT value FROM json_each(?1))
    AND result_blob IS NOT NULL"""
_LET_GO: Final = f"""
UPDATE blobs SET kept = 0, staged_at = ?2 WHERE kept = 1 AND key IN ({_BLOBS}) RETURNING key"""

_BURY: Final = """
INSERT INTO tombstones (task_id, tenant, user, at, by, hashes, status)
SELECT id, tenant, user, ?2, ?3, ?4, status FROM tasks
WHERE id IN (SELECT value FROM json_each(?1))"""
_OLD_STONES: Final = """
SELECT task_id FROM tombstones AS s WHERE by IS NULL AND at <= ? AND NOT EXISTS (
    SELECT 1 FROM open_calls AS o WHERE o.task_id = s.task_id AND NOT o.noted)
ORDER BY at LIMIT ?"""
"""The calls of a task go with its tombstone, and their cost stays: it is noted by then."""
_IDENTITY: Final = "INSERT OR IGNORE INTO meta VALUES ('identity', ?)"


class SqliteRetention:
    """The Retention port: pages are looked for by readers, beside the writer."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def prune_events(self, after: str, *, older_than: float, limit: int) -> Page:
        """Take old events."""
        horizon = self._before(older_than)

        def look(db: apsw.Connection) -> "_Look":
            rows: list[Any] = db.execute(_OLD_EVENTS, (after, limit)).fetchall()
            found = [row[0] for row in rows if row[1] > 1]
            return _looked(rows, found, horizon, limit)

        return await self._page(look, _prune_events, horizon)

    async def prune_tasks(self, after: str, *, older_than: float, limit: int) -> Page:
        """Take old tasks."""
        horizon = self._before(older_than)

        def look(db: apsw.Connection) -> "_Look":
            rows: list[Any] = db.execute(_OLD_TASKS, (after, horizon, limit)).fetchall()
            found = [row[0] for row in rows if row[1]]
            return _looked(rows, found, horizon, limit)

        return await self._page(look, _prune_tasks, horizon)

    async def _page(
        self, look: "Callable[[apsw.Connection], _Look]", prune: Callable[..., Any], horizon: int
    ) -> Page:
        found = await self._readers.call(look)
        if not found.ids:
            return Page(found.after, 0)
        changed: int = await self._writer.call(Kind.CHANGE, prune, (found.ids, horizon))
        return Page(found.after, changed)

    def _before(self, seconds: float) -> int:
        return self._writer.now - round(seconds * 1000)

    async def prune_tombstones(self, *, older_than: float, limit: int) -> int:
        """Take old tombstones."""
        horizon = self._before(older_than)
        old = await self._ids(
            _OLD_STONES,
            (horizon, limit),
        )
        return await self._delete("DELETE FROM tombstones WHERE task_id = ?", old)

    async def prune_keys(self, limit: int) -> int:
        """Take old idempotency keys."""
        old = await self._readers.call(
            lambda db: db.execute(
                """SELECT tenant, user, scope, key, created_at FROM idempotency
                   WHERE created_at < ? ORDER BY created_at LIMIT ?""",
                (self._writer.now - IDEMPOTENCY_KEPT, limit),
            ).fetchall()
        )
        # With the instant: a key may have been used anew since it was looked at.
        return await self._delete(
            """DELETE FROM idempotency WHERE tenant = ? AND user = ? AND scope = ? AND key = ?
                   AND created_at = ?""",
            old,
        )

    async def _delete(self, statement: str, rows: Sequence[Any]) -> int:
        if rows:
            await self._writer.call(Kind.CHANGE, _delete, (statement, rows))
        return len(rows)

    async def erase(
        self, task_id: str, scope: Scope, erasure: Erasure
    ) -> tuple[Tombstone, Sequence[str]]:
        """Take one task."""
        answer: tuple[Tombstone, Sequence[str]] = await self._writer.call(
            Kind.CHANGE, _erase, (task_id, scope, erasure)
        )
        return answer

    async def tombstone(self, task_id: str, scope: Scope) -> Tombstone | None:
        """What is left of a task."""
        stone = await self._readers.call(lambda db: reading.stone_of(db, task_id))
        return stone if stone is not None and tombstones.holds(scope, stone) else None

    async def unreferenced(self, *, older_than: float, limit: int) -> Sequence[str]:
        """Blobs that nothing refers to."""
        return await self._ids(
            "SELECT key FROM blobs WHERE kept = 0 AND staged_at <= ? ORDER BY staged_at LIMIT ?",
            (self._before(older_than), limit),
        )

    async def forget_blobs(self, keys: Sequence[str], *, older_than: float) -> Sequence[str]:
        """Forget blobs."""
        if not keys:
            return ()
        argument = (list(keys), round(older_than * 1000))
        gone: Sequence[str] = await self._writer.call(Kind.CHANGE, _forget_blobs, argument)
        return gone

    async def strange_blobs(self, keys: Sequence[str]) -> Sequence[str]:
        """Keys without a row."""
        return await self._ids(
            """SELECT value FROM json_each(?)
               WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE key = value)""",
            (json(list(keys)),),
        )

    async def now(self) -> int:
        """The store's instant."""
        return self._writer.now

    async def identity(self) -> str:
        """The store's own text."""
        found: str = await self._writer.call(Kind.CHANGE, _identify, None)
        return found

    async def _ids(self, statement: str, bindings: tuple[Any, ...]) -> list[str]:
        rows: list[Any] = await self._readers.call(
            lambda db: db.execute(statement, bindings).fetchall()
        )
        return [row[0] for row in rows]


class _Look(NamedTuple):
    after: str | None
    ids: list[str]


def _looked(rows: Sequence[Any], found: list[str], horizon: int, limit: int) -> _Look:
    """Rows of (task, ..., when it began), in the order of the ids, which rise with time."""
    over = len(rows) < limit or rows[-1][-1] > horizon
    return _Look(None if over else rows[-1][0], found)


# In the writer's thread


def _prune_events(tx: Transaction, arguments: list[tuple[list[str], int]]) -> Sequence[int]:
    changed = []
    for ids, horizon in arguments:
        tx.execute(_EVENTS, (json(ids), horizon))
        changed.append(tx.changes())
    return changed


def _prune_tasks(tx: Transaction, arguments: list[tuple[list[str], int]]) -> Sequence[int]:
    return [_prune(tx, ids, horizon) for ids, horizon in arguments]


def _prune(tx: Transaction, ids: list[str], horizon: int) -> int:
    chosen = tombstones.going(tx.rows(_PRUNABLE, (json(ids), horizon)))
    if chosen:
        _take(tx, chosen, tx.now, None, None)
    return len(chosen)


def _take(
    tx: Transaction, ids: list[str], since: int, by: str | None, hashes: str | None
) -> list[str]:
    """Bury tasks; answers the blobs to which nothing refers any more since that instant."""
    rows = json(ids)
    freed = tx.column(_LET_GO, (rows, since)) + uses.release(tx, ids, since)
    quotas.forget(tx, ids)
    tx.execute(_BURY, (rows, tx.now, by, hashes))
    for table, column in tombstones.OWNED.items():
        tx.execute(
            f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))", (rows,)
        )
    tx.execute("DELETE FROM tasks WHERE id IN (SELECT value FROM json_each(?))", (rows,))
    return freed


def _delete(tx: Transaction, arguments: list[tuple[str, Sequence[Any]]]) -> Sequence[None]:
    for statement, rows in arguments:
        for row in rows:
            tx.execute(statement, row if isinstance(row, tuple) else (row,))
    return [None] * len(arguments)


Wish = tuple[str, Scope, Erasure]


def _erase(
    tx: Transaction, arguments: list[Wish]
) -> Sequence[tuple[Tombstone, Sequence[str]] | StagepostError]:
    return [_erase_one(tx, *wish) for wish in arguments]


def _erase_one(
    tx: Transaction, task_id: str, scope: Scope, erasure: Erasure
) -> tuple[Tombstone, Sequence[str]] | StagepostError:
    task = changes.find(tx, task_id)
    if task is None:
        stone = reading.stone_of(tx.connection, task_id)
        if stone is None or stone.by is None or not tombstones.holds(scope, stone):
            return tombstones.absence(task_id, scope, stone)
        return stone, ()
    if not scope.holds(task):
        return tombstones.absence(task_id, scope, None)
    refusal = tombstones.unerasable(task, erasure) or _kin_in_the_way(tx, task)
    if refusal is not None:
        return refusal
    hashes = Hashes(
        erasure.input,
        erasure.result,
        _sums(tx, "uploads JOIN upload_uses ON upload_id = id", "upload_uses.task_id", task_id),
        _sums(tx, "artifacts", "task_id", task_id),
    )
    corrected.forget(tx, task_id)
    # Due for the sweeper from the beginning of time on.
    freed = _take(tx, [task_id], 0, erasure.by, tombstones.hashes_text(hashes))
    stone = Tombstone(task_id, task.tenant, task.user, tx.now, erasure.by, hashes, task.status)
    return stone, freed


def _kin_in_the_way(tx: Transaction, task: Task) -> Conflict | None:
    if tx.row(_HAS_OPEN_CHILDREN, (task.id,)) is not None:
        return tombstones.has_open_children()
    parent = None if task.parent_id is None else changes.find(tx, task.parent_id)
    return tombstones.needed_by_parent(parent)


def _sums(tx: Transaction, tables: str, column: str, task_id: str) -> tuple[str, ...]:
    rows = tx.rows(
        f"SELECT sha256 FROM {tables} WHERE {column} = ? ORDER BY sha256 LIMIT ?",
        (task_id, HASHES_MOST),
    )
    return tuple(row[0] for row in rows)


def _forget_blobs(tx: Transaction, arguments: list[tuple[list[str], int]]) -> Sequence[list[str]]:
    return [_forget(tx, json(keys), tx.now - age) for keys, age in arguments]


def _forget(tx: Transaction, keys: str, horizon: int) -> list[str]:
    gone = tx.rows(
        """DELETE FROM blobs WHERE key IN (SELECT value FROM json_each(?)) AND kept = 0
               AND staged_at <= ? RETURNING key""",
        (keys, horizon),
    )
    found = [row[0] for row in gone]
    tx.execute("DELETE FROM uploads WHERE id IN (SELECT value FROM json_each(?))", (json(found),))
    return found


def _identify(tx: Transaction, arguments: list[None]) -> Sequence[str]:
    tx.execute(_IDENTITY, (str(uuid7()),))
    found = tx.value("SELECT value FROM meta WHERE name = 'identity'")
    return [found] * len(arguments)
