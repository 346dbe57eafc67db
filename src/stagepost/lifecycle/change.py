"""What a change is, and the edges that several causes share."""

from dataclasses import dataclass, replace

from stagepost.event import DeadLettered, Fact, Queued, WasCancelled
from stagepost.failure import Failure
from stagepost.task import CancelRequest, Status, Task


@dataclass(frozen=True, slots=True)
class Change:
    """A task after the change, and what to append to its history."""

    task: Task
    facts: tuple[Fact, ...] = ()


def with_facts(task: Task, *facts: Fact) -> Change:
    """The task with facts appended to its history."""
    return Change(replace(task, seq=task.seq + len(facts)), facts)


def to_pool(task: Task, reason: str, now: int) -> Change:
    """Into the pool."""
    queued = task.to(Status.QUEUED, pooled_at=now, due_at=None)
    return with_facts(queued, Queued(reason))


def bury(task: Task, failure: Failure, now: int) -> Change:
    """Into dead letter, for this failure."""
    dead = waits_no_more(task).to(
        Status.DEAD_LETTER,
        failure_kind=failure.kind,
        error_message=failure.message,
        ended_at=now,
        pooled_at=None,
        due_at=None,
        cancel=None,
    )
    return with_facts(dead, DeadLettered(failure.message, failure.kind))


def end(task: Task, request: CancelRequest, now: int) -> Change:
    """Cancelled, as asked."""
    ended = waits_no_more(task).to(
        Status.CANCELLED,
        cancel=request,
        ended_at=now,
        pooled_at=None,
        due_at=None,
    )
    return with_facts(ended, WasCancelled(request.by, request.reason))


def released(task: Task) -> Task:
    """The task in nobody's hand."""
    return replace(task, lease_id=None, worker_id=None)


def waits_no_more(task: Task) -> Task:
    """The task without what it waited for."""
    return replace(task, wait=None, conditions=(), waiting_since=None)


def next_due(task: Task, instant: int) -> int:
    """When the scheduler looks at it: at that instant, or at its deadline before."""
    return min(instant, task.deadline)
