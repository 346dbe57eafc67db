"""How a claim ends, by its outcome."""

from dataclasses import replace
from typing import assert_never

from stagepost.event import Completed, Retrying, WaitStarted
from stagepost.lifecycle.change import Change, bury, end, next_due, released, to_pool, with_facts
from stagepost.outcome import Cancelled, Drained, Failed, Outcome, Succeeded, Waiting
from stagepost.retry import LOST_CLAIMS_LIMIT
from stagepost.task import Status, Task, Wait
from stagepost.waiting import (
    BudgetTurns,
    Condition,
    LimitFree,
    begun,
    ends_at,
    milliseconds,
    nearest,
    shown_until,
)


def settled(task: Task, outcome: Outcome, now: int, *, happened: bool = False) -> Change:
    """A claim ends. The caller has checked that the claim still owns the task.

    `happened` says that a condition of its wait holds already: it goes back to the pool at once.

    Once cancel was asked, every end but success is a cancellation. A failure makes a dead letter
    when no attempt is left, whatever delay it names.
    """
    if task.cancel is not None and not isinstance(outcome, Succeeded):
        return end(released(task), task.cancel, now)
    match outcome:
        case Succeeded():
            return _complete(task, now)
        case Waiting() if happened:
            return to_pool(replace(released(task), lost_claims=0), "woken", now)
        case Waiting(conditions=conditions):
            return _park(task, conditions, now)
        case Drained(reason=reason):
            return _drain(task, reason, now)
        case Cancelled(request=request):
            return end(released(task), request, now)
        case Failed():
            return _fail(task, outcome, now)
        case _:
            assert_never(outcome)


def _drain(task: Task, reason: str, now: int) -> Change:
    # Nobody blames a task for a neighbour's death; a plain drain says nothing about it.
    losses = 0 if reason == "rescued" else task.lost_claims
    return to_pool(replace(released(task), lost_claims=losses), reason, now)


def _complete(task: Task, now: int) -> Change:
    done = released(task).to(
        Status.COMPLETED,
        progress=100,
        ended_at=now,
        cancel=None,
        failure_kind=None,
        error_message=None,
    )
    return with_facts(done, Completed(now - (task.started_at or now), task.trace_id))


def _park(task: Task, conditions: tuple[Condition, ...], now: int) -> Change:
    conditions = begun(conditions, now)
    shown = nearest(conditions)
    wait = Wait(shown.kind, shown.name, shown_until(shown))
    ends = [ends_at(conditions), task.deadline if task.hard_deadline else None]
    parked = released(task).to(
        Status.WAITING,
        wait=wait,
        conditions=conditions,
        waiting_since=now,
        due_at=min((instant for instant in ends if instant is not None), default=None),
        # Only waits in a row for somebody else's limit make the next one longer.
        waits=task.waits + any(isinstance(each, LimitFree | BudgetTurns) for each in conditions),
        lost_claims=0,
    )
    return with_facts(parked, WaitStarted(wait))


def _fail(task: Task, outcome: Failed, now: int) -> Change:
    failure = outcome.failure
    losses = task.lost_claims + 1 if outcome.lost else 0
    loose = replace(released(task), lost_claims=losses, waits=0)
    spent = losses >= LOST_CLAIMS_LIMIT or task.attempt >= task.max_attempts
    if outcome.delay is None or spent:
        return bury(loose.to(Status.FAILED), failure, now)
    next_at = now + milliseconds(outcome.delay)
    failed = loose.to(
        Status.FAILED,
        failure_kind=failure.kind,
        error_message=failure.message,
        due_at=next_due(task, next_at),
    )
    return with_facts(failed, Retrying(task.attempt, failure.kind, failure.message, next_at))
