"""The port's verbs on children."""

from collections.abc import Mapping, Sequence
from typing import Final

from stagepost.batch import MOST_BATCHES, Batch, ChildRecord, Page
from stagepost.stores.batches import batch_of, child_of
from stagepost.stores.postgres import batches
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.rows import known
from stagepost.stores.postgres.waking import COLUMNS, COUNTED
from stagepost.task import Lease, Status

_RESULTS: Final = """
SELECT place, id, status, CASE WHEN $4::boolean THEN result END, result_size, result_blob,
    failure_kind, error_message
FROM tasks WHERE batch_id = $1::uuid AND place > $2::integer ORDER BY place LIMIT $3::integer"""
_COUNTS: Final = "SELECT status, count(*) FROM tasks WHERE batch_id = $1::uuid GROUP BY status"
_BATCHES: Final = f"""
SELECT {COLUMNS} FROM {COUNTED} WHERE b.parent_id = $1::uuid AND b.dropped = 0
ORDER BY b.steps, b.id LIMIT $2::integer"""


class PostgresChildren:
    """The Children port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def spawn(self, lease: Lease, page: Page) -> Batch:
        """Make the next children of a batch."""
        limits = self._engine.limits
        return await self._engine.change(lambda tx: batches.spawn(tx, lease, page, limits))

    async def batch(self, parent_id: str, path: str) -> Batch | None:
        """The batch at a path."""
        if not known(parent_id):
            return None
        return await self._engine.read(lambda db: batches.find(db, parent_id, path))

    async def results(
        self, batch_id: str, after: int, limit: int, *, texts: bool = True
    ) -> Sequence[ChildRecord]:
        """A page of a batch's children."""
        rows = await self._engine.read(lambda db: db.fetch(_RESULTS, batch_id, after, limit, texts))
        return [child_of(row) for row in rows]

    async def counts(self, batch_id: str) -> Mapping[Status, int]:
        """A batch's children by status."""
        rows = await self._engine.read(lambda db: db.fetch(_COUNTS, batch_id))
        return {Status(row[0]): row[1] for row in rows}

    async def batches(self, parent_id: str) -> Sequence[Batch]:
        """All batches of a task."""
        if not known(parent_id):
            return []
        rows = await self._engine.read(lambda db: db.fetch(_BATCHES, parent_id, MOST_BATCHES))
        return [batch_of(row) for row in rows]

    async def wake(self, limit: int) -> int:
        """Work off what children have left notes of; asks first."""
        last = self._engine.moment.last
        if not await self._engine.read(lambda db: batches.anything_to_wake(db, last)):
            return 0
        return await self._engine.change(lambda tx: batches.wake(tx, limit))

    async def cancel_some(self, limit: int) -> int:
        """Cancel children with their parents; asks first."""
        if not await self._engine.read(batches.anything_to_cancel):
            return 0
        return await self._engine.change(lambda tx: batches.cancel_some(tx, limit))
