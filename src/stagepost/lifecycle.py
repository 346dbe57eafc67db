"""Every way in which a task changes its status, as pure functions.

Each takes the task and the instant, and answers the changed task and the facts to append to its
history. Stores apply a Change as it is, in one transaction; where a store does one of these in bulk
with a statement of its own, the conformance suite holds it to the function here.

One cause appends exactly one numbered event; only asking a running task to stop appends none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from stagepost.batch import Batch
from stagepost.errors import Conflict
from stagepost.event import (
    Completed,
    DeadLettered,
    Fact,
    Progressed,
    Queued,
    Redriven,
    Retrying,
    Started,
    StepSaved,
    WaitStarted,
    WasCancelled,
)
from stagepost.failure import Failure, FailureKind
from stagepost.outcome import Cancelled, Drained, Failed, Outcome, Succeeded, Waiting
from stagepost.records import Checkpoint, ProgressNote
from stagepost.retry import LOST_CLAIMS_LIMIT, WORKER_LOST_DELAYS
from stagepost.task import SETTLED, CancelRequest, Lease, Status, Task, Wait
from stagepost.waiting import (
    ChildrenOver,
    Condition,
    LimitFree,
    begun,
    ends_at,
    milliseconds,
    nearest,
)

_DEADLINE_MESSAGE = "The task was not done before its deadline."
_LOST_MESSAGE = "The worker that ran the task was lost."
_MOST_PROGRESS = 99  # per cent, before it is done


class Blame(Enum):
    """Who is to blame for a worker's death, as far as one of its tasks is concerned."""

    UNKNOWN = "unknown"
    ANOTHER = "another"


@dataclass(frozen=True, slots=True)
class Change:
    """A task after the change, and what to append to its history."""

    task: Task
    facts: tuple[Fact, ...] = ()


def accepted(task: Task, now: int) -> Change:
    """A new task: into the pool at once, or PENDING until its run time."""
    if task.run_at > now:
        return Change(replace(task, due_at=_next_due(task, task.run_at)))
    return _queue(task, "submitted", now)


def debounced(task: Task, later: Task) -> Change:
    """A PENDING task is put off to the run time and deadline of a later submit, and its files.

    Nothing else of the later one counts. No event tells of it, as none tells of a PENDING task.
    """
    put_off = replace(
        task,
        run_at=later.run_at,
        deadline=later.deadline,
        hard_deadline=later.hard_deadline,
        ttl=later.ttl,
        upload_bytes=later.upload_bytes,
    )
    return Change(replace(put_off, due_at=_next_due(put_off, put_off.run_at)))


def claimed(task: Task, lease: Lease, worker_id: str, now: int, version: int = 1) -> Change:
    """A worker takes the task; `lease.fence` is one above the task's.

    `version` is that of the worker's own code, with which a task goes on from its first claim.
    """
    running = task.to(
        Status.RUNNING,
        fence=lease.fence,
        lease_id=lease.lease_id,
        worker_id=worker_id,
        pooled_at=None,
        started_at=task.started_at if task.started_at is not None else now,
        code_version=task.code_version or version,
    )
    return _with_facts(running, Started(task.attempt))


def noted(task: Task, note: ProgressNote) -> Change:
    """A running task tells how far it is; `step` becomes what people read beside the bar."""
    percent = max(task.progress, min(_MOST_PROGRESS, note.percent))
    told = replace(task, progress=percent, step=note.message or note.step or task.step)
    return _with_facts(told, Progressed(percent, note.message, note.step))


def saved(task: Task, checkpoint: Checkpoint) -> Change:
    """A running task has a new checkpoint: it is no suspect any more."""
    further = replace(
        task,
        saved_steps=task.saved_steps + 1,
        saved_fence=task.fence,
        lost_claims=0,
        waits=0,
    )
    return _with_facts(further, StepSaved(checkpoint.name, checkpoint.path))


def settled(task: Task, outcome: Outcome, now: int, *, happened: bool = False) -> Change:
    """A claim ends. The caller has checked that the claim still owns the task.

    `happened` says that a condition of its wait holds already: it goes back to the pool at once.

    Once cancel was asked, every end but success is a cancellation. A failure makes a dead letter
    when no attempt is left, whatever delay it names.
    """
    if task.cancel is not None and not isinstance(outcome, Succeeded):
        return _end(_released(task), task.cancel, now)
    match outcome:
        case Succeeded():
            return _complete(task, now)
        case Waiting() if happened:
            return _queue(replace(_released(task), lost_claims=0), "woken", now)
        case Waiting(conditions=conditions):
            return _park(task, conditions, now)
        case Drained(reason=reason):
            return _drain(task, reason, now)
        case Cancelled(request=request):
            return _end(_released(task), request, now)
        case Failed():
            return _fail(task, outcome, now)
        case _:
            assert_never(outcome)


def due(task: Task, now: int) -> Change | None:
    """What the scheduler does for a task whose `due_at` has come; None if nothing is due yet."""
    if task.due_at is None or task.due_at > now or task.status not in _TIMED:
        return None
    if task.status is Status.WAITING:
        return woken(task, now)
    if task.deadline <= now:
        return expired(task, now)
    if task.status is Status.PENDING:
        return _queue(task, "due", now)
    return _queue(replace(task, attempt=task.attempt + 1), "retry", now)


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
    return _queue(replace(_waits_no_more(task), deadline=deadline), "woken", now)


_TIMED = frozenset({Status.PENDING, Status.WAITING, Status.FAILED})


def expired(task: Task, now: int) -> Change:
    """The deadline passed before the task was done; only for tasks that do not run."""
    return _bury(task, Failure(FailureKind.DEADLINE, _DEADLINE_MESSAGE), now)


def lost(task: Task, blame: Blame, now: int) -> Change:
    """Its claim is given back because its worker died; see `loss`."""
    return settled(task, loss(task, blame, now), now)


def loss(task: Task, blame: Blame, now: int) -> Outcome:
    """How a claim ends whose worker died.

    One that saved something new spends nothing, nor does one whose neighbour is to blame; past its
    deadline a task is not tried again.
    """
    if task.cancel is not None:
        return Cancelled(task.cancel)
    if task.deadline <= now:
        return Failed(Failure(FailureKind.DEADLINE, _DEADLINE_MESSAGE), None)
    if task.progressed or blame is Blame.ANOTHER:
        return Drained("rescued")
    return died(task.lost_claims, task.attempt, task.max_attempts)


def died(lost_claims: int, attempt: int, max_attempts: int) -> Failed:
    """The outcome of a claim that died without progress, after so many such losses in a row."""
    losses = lost_claims + 1
    spent = losses >= LOST_CLAIMS_LIMIT or attempt >= max_attempts
    delay = None if spent else WORKER_LOST_DELAYS[min(losses, len(WORKER_LOST_DELAYS)) - 1]
    return Failed(Failure(FailureKind.WORKER_LOST, _LOST_MESSAGE), delay, lost=True)


def spawned(task: Task) -> Task:
    """A running task has started children: it is no suspect any more."""
    return replace(task, saved_fence=task.fence, lost_claims=0, waits=0)


def children_changed(task: Task, batch: Batch, now: int) -> Change | None:
    """What a parent does about children that have settled; None if that is nothing.

    One that waits for the batch goes on when that is over, else it tells how far it is.
    """
    if task.status is Status.WAITING and waits_for(task.conditions, batch):
        return woken(task, now)
    percent = batch.percent
    if percent is None or task.status in SETTLED or percent <= task.progress:
        return None
    return noted(task, ProgressNote(percent, batch.told, None))


def waits_for(conditions: Iterable[Condition], batch: Batch) -> bool:
    """Whether one of the conditions waits for the batch, and need not any more."""
    return any(
        isinstance(each, ChildrenOver) and each.path == batch.path and batch.is_over(stop=each.stop)
        for each in conditions
    )


def cancelled_with_parent(task: Task, request: CancelRequest, now: int) -> Change | None:
    """The same for a child whose parent was cancelled; one that has settled stays as it is."""
    return None if task.status in SETTLED else cancelled(task, request, now)


def cancelled(task: Task, request: CancelRequest, now: int) -> Change | None:
    """Cancel: at once, or asked of the worker when it runs. None: asked before, nothing to do.

    Raises Conflict for a task that is COMPLETED or in DEAD_LETTER.
    """
    if task.status is Status.CANCELLED:
        return None
    if task.status in SETTLED:
        raise Conflict(f"The task is {task.status} and can't be cancelled any more.")
    if task.status is not Status.RUNNING:
        return _end(task, request, now)
    if task.cancel is not None:
        return None
    return Change(replace(task, cancel=request))


def discarded(task: Task, request: CancelRequest, now: int) -> Change:
    """A dead letter is given up by a person. Raises Conflict for any other task."""
    if task.status is not Status.DEAD_LETTER:
        raise Conflict(f"Only a dead letter can be discarded; this task is {task.status}.")
    return _end(task, request, now)


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
    return _with_facts(queued, Redriven(by, resume))


def _queue(task: Task, reason: str, now: int) -> Change:
    queued = task.to(Status.QUEUED, pooled_at=now, due_at=None)
    return _with_facts(queued, Queued(reason))


def _drain(task: Task, reason: str, now: int) -> Change:
    # Nobody blames a task for a neighbour's death; a plain drain says nothing about it.
    losses = 0 if reason == "rescued" else task.lost_claims
    return _queue(replace(_released(task), lost_claims=losses), reason, now)


def _complete(task: Task, now: int) -> Change:
    done = _released(task).to(
        Status.COMPLETED,
        progress=100,
        ended_at=now,
        cancel=None,
        failure_kind=None,
        error_message=None,
    )
    return _with_facts(done, Completed(now - (task.started_at or now), task.trace_id))


def _park(task: Task, conditions: tuple[Condition, ...], now: int) -> Change:
    conditions = begun(conditions, now)
    shown = nearest(conditions)
    wait = Wait(shown.kind, shown.name, shown.until)
    ends = [ends_at(conditions), task.deadline if task.hard_deadline else None]
    parked = _released(task).to(
        Status.WAITING,
        wait=wait,
        conditions=conditions,
        waiting_since=now,
        due_at=min((instant for instant in ends if instant is not None), default=None),
        # Only waits in a row for somebody else's limit make the next one longer.
        waits=task.waits + any(isinstance(each, LimitFree) for each in conditions),
        lost_claims=0,
    )
    return _with_facts(parked, WaitStarted(wait))


def _fail(task: Task, outcome: Failed, now: int) -> Change:
    failure = outcome.failure
    losses = task.lost_claims + 1 if outcome.lost else 0
    released = replace(_released(task), lost_claims=losses, waits=0)
    spent = losses >= LOST_CLAIMS_LIMIT or task.attempt >= task.max_attempts
    if outcome.delay is None or spent:
        return _bury(released.to(Status.FAILED), failure, now)
    next_at = now + milliseconds(outcome.delay)
    failed = released.to(
        Status.FAILED,
        failure_kind=failure.kind,
        error_message=failure.message,
        due_at=_next_due(task, next_at),
    )
    return _with_facts(failed, Retrying(task.attempt, failure.kind, failure.message, next_at))


def _bury(task: Task, failure: Failure, now: int) -> Change:
    dead = _waits_no_more(task).to(
        Status.DEAD_LETTER,
        failure_kind=failure.kind,
        error_message=failure.message,
        ended_at=now,
        pooled_at=None,
        due_at=None,
        cancel=None,
    )
    return _with_facts(dead, DeadLettered(failure.message, failure.kind))


def _end(task: Task, request: CancelRequest, now: int) -> Change:
    ended = _waits_no_more(task).to(
        Status.CANCELLED,
        cancel=request,
        ended_at=now,
        pooled_at=None,
        due_at=None,
    )
    return _with_facts(ended, WasCancelled(request.by, request.reason))


def _waits_no_more(task: Task) -> Task:
    return replace(task, wait=None, conditions=(), waiting_since=None)


def _released(task: Task) -> Task:
    return replace(task, lease_id=None, worker_id=None)


def _next_due(task: Task, instant: int) -> int:
    return min(instant, task.deadline)


def _with_facts(task: Task, *facts: Fact) -> Change:
    return Change(replace(task, seq=task.seq + len(facts)), facts)
