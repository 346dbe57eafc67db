"""Into the pool and out of it."""

from typing import Final

from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import Task

_ENTER: Final = "INSERT INTO pool VALUES (?, ?, ?, ?, ?, ?, ?)"
_ENTER_BY_ID: Final = """
INSERT INTO pool
SELECT lane, tenant, type || iif(code_version > 0, '/' || code_version, ''),
    pooled_at - priority * 1000, id, deadline, hard_deadline
FROM tasks WHERE id = ?"""
_LEAVE: Final = """
DELETE FROM pool WHERE lane = ? AND tenant = ? AND type = ? AND score = ? AND task_id = ?"""


def score(task: Task) -> int:
    """What orders the tasks of a queue, in ms."""
    assert task.pooled_at is not None
    return task.pooled_at - task.priority * 1000


def enter(tx: Transaction, task: Task) -> None:
    """A task that is QUEUED can be claimed from now on."""
    late = (task.deadline, int(task.hard_deadline))
    tx.execute(_ENTER, (task.lane, task.tenant, task.pool_type, score(task), task.id, *late))
    tx.pooled = True


def enter_by_id(tx: Transaction, task_id: str) -> None:
    """The same of a task that is written already."""
    tx.execute(_ENTER_BY_ID, (task_id,))
    tx.pooled = True


def leave(tx: Transaction, task: Task) -> None:
    """A task that was QUEUED can't be claimed any more."""
    tx.execute(_LEAVE, (task.lane, task.tenant, task.pool_type, score(task), task.id))
