"""What people ask for: cancel, discard, redrive. One transaction each."""

from typing import Final

import orjson

from stagepost import lifecycle
from stagepost.batch import PAGE, begun_anew
from stagepost.records import Resume, Scope
from stagepost.stores.postgres import call_writes, changes, unique, uses
from stagepost.stores.postgres.rows import MS, TASK_COLUMNS, known, task_of
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.redriving import LAST_ID, Cut, no_step, resume_data, whole
from stagepost.stores.rows import json
from stagepost.stores.wording import absent
from stagepost.task import CancelRequest, Status, Task

_STANDS_AT: Final = """
SELECT n - 1, $3::uuid FROM steps WHERE task_id = $1::uuid AND (path = $2::text OR name = $2::text)
UNION ALL SELECT steps, id FROM batches
WHERE parent_id = $1::uuid AND dropped = 0 AND (path = $2::text OR name = $2::text)
ORDER BY 1, 2 LIMIT 1"""
_LET_GO: Final = f"""
WITH gone AS (DELETE FROM steps WHERE task_id = $2::uuid AND n > $3::integer RETURNING blob)
UPDATE blobs SET kept = false, staged_at = {MS} WHERE key IN (
    SELECT blob FROM gone WHERE blob IS NOT NULL)"""
_DROP_BATCHES: Final = """
WITH gone AS (
    UPDATE batches SET dropped = $4::integer
    WHERE parent_id = $1::uuid AND dropped = 0 AND (steps, id) >= ($2::integer, $3::uuid)
    RETURNING id
)
INSERT INTO cancelling (batch_id, request) SELECT id, $5::text FROM gone ON CONFLICT DO NOTHING"""
_DEAD_BELOW: Final = f"""
WITH RECURSIVE below (id, attempts, depth) AS (
    SELECT c.id, b.attempts, 1 FROM batches AS b JOIN tasks AS c ON c.batch_id = b.id
    WHERE b.parent_id = $2::uuid AND b.dropped = 0 AND (b.steps, b.id) < ($3::integer, $4::uuid)
        AND c.dead
    UNION ALL
    SELECT c.id, b.attempts, below.depth + 1 FROM below JOIN batches AS b ON b.parent_id = below.id
    JOIN tasks AS c ON c.batch_id = b.id WHERE b.dropped = 0 AND c.dead
), page AS MATERIALIZED (SELECT id, attempts FROM below ORDER BY depth DESC, id LIMIT $5::integer)
SELECT page.attempts, {MS}, {TASK_COLUMNS} FROM tasks AS t JOIN page ON page.id = t.id
WHERE t.dead ORDER BY t.id FOR UPDATE OF t"""
_LAST: Final = "SELECT kind, data FROM events WHERE task_id = $1::uuid AND seq = $2::integer"
_INPUT: Final = "UPDATE tasks SET input = $2::text WHERE id = $1::uuid"


async def cancel(tx: Transaction, task_id: str, scope: Scope, request: CancelRequest) -> Task:
    """Cancel a task, or ask its worker to."""
    _check(task_id)
    async with tx.connection.transaction():
        return await changes.for_caller(
            tx, task_id, scope, lambda task, now: lifecycle.cancelled(task, request, now)
        )


async def discard(tx: Transaction, task_id: str, scope: Scope, request: CancelRequest) -> Task:
    """Give up a dead letter."""
    _check(task_id)
    async with tx.connection.transaction():
        task = await changes.find(tx, task_id, scope)
        if tx.again and task.status is Status.CANCELLED and task.cancel == request:
            return task
        change = lifecycle.discarded(task, request, tx.moment.last)
        await changes.save(tx, [(task, change)])
    return change.task


async def redrive(
    tx: Transaction, task_id: str, scope: Scope, by: str, resume: Resume, attempts: int
) -> Task:
    """Send a dead letter back."""
    _check(task_id)
    data = resume_data(resume)
    async with tx.connection.transaction():
        task = await changes.find(tx, task_id, scope)
        if tx.again and await _is_redriven(tx, task, by):
            return task
        change = lifecycle.redriven(task, by, data, attempts, tx.moment.last)
        await unique.hold_again(tx, task)
        cut = await _cut(tx, task_id, resume)
        if await _redrive_dead_children(tx, task_id, by, cut) == PAGE:
            return task
        await call_writes.redriven(tx, task_id, resume, cut)
        if resume != Resume():
            await tx.connection.execute(_LET_GO, tx.moment.last, task_id, cut.steps)
            # What is run again also waits again.
            await tx.connection.execute("DELETE FROM waits WHERE task_id = $1::uuid", task_id)
            await tx.connection.execute(
                _DROP_BATCHES, task_id, *cut, task.seq, json(begun_anew(by))
            )
        if resume.input is not None:
            await uses.lock(tx, [upload.upload_id for upload in resume.uploads])
            await tx.connection.execute(_INPUT, task_id, resume.input)
            await uses.release(tx, [task_id], tx.moment.last)
            await uses.use(tx, [(task_id, resume.uploads)], tx.moment.last)
        await changes.save(tx, [(task, change)])
    return change.task


def _check(task_id: str) -> None:
    if not known(task_id):
        raise absent(task_id)


async def _is_redriven(tx: Transaction, task: Task, by: str) -> bool:
    """Whether an earlier try, whose answer was lost, has sent it back."""
    row = await tx.connection.fetchrow(_LAST, task.id, task.seq)
    return row is not None and row[0] == "redriven" and orjson.loads(row[1])["by"] == by


async def _cut(tx: Transaction, task_id: str, resume: Resume) -> Cut:
    cut = whole(resume)
    if cut is not None:
        return cut
    found = await tx.connection.fetchrow(_STANDS_AT, task_id, resume.from_step, LAST_ID)
    if found is None:
        raise no_step(resume)
    return Cut(found[0], str(found[1]))


async def _redrive_dead_children(tx: Transaction, task_id: str, by: str, cut: Cut) -> int:
    """A page of the dead children that a task keeps, and of theirs; the deepest first."""
    dead = await tx.connection.fetch(_DEAD_BELOW, tx.moment.last, task_id, *cut, PAGE)
    pairs = []
    for attempts, _, *row in dead:
        child = task_of(row)
        pairs.append(
            (child, lifecycle.redriven(child, by, "checkpoints", attempts, tx.moment.last))
        )
    await changes.save(tx, pairs)
    await call_writes.waive(tx, [child.id for child, _ in pairs])
    return len(pairs)
