"""The port's verbs on children."""

from collections.abc import Mapping, Sequence

import apsw

from stagepost.batch import MOST_BATCHES, Batch, ChildRecord, Page
from stagepost.stores.batches import BATCH_COLUMNS, NOTE_EVERY, batch_of, child_of
from stagepost.stores.sqlite import batches
from stagepost.stores.sqlite.batches import OWING
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.writer import Writer
from stagepost.task import Lease, Status


class SqliteChildren:
    """The Children port."""

    def __init__(self, writer: Writer, readers: Readers, max_queued: int | None) -> None:
        self._writer = writer
        self._readers = readers
        self._max_queued = max_queued

    async def spawn(self, lease: Lease, page: Page) -> Batch:
        """Make the next children of a batch."""
        size = sum(len(text) for _, text in page.children)
        argument = (lease, page, self._max_queued)
        batch: Batch = await self._writer.call(Kind.STEP, batches.spawn, argument, size)
        return batch

    async def batch(self, parent_id: str, path: str) -> Batch | None:
        """The batch at a path."""
        return await self._readers.call(lambda db: _batch(db, parent_id, path))

    async def results(
        self, batch_id: str, after: int, limit: int, *, texts: bool = True
    ) -> Sequence[ChildRecord]:
        """A page of a batch's children."""
        return await self._readers.call(
            lambda db: _results(db, batch_id, after, limit, texts=texts)
        )

    async def counts(self, batch_id: str) -> Mapping[Status, int]:
        """A batch's children by status."""
        return await self._readers.call(lambda db: _counts(db, batch_id))

    async def batches(self, parent_id: str) -> Sequence[Batch]:
        """All batches of a task."""
        return await self._readers.call(lambda db: _batches(db, parent_id))

    async def wake(self, limit: int) -> int:
        """Tell parents' progress; the rest is done in the transaction in which a child settles."""
        since = self._writer.now - NOTE_EVERY
        if not await self._readers.call(lambda db: db.execute(OWING, (since, 1)).fetchone()):
            return 0
        told: int = await self._writer.call(Kind.CHANGE, batches.tell_progress, limit)
        return told

    async def cancel_some(self, limit: int) -> int:
        """Cancel children with their parents; asks a reader first."""
        if not await self._readers.call(_anything_to_cancel):
            return 0
        looked: int = await self._writer.call(Kind.CHANGE, batches.cancel_some, limit)
        return looked


def _batch(db: apsw.Connection, parent_id: str, path: str) -> Batch | None:
    row = db.execute(
        f"SELECT {BATCH_COLUMNS} FROM batches WHERE parent_id = ? AND path = ? AND dropped = 0",
        (parent_id, path),
    ).fetchone()
    return None if row is None else batch_of(row)


def _results(
    db: apsw.Connection, batch_id: str, after: int, limit: int, *, texts: bool
) -> Sequence[ChildRecord]:
    rows = db.execute(
        """SELECT place, id, status, iif(?4, result, NULL), result_size, result_blob,
               failure_kind, error_message
           FROM tasks WHERE batch_id = ?1 AND place > ?2 ORDER BY place LIMIT ?3""",
        (batch_id, after, limit, int(texts)),
    )
    return [child_of(row) for row in rows]


def _counts(db: apsw.Connection, batch_id: str) -> Mapping[Status, int]:
    rows = db.execute(
        "SELECT status, count(*) FROM tasks WHERE batch_id = ? GROUP BY status", (batch_id,)
    )
    return {Status(status): many for status, many in rows}


def _batches(db: apsw.Connection, parent_id: str) -> Sequence[Batch]:
    rows = db.execute(
        f"""SELECT {BATCH_COLUMNS} FROM batches WHERE parent_id = ? AND dropped = 0
            ORDER BY steps, id LIMIT ?""",
        (parent_id, MOST_BATCHES),
    )
    return [batch_of(row) for row in rows]


def _anything_to_cancel(db: apsw.Connection) -> bool:
    return db.execute("SELECT 1 FROM cancelling LIMIT 1").fetchone() is not None
