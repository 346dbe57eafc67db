"""How a claim ends whose worker died."""

from enum import Enum
from typing import Final

from stagepost.failure import Failure, FailureKind
from stagepost.lifecycle.change import Change
from stagepost.lifecycle.ends import settled
from stagepost.lifecycle.timers import DEADLINE_MESSAGE
from stagepost.outcome import Cancelled, Drained, Failed, Outcome
from stagepost.retry import LOST_CLAIMS_LIMIT, WORKER_LOST_DELAYS
from stagepost.task import Task

_LOST_MESSAGE: Final = "The worker that ran the task was lost."


class Blame(Enum):
    """Who is to blame for a worker's death, as far as one of its tasks is concerned."""

    UNKNOWN = "unknown"
    ANOTHER = "another"


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
        return Failed(Failure(FailureKind.DEADLINE, DEADLINE_MESSAGE), None)
    if task.progressed or blame is Blame.ANOTHER:
        return Drained("rescued")
    return died(task.lost_claims, task.attempt, task.max_attempts)


def died(lost_claims: int, attempt: int, max_attempts: int) -> Failed:
    """The outcome of a claim that died without progress, after so many such losses in a row."""
    losses = lost_claims + 1
    spent = losses >= LOST_CLAIMS_LIMIT or attempt >= max_attempts
    delay = None if spent else WORKER_LOST_DELAYS[min(losses, len(WORKER_LOST_DELAYS)) - 1]
    return Failed(Failure(FailureKind.WORKER_LOST, _LOST_MESSAGE), delay, lost=True)
