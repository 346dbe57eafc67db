"""What people ask for: cancel, discard, redrive; one intent at a time."""

from collections.abc import Callable, Sequence
from typing import Final

from stagepost import lifecycle
from stagepost.batch import PAGE, begun_anew
from stagepost.errors import Conflict, NotFound
from stagepost.lifecycle import Change
from stagepost.records import Resume, Scope
from stagepost.stores.redriving import LAST_ID, Cut, no_step, resume_data, whole
from stagepost.stores.rows import json
from stagepost.stores.sqlite import call_writes, changes, reading, unique, uses
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import CancelRequest, Task

_STANDS_AT: Final = """
SELECT n - 1, ?3 FROM steps WHERE task_id = ?1 AND (path = ?2 OR name = ?2) UNION ALL
SELECT steps, id FROM batches WHERE parent_id = ?1 AND dropped = 0 AND (path = ?2 OR name = ?2)
ORDER BY 1, 2 LIMIT 1"""
_DEAD_BELOW: Final = """
WITH RECURSIVE below (id, attempts, depth) AS (
    SELECT t.id, b.attempts, 1 FROM batches AS b JOIN tasks AS t ON t.batch_id = b.id
    WHERE b.parent_id = ?1 AND b.dropped = 0 AND (b.steps, b.id) < (?2, ?3) AND b.failed > 0
        AND t.status = 'DEAD_LETTER'
    UNION ALL
    SELECT t.id, b.attempts, below.depth + 1 FROM below JOIN batches AS b ON b.parent_id = below.id
    JOIN tasks AS t ON t.batch_id = b.id
    WHERE b.dropped = 0 AND b.failed > 0 AND t.status = 'DEAD_LETTER')
SELECT id, attempts FROM below ORDER BY depth DESC, id LIMIT ?4"""
_DROP_BATCHES: Final = """
UPDATE batches SET dropped = ?4 WHERE parent_id = ?1 AND dropped = 0 AND (steps, id) >= (?2, ?3)
RETURNING id"""

CallersWish = tuple[str, Scope, CancelRequest]


def cancel(tx: Transaction, arguments: list[CallersWish]) -> Sequence[Task | Exception]:
    """Cancels by callers."""
    return [_for_caller(tx, wish, lifecycle.cancelled) for wish in arguments]


def discard(tx: Transaction, arguments: list[CallersWish]) -> Sequence[Task | Exception]:
    """Dead letters given up."""
    return [_for_caller(tx, wish, lifecycle.discarded) for wish in arguments]


def redrive(
    tx: Transaction, arguments: list[tuple[str, Scope, str, Resume, int]]
) -> Sequence[Task | Exception]:
    """Dead letters sent back."""
    return [_redrive_one(tx, argument) for argument in arguments]


def _redrive_one(
    tx: Transaction, argument: tuple[str, Scope, str, Resume, int]
) -> Task | Exception:
    task_id, scope, by, resume, attempts = argument
    task = changes.find(tx, task_id)
    if task is None or not scope.holds(task):
        return reading.why_absent(tx.connection, task_id, scope, task)
    gone = uses.missing(tx, [upload.upload_id for upload in resume.uploads])
    if gone is not None:
        return gone
    try:
        change = lifecycle.redriven(task, by, resume_data(resume), attempts, tx.now)
        unique.hold_again(tx, task)
        cut = _cut(tx, task_id, resume)
    except (Conflict, NotFound) as error:
        return error
    if _redrive_dead_children(tx, task_id, by, cut) == PAGE:
        return task
    call_writes.redriven(tx, task_id, resume, cut)
    if resume != Resume():
        _delete_steps(tx, task_id, cut.steps)
        _drop_batches(tx, task, by, cut)
    if resume.input is not None:
        changes.replace_input(tx, task_id, resume.input, resume.uploads)
    return changes.save(tx, task, change)


def _cut(tx: Transaction, task_id: str, resume: Resume) -> Cut:
    cut = whole(resume)
    if cut is not None:
        return cut
    found = tx.row(_STANDS_AT, (task_id, resume.from_step, LAST_ID))
    if found is None:
        raise no_step(resume)
    return Cut(*found)


def _redrive_dead_children(tx: Transaction, task_id: str, by: str, cut: Cut) -> int:
    """A page of the dead children that a task keeps, and of theirs; the deepest first."""
    dead = tx.rows(_DEAD_BELOW, (task_id, *cut, PAGE))
    for child_id, attempts in dead:
        child = changes.load(tx, child_id)
        changes.save(tx, child, lifecycle.redriven(child, by, "checkpoints", attempts, tx.now))
    call_writes.waive(tx, [child_id for child_id, _ in dead])
    return len(dead)


def _drop_batches(tx: Transaction, task: Task, by: str, cut: Cut) -> None:
    for batch_id in tx.column(_DROP_BATCHES, (task.id, *cut, task.seq)):
        row = (batch_id, json(begun_anew(by)))
        tx.execute("INSERT OR IGNORE INTO cancelling (batch_id, request) VALUES (?, ?)", row)


def _delete_steps(tx: Transaction, task_id: str, kept: int) -> None:
    tx.execute(
        """UPDATE blobs SET kept = 0, staged_at = ?3 WHERE key IN
               (SELECT blob FROM steps WHERE task_id = ?1 AND n > ?2 AND blob IS NOT NULL)""",
        (task_id, kept, tx.now),
    )
    tx.execute("DELETE FROM steps WHERE task_id = ? AND n > ?", (task_id, kept))
    # What is run again also waits again.
    tx.execute("DELETE FROM waits WHERE task_id = ?", (task_id,))


def _for_caller(
    tx: Transaction,
    wish: CallersWish,
    change: Callable[[Task, CancelRequest, int], Change | None],
) -> Task | Exception:
    task_id, scope, request = wish
    task = changes.find(tx, task_id)
    if task is None or not scope.holds(task):
        return reading.why_absent(tx.connection, task_id, scope, task)
    try:
        outcome = change(task, request, tx.now)
    except Conflict as error:
        return error
    return task if outcome is None else changes.save(tx, task, outcome)
