"""The verbs that change one task at a time: read it, ask the lifecycle, write what it answers."""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Final

from stagepost import lifecycle
from stagepost.batch import PAGE, begun_anew, delta_of
from stagepost.errors import Conflict, LeaseLost, NotFound
from stagepost.lifecycle import Blame, Change
from stagepost.outcome import Failed, Outcome, Waiting
from stagepost.records import Artifact, NewTask, Rescue, Resume, Scope, UploadRecord
from stagepost.stores.redriving import EVERYTHING, LAST_ID, NOTHING, Cut, resume_data
from stagepost.stores.rows import TASK_COLUMNS, TASK_FIELDS, json, row_of, task_of
from stagepost.stores.sqlite import keyed, pooling, unique, uses, waking
from stagepost.stores.sqlite.transaction import Transaction
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


def lease_lost(task_id: str) -> LeaseLost:
    """The refusal of a late writer."""
    return LeaseLost(f"Another claim owns task {task_id}; this one's writes are refused.")


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
    _settle(tx, task, outcome)
    return None


def _settle(tx: Transaction, task: Task, outcome: Outcome) -> None:
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


def attach(tx: Transaction, arguments: list[tuple[Lease, Artifact]]) -> Sequence[LeaseLost | None]:
    """Artifacts of running tasks."""
    results: list[LeaseLost | None] = []
    for lease, artifact in arguments:
        if owned(tx, lease) is None:
            results.append(lease_lost(lease.task_id))
            continue
        tx.execute(
            """UPDATE blobs SET kept = 0, staged_at = ?3 WHERE key IN
                   (SELECT blob FROM artifacts WHERE task_id = ?1 AND name = ?2)""",
            (lease.task_id, artifact.name, tx.now),
        )
        row = (
            lease.task_id, artifact.name, artifact.media_type, artifact.size, artifact.sha256,
            artifact.blob, tx.now,
        )  # fmt: skip
        tx.execute("INSERT OR REPLACE INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        keep_blob(tx, artifact.blob)
        results.append(None)
    return results


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


def release_due(tx: Transaction, arguments: list[int]) -> Sequence[int]:
    """Tasks whose time has come."""
    return [apply_each(tx, _ids(tx, _DUE, (tx.now, limit)), lifecycle.due) for limit in arguments]


_DUE: Final = (
    "SELECT id FROM tasks WHERE due_at IS NOT NULL AND due_at <= ? ORDER BY due_at LIMIT ?"
)


def expire(tx: Transaction, arguments: list[Sequence[str]]) -> Sequence[int]:
    """Pooled tasks that a reader saw past their deadline."""

    def if_queued(task: Task, now: int) -> Change | None:
        late = task.status is Status.QUEUED and task.deadline <= now
        return lifecycle.expired(task, now) if late else None

    return [apply_each(tx, task_ids, if_queued) for task_ids in arguments]


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
    task = find(tx, task_id)
    if task is None or not scope.holds(task):
        return absent(task_id)
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
    if resume != Resume():
        _delete_steps(tx, task_id, cut.steps)
        _drop_batches(tx, task, by, cut)
    if resume.input is not None:
        replace_input(tx, task_id, resume.input, resume.uploads)
    return save(tx, task, change)


def _cut(tx: Transaction, task_id: str, resume: Resume) -> Cut:
    if resume.from_step is None or resume.fresh or resume.input is not None:
        return NOTHING if resume != Resume() else EVERYTHING
    found = tx.row(_STANDS_AT, (task_id, resume.from_step, LAST_ID))
    if found is None:
        raise NotFound(f'The task has no saved step "{resume.from_step}"; see its /steps.')
    return Cut(*found)


_STANDS_AT: Final = """
SELECT n - 1, ?3 FROM steps WHERE task_id = ?1 AND (path = ?2 OR name = ?2) UNION ALL
SELECT steps, id FROM batches WHERE parent_id = ?1 AND dropped = 0 AND (path = ?2 OR name = ?2)
ORDER BY 1, 2 LIMIT 1"""


def _redrive_dead_children(tx: Transaction, task_id: str, by: str, cut: Cut) -> int:
    """A page of the dead children that a task keeps, and of theirs; the deepest first."""
    dead = tx.rows(_DEAD_BELOW, (task_id, *cut, PAGE))
    for child_id, attempts in dead:
        child = load(tx, child_id)
        save(tx, child, lifecycle.redriven(child, by, "checkpoints", attempts, tx.now))
    return len(dead)


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


def _drop_batches(tx: Transaction, task: Task, by: str, cut: Cut) -> None:
    for batch_id in _ids(tx, _DROP_BATCHES, (task.id, *cut, task.seq)):
        row = (batch_id, json(begun_anew(by)))
        tx.execute("INSERT OR IGNORE INTO cancelling (batch_id, request) VALUES (?, ?)", row)


_DROP_BATCHES: Final = """
UPDATE batches SET dropped = ?4 WHERE parent_id = ?1 AND dropped = 0 AND (steps, id) >= (?2, ?3)
RETURNING id"""


def _delete_steps(tx: Transaction, task_id: str, kept: int) -> None:
    tx.execute(
        """UPDATE blobs SET kept = 0, staged_at = ?3 WHERE key IN
               (SELECT blob FROM steps WHERE task_id = ?1 AND n > ?2 AND blob IS NOT NULL)""",
        (task_id, kept, tx.now),
    )
    tx.execute("DELETE FROM steps WHERE task_id = ? AND n > ?", (task_id, kept))
    # What is run again also waits again.
    tx.execute("DELETE FROM waits WHERE task_id = ?", (task_id,))


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


def _for_caller(
    tx: Transaction,
    wish: CallersWish,
    change: Callable[[Task, CancelRequest, int], Change | None],
) -> Task | Exception:
    task_id, scope, request = wish
    task = find(tx, task_id)
    if task is None or not scope.holds(task):
        return absent(task_id)
    try:
        outcome = change(task, request, tx.now)
    except Conflict as error:
        return error
    return task if outcome is None else save(tx, task, outcome)


def absent(task_id: str) -> NotFound:
    """The refusal for a task that the caller can't see."""
    return NotFound(f"There is no task {task_id}.")


def rescue(tx: Transaction, arguments: list[tuple[float, int | None]]) -> Sequence[Rescue]:
    """Give back the claims of workers that were silent for so many seconds at an instant."""
    return [_rescue(tx, older_than, as_of) for older_than, as_of in arguments]


def _rescue(tx: Transaction, older_than: float, as_of: int | None) -> Rescue:
    silent_since = (tx.now if as_of is None else as_of) - round(older_than * 1000)
    workers = _ids(tx, "DELETE FROM workers WHERE beat_at <= ? RETURNING id", (silent_since,))
    strays = _ids(tx, _STRAYS, ())
    _give_back(tx, strays, Blame.UNKNOWN)
    return Rescue(tuple(workers), tuple(strays))


_STRAYS: Final = """
SELECT id FROM tasks WHERE worker_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = tasks.worker_id)"""
"""Claims of workers that nobody knows any more."""


def retire(tx: Transaction, arguments: list[str]) -> Sequence[None]:
    """Workers that end: of what they still hold somebody else is to blame, if anybody."""
    for worker_id in arguments:
        held = _ids(tx, "SELECT id FROM tasks WHERE worker_id = ?", (worker_id,))
        _give_back(tx, held, Blame.ANOTHER)
        tx.execute("DELETE FROM workers WHERE id = ?", (worker_id,))
    return [None] * len(arguments)


def _give_back(tx: Transaction, task_ids: Iterable[str], blame: Blame) -> None:
    for task_id in task_ids:
        task = load(tx, task_id)
        _settle(tx, task, lifecycle.loss(task, blame, tx.now))


def _ids(tx: Transaction, statement: str, bindings: tuple[Any, ...]) -> list[str]:
    return [row[0] for row in tx.rows(statement, bindings)]
