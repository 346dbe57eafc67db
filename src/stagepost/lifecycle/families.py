"""What children do to their parent."""

from collections.abc import Iterable

from stagepost.batch import Batch
from stagepost.lifecycle.change import Change
from stagepost.lifecycle.claims import noted
from stagepost.lifecycle.timers import woken
from stagepost.records import ProgressNote
from stagepost.task import SETTLED, Status, Task
from stagepost.waiting import ChildrenOver, Condition


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
