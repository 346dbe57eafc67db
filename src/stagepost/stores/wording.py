"""How every store words its refusals."""

from stagepost.errors import CancelAsked, Conflict, LeaseLost, NotFound


def absent(task_id: str) -> NotFound:
    """The refusal for a task that the caller can't see."""
    return NotFound(f"There is no task {task_id}.")


def lease_lost(task_id: str) -> LeaseLost:
    """The refusal of a late writer."""
    return LeaseLost(f"Another claim owns task {task_id}; this one's writes are refused.")


def saved_already(path: str) -> Conflict:
    """The refusal of a second checkpoint under one path."""
    return Conflict(f'The step "{path}" is saved already.')


def call_taken(call_id: str) -> Conflict:
    """The refusal of an intent under the id of another call."""
    return Conflict(f"There is another call {call_id} already; give each its own id.")


def cancel_asked(task_id: str) -> CancelAsked:
    """The refusal of a call of a task that should stop."""
    return CancelAsked(f"Task {task_id} was asked to stop and makes no calls any more.")
