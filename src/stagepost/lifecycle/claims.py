"""A claim: its start, and what it tells and saves while it lasts."""

from dataclasses import replace
from typing import Final

from stagepost.event import Progressed, Started, StepSaved
from stagepost.lifecycle.change import Change, with_facts
from stagepost.records import Checkpoint, ProgressNote
from stagepost.task import Lease, Status, Task

_MOST_PROGRESS: Final = 99  # per cent, before it is done


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
    return with_facts(running, Started(task.attempt))


def noted(task: Task, note: ProgressNote) -> Change:
    """A running task tells how far it is; `step` becomes what people read beside the bar."""
    percent = max(task.progress, min(_MOST_PROGRESS, note.percent))
    told = replace(task, progress=percent, step=note.message or note.step or task.step)
    return with_facts(told, Progressed(percent, note.message, note.step))


def saved(task: Task, checkpoint: Checkpoint) -> Change:
    """A running task has a new checkpoint: it is no suspect any more."""
    further = replace(
        task,
        saved_steps=task.saved_steps + 1,
        saved_fence=task.fence,
        lost_claims=0,
        waits=0,
    )
    return with_facts(further, StepSaved(checkpoint.name, checkpoint.path))


def spawned(task: Task) -> Task:
    """A running task has started children: it is no suspect any more."""
    return replace(task, saved_fence=task.fence, lost_claims=0, waits=0)
