"""The verbs that change one task at a time: read it, ask the lifecycle, write what it answers."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from stagepost import lifecycle
from stagepost.errors import Conflict, LeaseLost, NotFound
from stagepost.lifecycle import Blame, Change
from stagepost.outcome import Failed, Outcome
from stagepost.records import Artifact, NewTask, Rescue, Resume, Scope
from stagepost.stores.redriving import resume_data
from stagepost.stores.rows import TASK_COLUMNS, TASK_FIELDS, json, row_of, task_of
from stagepost.stores.sqlite import uses
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import CancelRequest, Lease, Status, Task

_SELECT: Final = f"SELECT {TASK_COLUMNS} FROM tasks WHERE id = ?"
_MUTABLE: Final = tuple(name for name in TASK_FIELDS if name != "id")
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
    if task.status is Status.QUEUED:
        _enter_pool(tx, task)
    _append(tx, change)


def save(tx: Transaction, before: Task, change: Change) -> Task:
    """Write a changed task, its place in the pool and its facts."""
    task = change.task
    values = row_of(task)
    tx.execute(_UPDATE, (*values[1:], task.id))
    if before.status is Status.RUNNING and task.status is not Status.RUNNING:
        tx.running.pop(task.id, None)
    if before.status is Status.QUEUED and task.status is not Status.QUEUED:
        _leave_pool(tx, before)
    elif task.status is Status.QUEUED and before.status is not Status.QUEUED:
        _enter_pool(tx, task)
    if task.cancel is not None and before.cancel is None and task.status is Status.RUNNING:
        tx.cancels.append(task.id)
    _append(tx, change)
    return task


def _append(tx: Transaction, change: Change) -> None:
    first = change.task.seq - len(change.facts) + 1
    for seq, fact in enumerate(change.facts, first):
        row = (change.task.id, seq, fact.kind, json(fact.data()), tx.now)
        tx.execute("INSERT INTO events (task_id, seq, kind, data, at) VALUES (?, ?, ?, ?, ?)", row)
        tx.counts[change.task.type, change.task.lane, fact.kind] += 1
    if change.facts:
        tx.events.append(change.task.id)


def _score(task: Task) -> int:
    assert task.pooled_at is not None
    return task.pooled_at - task.priority * 1000


def _enter_pool(tx: Transaction, task: Task) -> None:
    row = (task.lane, _score(task), task.id, task.type, task.deadline, int(task.hard_deadline))
    tx.execute("INSERT INTO pool VALUES (?, ?, ?, ?, ?, ?)", row)
    tx.pooled = True


def _leave_pool(tx: Transaction, task: Task) -> None:
    key = (task.lane, _score(task), task.id)
    tx.execute("DELETE FROM pool WHERE lane = ? AND score = ? AND task_id = ?", key)


def keep_blob(tx: Transaction, key: str) -> None:
    """Something refers to the blob from now on."""
    tx.execute("UPDATE blobs SET kept = 1 WHERE key = ?", (key,))


def lease_lost(task_id: str) -> LeaseLost:
    """The refusal of a late writer."""
    return LeaseLost(f"Another claim owns task {task_id}; this one's writes are refused.")


def _owned(tx: Transaction, lease: Lease) -> Task | None:
    task = find(tx, lease.task_id)
    if task is None or task.status is not Status.RUNNING or task.lease != lease:
        return None
    return task


def under_lease(tx: Transaction, lease: Lease, outcome: Outcome) -> LeaseLost | None:
    """Settle one claim."""
    task = _owned(tx, lease)
    if task is None:
        return lease_lost(lease.task_id)
    _settle(tx, task, outcome)
    return None


def _settle(tx: Transaction, task: Task, outcome: Outcome) -> None:
    save(tx, task, lifecycle.settled(task, outcome, tx.now))
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
        if _owned(tx, lease) is None:
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
        return _absent(task_id)
    gone = uses.missing(tx, [upload.upload_id for upload in resume.uploads])
    if gone is not None:
        return gone
    try:
        change = lifecycle.redriven(task, by, resume_data(resume), attempts, tx.now)
        _forget_steps(tx, task_id, resume)
    except (Conflict, NotFound) as error:
        return error
    if resume.input is not None:
        _replace_input(tx, task_id, resume.input)
        uses.release(tx, [task_id], tx.now)
        uses.use(tx, task_id, resume.uploads)
    return save(tx, task, change)


def _forget_steps(tx: Transaction, task_id: str, resume: Resume) -> None:
    if resume.fresh or resume.input is not None:
        _delete_steps(tx, task_id, 0)
    elif resume.from_step is not None:
        found = tx.row(
            "SELECT min(n) FROM steps WHERE task_id = ? AND (path = ? OR name = ?)",
            (task_id, resume.from_step, resume.from_step),
        )
        if found is None or found[0] is None:
            raise NotFound(f'The task has no saved step "{resume.from_step}"; see its /steps.')
        _delete_steps(tx, task_id, found[0])


def _delete_steps(tx: Transaction, task_id: str, first: int) -> None:
    tx.execute(
        """UPDATE blobs SET kept = 0, staged_at = ?3 WHERE key IN
               (SELECT blob FROM steps WHERE task_id = ?1 AND n >= ?2 AND blob IS NOT NULL)""",
        (task_id, first, tx.now),
    )
    tx.execute("DELETE FROM steps WHERE task_id = ? AND n >= ?", (task_id, first))


def _replace_input(tx: Transaction, task_id: str, body: str) -> None:
    inline = len(body) <= _INLINE_INPUT
    tx.execute("UPDATE tasks SET input = ? WHERE id = ?", (body if inline else None, task_id))
    tx.execute("DELETE FROM inputs WHERE task_id = ?", (task_id,))
    if not inline:
        tx.execute("INSERT INTO inputs VALUES (?, ?)", (task_id, body))


def _for_caller(
    tx: Transaction,
    wish: CallersWish,
    change: Callable[[Task, CancelRequest, int], Change | None],
) -> Task | Exception:
    task_id, scope, request = wish
    task = find(tx, task_id)
    if task is None or not scope.holds(task):
        return _absent(task_id)
    try:
        outcome = change(task, request, tx.now)
    except Conflict as error:
        return error
    return task if outcome is None else save(tx, task, outcome)


def _absent(task_id: str) -> NotFound:
    return NotFound(f"There is no task {task_id}.")


def rescue(tx: Transaction, arguments: list[float]) -> Sequence[Rescue]:
    """Give back the claims of workers that are silent for longer than so many seconds."""
    return [_rescue(tx, older_than) for older_than in arguments]


def _rescue(tx: Transaction, older_than: float) -> Rescue:
    silent_since = tx.now - round(older_than * 1000)
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
