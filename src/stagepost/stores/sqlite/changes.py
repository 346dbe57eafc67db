"""Changes by the lifecycle, one task at a time: read it, ask, and write what it answers."""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Final

from stagepost import lifecycle
from stagepost.batch import delta_of
from stagepost.errors import LeaseLost
from stagepost.lifecycle import Change
from stagepost.outcome import Failed, Outcome, Waiting
from stagepost.records import NewTask, UploadRecord
from stagepost.stores.rows import TASK_COLUMNS, TASK_FIELDS, json, row_of, task_of
from stagepost.stores.sqlite import keyed, pooling, uses, waking
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.wording import lease_lost
from stagepost.task import CancelRequest, Lease, Status, Task

_SELECT: Final = f"SELECT {TASK_COLUMNS} FROM tasks WHERE id = ?"
_FIXED: Final = {"id", "parent_id", "batch_id", "place"}
_MUTABLE: Final = tuple(name for name in TASK_FIELDS if name not in _FIXED)
_mutable_of: Final = itemgetter(*map(TASK_FIELDS.index, _MUTABLE))
_UPDATE: Final = f"UPDATE tasks SET {', '.join(f'{name} = ?' for name in _MUTABLE)} WHERE id = ?"
_INSERT: Final = (
    f"INSERT INTO tasks ({TASK_COLUMNS}, tagged, input) "
    f"VALUES ({', '.join('?' * (len(TASK_FIELDS) + 2))})"
)
_INLINE_INPUT: Final = 16 * 1024


def find(tx: Transaction, task_id: str) -> Task | None:
    """A task, or None."""
    row = tx.row(_SELECT, (task_id,))
    return None if row is None else task_of(row)


def load(tx: Transaction, task_id: str) -> Task:
    """A task that is known to exist."""
    task = find(tx, task_id)
    assert task is not None, task_id
    return task


def insert(tx: Transaction, change: Change, new: NewTask) -> None:
    """Write a new task."""
    task = change.task
    inline = len(new.input) <= _INLINE_INPUT
    tx.execute(_INSERT, (*row_of(task), int(bool(new.tags)), new.input if inline else None))
    if not inline:
        tx.execute("INSERT INTO inputs VALUES (?, ?)", (task.id, new.input))
    if task.status is Status.QUEUED and task.concurrency_key is None:
        pooling.enter(tx, task)
    elif task.concurrency_key is not None:
        keyed.moved(tx, None, task)
    _append(tx, change)


def save(tx: Transaction, before: Task, change: Change) -> Task:
    """Write a changed task, its place in the pool and its facts."""
    task = change.task
    tx.execute(_UPDATE, (*_mutable_of(row_of(task)), task.id))
    if before.status is Status.RUNNING and task.status is not Status.RUNNING:
        tx.running.pop(task.id, None)
    if before.status is Status.QUEUED and task.status is not Status.QUEUED:
        pooling.leave(tx, before)
    if task.concurrency_key is not None:
        keyed.moved(tx, before, task)
    elif task.status is Status.QUEUED and before.status is not Status.QUEUED:
        pooling.enter(tx, task)
    if task.cancel is not None and before.cancel is None and task.status is Status.RUNNING:
        tx.cancels.append(task.id)
    if task.cancel is not None and before.cancel is None:
        cancel_children(tx, task.id, task.cancel)
    if task.batch_id is not None:
        _tell_batch(tx, before, task)
    _append(tx, change)
    return task


def cancel_children(tx: Transaction, task_id: str, request: CancelRequest) -> None:
    """Have the children of a task cancelled, by `children.cancel_some`, but for detached ones."""
    tx.execute(
        """INSERT OR IGNORE INTO cancelling (batch_id, request)
           SELECT id, ? FROM batches WHERE parent_id = ? AND detached = 0
               AND (left > 0 OR failed > 0)""",
        (json(request), task_id),
    )


def _tell_batch(tx: Transaction, before: Task, task: Task) -> None:
    delta = delta_of(before.status, task.status)
    if delta is not None and task.batch_id is not None:
        tx.child_changed(task.batch_id, *delta)


def _append(tx: Transaction, change: Change) -> None:
    first = change.task.seq - len(change.facts) + 1
    for seq, fact in enumerate(change.facts, first):
        row = (change.task.id, seq, fact.kind, json(fact.data()), tx.now)
        tx.execute("INSERT INTO events (task_id, seq, kind, data, at) VALUES (?, ?, ?, ?, ?)", row)
        tx.counts[change.task.type, change.task.lane, fact.kind] += 1
    if change.facts:
        tx.events.append(change.task.id)


def keep_blob(tx: Transaction, key: str) -> None:
    """Something refers to the blob from now on."""
    tx.execute("UPDATE blobs SET kept = 1 WHERE key = ?", (key,))


def owns(tx: Transaction, lease: Lease) -> bool:
    """Whether a lease opens its task."""
    return owned(tx, lease) is not None


def owned(tx: Transaction, lease: Lease) -> Task | None:
    """The task that a lease opens."""
    task = find(tx, lease.task_id)
    if task is None or task.status is not Status.RUNNING or task.lease != lease:
        return None
    return task


def under_lease(tx: Transaction, lease: Lease, outcome: Outcome) -> LeaseLost | None:
    """Settle one claim."""
    task = owned(tx, lease)
    if task is None:
        return lease_lost(lease.task_id)
    settle(tx, task, outcome)
    return None


def settle(tx: Transaction, task: Task, outcome: Outcome) -> None:
    """End the claim of a running task, and remember a failure."""
    happened = isinstance(outcome, Waiting) and waking.holds(tx, task.id, outcome.conditions)
    save(tx, task, lifecycle.settled(task, outcome, tx.now, happened=happened))
    if isinstance(outcome, Failed):
        _record_failure(tx, task, outcome)


def _record_failure(tx: Transaction, task: Task, outcome: Failed) -> None:
    failure = outcome.failure
    row = (
        task.id, task.fence, task.attempt, failure.kind.value, failure.message, failure.trace,
        tx.now,
    )  # fmt: skip
    tx.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def apply_each(
    tx: Transaction, task_ids: Iterable[str], change: Callable[[Task, int], Change | None]
) -> int:
    """Apply a lifecycle function to tasks; those to which it answers None stay as they are."""
    changed = 0
    for task_id in task_ids:
        task = find(tx, task_id)
        outcome = None if task is None else change(task, tx.now)
        if task is not None and outcome is not None:
            save(tx, task, outcome)
            changed += 1
    return changed


def replace_input(
    tx: Transaction, task_id: str, body: str, uploads: Sequence[UploadRecord]
) -> None:
    """Another input for a task, which names these uploads and those of the one before no more."""
    inline = len(body) <= _INLINE_INPUT
    tx.execute("UPDATE tasks SET input = ? WHERE id = ?", (body if inline else None, task_id))
    tx.execute("DELETE FROM inputs WHERE task_id = ?", (task_id,))
    if not inline:
        tx.execute("INSERT INTO inputs VALUES (?, ?)", (task_id, body))
    uses.release(tx, [task_id], tx.now)
    uses.use(tx, task_id, uploads)
