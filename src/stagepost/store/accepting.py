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
        """Accept a task; or answer with the earlier one of its Idempotency-Key or unique key.

        The Idempotency-Key is asked first: the task that was answered to it before is answered
        again for 24 h, whatever has become of it. A unique key belongs to a task until that is
        COMPLETED, CANCELLED or a dead letter. Raises IdempotencyMismatch when the earlier one had
        another fingerprint, IdempotencyInProgress when it is not known for 5 s whether it was
        accepted, StoreUnavailable when it is not known for 5 s who has the unique key, TenantFull
        when the tenant has no room left, and UploadSwept when one of its uploads is not there any
        more.
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
        """Send a dead letter back with so many new attempts; its unique key is its own again.

        The dead children that it keeps go back first, and theirs. Where they are more than a page,
        this sends back a page of them and leaves the task a dead letter: call it again. Raises
        NotFound, UploadSwept, Conflict; the latter also when another task has the unique key.
        """
        ...
