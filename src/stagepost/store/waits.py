"""PORT. What a handler waits for, and who lets it go on."""

from typing import Protocol

from stagepost.records import Scope
from stagepost.signals import NewWait, Pending, Signal
from stagepost.task import Lease, Task


class Waits(Protocol):
    """Sleeps, and waits for signals; `waits` of a store."""

    async def sleep(self, lease: Lease, path: str, seconds: float) -> Pending:
        """How long a sleep still lasts; its end is fixed by the first call with its path. Fenced.

        Once nothing is left the caller saves it as a step.
        """
        ...

    async def listen(self, lease: Lease, wait: NewWait) -> Pending | str:
        """Take the signal that a wait waits for, or end the wait at its time-out. Fenced.

        The first call with its path begins it and fixes its end. A wait that ends is saved as a
        step, and its signal is taken, in one transaction: the answer is the step's text, see
        `signals.end_of`. Raises Conflict for a path that is saved already.
        """
        ...

    async def send(self, task_id: str, scope: Scope, signal: Signal) -> Task:
        """Keep a signal for the task, and wake the task if it waits for it; `sent_at` is set here.

        One whose id the task has had before is not kept again; its name and body must be the same.

        Raises NotFound; IdempotencyMismatch when they are not; Conflict when the task is final or
        has too many signals; NotAllowed when it waits for this signal from others.
        """
        ...
