"""What people ask for: cancel, discard, redrive."""

from collections.abc import Mapping
from dataclasses import replace

from stagepost.errors import Conflict
from stagepost.event import Redriven
from stagepost.lifecycle.change import Change, end, with_facts
from stagepost.task import SETTLED, CancelRequest, Status, Task


def cancelled(task: Task, request: CancelRequest, now: int) -> Change | None:
    """Cancel: at once, or asked of the worker when it runs. None: asked before, nothing to do.

    Raises Conflict for a task that is COMPLETED or in DEAD_LETTER.
    """
    if task.status is Status.CANCELLED:
        return None
    if task.status in SETTLED:
        raise Conflict(f"The task is {task.status} and can't be cancelled any more.")
    if task.status is not Status.RUNNING:
        return end(task, request, now)
    if task.cancel is not None:
        return None
    return Change(replace(task, cancel=request))


def cancelled_with_parent(task: Task, request: CancelRequest, now: int) -> Change | None:
    """The same for a child whose parent was cancelled; one that has settled stays as it is."""
    return None if task.status in SETTLED else cancelled(task, request, now)


def discarded(task: Task, request: CancelRequest, now: int) -> Change:
    """A dead letter is given up by a person. Raises Conflict for any other task."""
    if task.status is not Status.DEAD_LETTER:
        raise Conflict(f"Only a dead letter can be discarded; this task is {task.status}.")
    return end(task, request, now)


def redriven(
    task: Task, by: str, resume: str | Mapping[str, str], attempts: int, now: int
) -> Change:
    """A dead letter goes back to its lane with `attempts` new tries.

    The default deadline starts anew; an explicit one that has passed gives way to the default.
    With nothing saved any more, the version of the code that claims it next is its own. Raises
    Conflict for a task that is no dead letter.
    """
    if task.status is not Status.DEAD_LETTER:
        raise Conflict(f"Only a dead letter can be redriven; this task is {task.status}.")
    keeps = task.hard_deadline and task.deadline > now
    queued = task.to(
        Status.QUEUED,
        attempt=task.attempt + 1,
        max_attempts=task.attempt + attempts,
        lost_claims=0,
        waits=0,
        hard_deadline=keeps,
        deadline=task.deadline if keeps else now + task.ttl,
        failure_kind=None,
        error_message=None,
        ended_at=None,
        pooled_at=now,
        due_at=None,
        code_version=0 if resume == "fresh" else task.code_version,
    )
    return with_facts(queued, Redriven(by, resume))
