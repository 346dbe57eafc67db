"""PORT. What anybody asks."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from stagepost.backlog import Backlog
from stagepost.event import Event
from stagepost.records import (
    Artifact,
    DeadGroup,
    FailureRecord,
    Filter,
    LaneRecord,
    SavedStep,
    Scope,
    TaskView,
    UploadRecord,
    WorkerRecord,
)
from stagepost.task import Task
from stagepost.versions import Stamped


class Reading(Protocol):
    """What anybody asks. A task outside the scope is as absent as one that never was."""

    async def get(self, task_id: str, scope: Scope) -> TaskView:
        """A task with its result and place in the queue. Raises NotFound."""
        ...

    async def find(self, scope: Scope, where: Filter) -> Sequence[Task]:
        """Tasks, newest first."""
        ...

    async def events(self, task_id: str, after: int, limit: int) -> Sequence[Event]:
        """A task's events with `seq` above `after`, in order."""
        ...

    async def news(self, after: Mapping[str, int], limit: int) -> Mapping[str, Sequence[Event]]:
        """The same for many tasks at once; only those that have news, `limit` events a task."""
        ...

    async def steps(self, task_id: str) -> Sequence[SavedStep]:
        """A task's checkpoints in the order in which they were saved."""
        ...

    async def timeline(self, task_id: str, after: str | None, limit: int) -> Sequence[SavedStep]:
        """The same without the values (`text` is None), a page behind the path `after`."""
        ...

    async def dead_groups(self, scope: Scope, where: Filter) -> Sequence[DeadGroup]:
        """How many dead letters the filter finds, by failure kind and type, largest first.

        `statuses`, `after` and `limit` of the filter say nothing here.
        """
        ...

    async def artifacts(self, task_id: str) -> Sequence[Artifact]:
        """A task's artifacts by name."""
        ...

    async def failures(self, task_id: str) -> Sequence[FailureRecord]:
        """A task's failed attempts, oldest first."""
        ...

    async def uploads(self, tenant: str, upload_ids: Sequence[str]) -> Sequence[UploadRecord]:
        """The uploads of a tenant among these ids."""
        ...

    async def lanes(self, names: Sequence[str]) -> Sequence[LaneRecord]:
        """Each lane's state; its rates may begin anew when the store is opened."""
        ...

    async def backlog(self, lane: str, step: int) -> Backlog:
        """What is ready in a lane, with a mark at every `step`-th task; reads the whole of it."""
        ...

    async def workers(self) -> Sequence[WorkerRecord]:
        """The workers that are alive."""
        ...

    async def stamped(self) -> Sequence[Stamped]:
        """The queued tasks that only workers with a certain version of their code take."""
        ...
