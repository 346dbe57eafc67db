"""What the engine's own loops do: due times, deadlines, the claims of the dead."""

from collections.abc import Iterable, Sequence
from typing import Final

from stagepost import lifecycle
from stagepost.lifecycle import Blame, Change
from stagepost.records import Rescue
from stagepost.stores.sqlite import changes
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import Status, Task

_DUE: Final = (
    "SELECT id FROM tasks WHERE due_at IS NOT NULL AND due_at <= ? ORDER BY due_at LIMIT ?"
)
_STRAYS: Final = """
SELECT id FROM tasks WHERE worker_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = tasks.worker_id)"""
"""Claims of workers that nobody knows any more."""


def release_due(tx: Transaction, arguments: list[int]) -> Sequence[int]:
    """Tasks whose time has come."""
    now = tx.now
    return [
        changes.apply_each(tx, tx.column(_DUE, (now, limit)), lifecycle.due) for limit in arguments
    ]


def expire(tx: Transaction, arguments: list[Sequence[str]]) -> Sequence[int]:
    """Pooled tasks that a reader saw past their deadline."""

    def if_queued(task: Task, now: int) -> Change | None:
        late = task.status is Status.QUEUED and task.deadline <= now
        return lifecycle.expired(task, now) if late else None

    return [changes.apply_each(tx, task_ids, if_queued) for task_ids in arguments]


def rescue(tx: Transaction, arguments: list[tuple[float, int | None]]) -> Sequence[Rescue]:
    """Give back the claims of workers that were silent for so many seconds at an instant."""
    return [_rescue(tx, older_than, as_of) for older_than, as_of in arguments]


def _rescue(tx: Transaction, older_than: float, as_of: int | None) -> Rescue:
    silent_since = (tx.now if as_of is None else as_of) - round(older_than * 1000)
    workers = tx.column("DELETE FROM workers WHERE beat_at <= ? RETURNING id", (silent_since,))
    strays = tx.column(_STRAYS, ())
    _give_back(tx, strays, Blame.UNKNOWN)
    return Rescue(tuple(workers), tuple(strays))


def retire(tx: Transaction, arguments: list[str]) -> Sequence[None]:
    """Workers that end: of what they still hold somebody else is to blame, if anybody."""
    for worker_id in arguments:
        held = tx.column("SELECT id FROM tasks WHERE worker_id = ?", (worker_id,))
        _give_back(tx, held, Blame.ANOTHER)
        tx.execute("DELETE FROM workers WHERE id = ?", (worker_id,))
    return [None] * len(arguments)


def _give_back(tx: Transaction, task_ids: Iterable[str], blame: Blame) -> None:
    for task_id in task_ids:
        task = changes.load(tx, task_id)
        changes.settle(tx, task, lifecycle.loss(task, blame, tx.now))
