"""What every store says of limits."""

from stagepost import lifecycle
from stagepost.errors import Conflict
from stagepost.lifecycle import Change
from stagepost.limit import MOST_LIMITS
from stagepost.task import Task
from stagepost.waiting import BudgetTurns, LimitFree


def too_many_limits() -> Conflict:
    """There is no room for another one."""
    return Conflict(f"There are {MOST_LIMITS} limits, which is the most; take one away.")


def freed(task: Task, now: int) -> Change | None:
    """A limit that a task waits for is free; None if it waits for none."""
    if any(isinstance(each, LimitFree | BudgetTurns) for each in task.conditions):
        return lifecycle.woken(task, now)
    return None
