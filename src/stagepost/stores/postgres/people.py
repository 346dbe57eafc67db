"""What people ask for: cancel, discard, redrive. One transaction each."""

from typing import Final

import orjson

from stagepost import lifecycle
from stagepost.errors import NotFound
from stagepost.records import Resume, Scope
from stagepost.stores.postgres import changes, uses
from stagepost.stores.postgres.rows import MS, known
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.redriving import resume_data
from stagepost.task import CancelRequest, Status, Task

_FROM_STEP: Final = """
SELECT min(n) FROM steps WHERE task_id = $1::uuid AND (path = $2::text OR name = $2::text)"""
_LET_GO: Final = f"""
WITH gone AS (DELETE FROM steps WHERE task_id = $2::uuid AND n >= $3::integer RETURNING blob)
UPDATE blobs SET kept = false, staged_at = {MS} WHERE key IN (
    SELECT blob FROM gone WHERE blob IS NOT NULL)"""
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
        await _forget_steps(tx, task_id, resume)
        if resume.input is not None:
            await uses.lock(tx, [upload.upload_id for upload in resume.uploads])
            await tx.connection.execute(_INPUT, task_id, resume.input)
            await uses.release(tx, [task_id], tx.moment.last)
            await uses.use(tx, [(task_id, resume.uploads)], tx.moment.last)
        await changes.save(tx, [(task, change)])
    return change.task


def _check(task_id: str) -> None:
    if not known(task_id):
        raise changes.absent(task_id)


async def _is_redriven(tx: Transaction, task: Task, by: str) -> bool:
    """Whether an earlier try, whose answer was lost, has sent it back."""
    row = await tx.connection.fetchrow(_LAST, task.id, task.seq)
    return row is not None and row[0] == "redriven" and orjson.loads(row[1])["by"] == by


async def _forget_steps(tx: Transaction, task_id: str, resume: Resume) -> None:
    first: int | None = 0
    if not resume.fresh and resume.input is None:
        if resume.from_step is None:
            return
        first = await tx.connection.fetchval(_FROM_STEP, task_id, resume.from_step)
    if first is None:
        raise NotFound(f'The task has no saved step "{resume.from_step}"; see its /steps.')
    await tx.connection.execute(_LET_GO, tx.moment.last, task_id, first)
