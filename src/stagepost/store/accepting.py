"""PORT. What callers hand in and decide."""

from typing import Protocol

from stagepost.records import (
    NewTask,
    Resume,
    Scope,
    Submitted,
    UploadRecord,
)
from stagepost.task import CancelRequest, Task


class Accepting(Protocol):
    """From a caller into the store."""

    async def submit(self, new: NewTask) -> Submitted:
        """Accept a task; or answer with the earlier one of the same Idempotency-Key.

        Raises IdempotencyMismatch when that one had another fingerprint, UploadSwept when one of
        its uploads is not there any more.
        """
        ...

    async def stage(self, blob: str) -> None:
        """Note that a blob of this key is about to be written."""
        ...

    async def keep_upload(self, upload: UploadRecord) -> None:
        """Keep a staged file before any task names it; `uploads` finds it from now on.

        It lives as long as the tasks whose inputs name it, and a day without any.
        """
        ...

    async def cancel(self, task_id: str, scope: Scope, request: CancelRequest) -> Task:
        """Cancel a task, or ask its worker to. Raises NotFound, Conflict (see lifecycle)."""
        ...

    async def discard(self, task_id: str, scope: Scope, request: CancelRequest) -> Task:
        """Give up a dead letter. Raises NotFound, Conflict."""
        ...

    async def redrive(
        self, task_id: str, scope: Scope, by: str, resume: Resume, attempts: int
    ) -> Task:
        """Send a dead letter back with so many new attempts.

        Raises NotFound, Conflict, UploadSwept.
        """
        ...
