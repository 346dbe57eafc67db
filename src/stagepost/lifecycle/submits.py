"""How a task begins."""

from dataclasses import replace

from stagepost.lifecycle.change import Change, next_due, to_pool
from stagepost.task import Task


def accepted(task: Task, now: int) -> Change:
    """A new task: into the pool at once, or PENDING until its run time."""
    if task.run_at > now:
        return Change(replace(task, due_at=next_due(task, task.run_at)))
    return to_pool(task, "submitted", now)


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
    return Change(replace(put_off, due_at=next_due(put_off, put_off.run_at)))
