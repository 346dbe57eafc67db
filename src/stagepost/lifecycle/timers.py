"""What time does to a task: its run time, a retry, a wait, its deadline."""

from dataclasses import replace
from typing import Final

from stagepost.failure import Failure, FailureKind
from stagepost.lifecycle.change import Change, bury, to_pool, waits_no_more
from stagepost.task import Status, Task

DEADLINE_MESSAGE: Final = "The task was not done before its deadline."
_TIMED: Final = frozenset({Status.PENDING, Status.WAITING, Status.FAILED})


def due(task: Task, now: int) -> Change | None:
    """What the scheduler does for a task whose `due_at` has come; None if nothing is due yet."""
    if task.due_at is None or task.due_at > now or task.status not in _TIMED:
        return None
    if task.status is Status.WAITING:
        return woken(task, now)
    if task.deadline <= now:
        return expired(task, now)
    if task.status is Status.PENDING:
        return to_pool(task, "due", now)
    return to_pool(replace(task, attempt=task.attempt + 1), "retry", now)


def woken(task: Task, now: int) -> Change | None:
    """A condition of its wait holds; None if it does not wait.

    The time that it has waited does not count for its default deadline; an explicit one that has
    passed ends it.
    """
    if task.status is not Status.WAITING:
        return None
    if task.hard_deadline and task.deadline <= now:
        return expired(task, now)
    waited = now - (task.waiting_since or now)
    deadline = task.deadline if task.hard_deadline else task.deadline + waited
    return to_pool(replace(waits_no_more(task), deadline=deadline), "woken", now)


def expired(task: Task, now: int) -> Change:
    """The deadline passed before the task was done; only for tasks that do not run."""
    return bury(task, Failure(FailureKind.DEADLINE, DEADLINE_MESSAGE), now)
