"""How every store words its refusals."""

from stagepost.errors import Conflict, LeaseLost, NotFound


def absent(task_id: str) -> NotFound:
    """The refusal for a task that the caller can't see."""
    return NotFound(f"There is no task {task_id}.")


def lease_lost(task_id: str) -> LeaseLost:
    """The refusal of a late writer."""
    return LeaseLost(f"Another claim owns task {task_id}; this one's writes are refused.")


def saved_already(path: str) -> Conflict:
    """The refusal of a second checkpoint under one path."""
    return Conflict(f'The step "{path}" is saved already.')
