"""PORT. What is kept, for how long, and what is taken away."""

from collections.abc import Sequence
from typing import Protocol

from stagepost.records import Scope
from stagepost.retention import Erasure, Page, Tombstone


class Retention(Protocol):
    """Takes away what has had its time; what is referred to is never taken.

    Ages are seconds by the store's clock. A sweep goes through the tasks by their ids, a page a
    call: it begins with an `after` of "", goes on behind the one that the page before has named,
    and ends where the young ones begin. Two that sweep at once do no harm.
    """

    async def prune_events(self, after: str, *, older_than: float, limit: int) -> Page:
        """Take the events of tasks that ended so long ago, but for the last, which is their end.

        Only of COMPLETED and CANCELLED tasks: a dead letter keeps its history.
        """
        ...

    async def prune_tasks(self, after: str, *, older_than: float, limit: int) -> Page:
        """Take the COMPLETED and CANCELLED tasks that ended so long ago, and all that is theirs.

        Each leaves a tombstone; its blobs are left to the sweeper.
        """
        ...

    async def prune_tombstones(self, *, older_than: float, limit: int) -> int:
        """Take the tombstones of tasks that were pruned so long ago; how many. Erased ones stay."""
        ...

    async def prune_keys(self, limit: int) -> int:
        """Take idempotency keys that have had their 24 hours; how many."""
        ...

    async def erase(
        self, task_id: str, scope: Scope, erasure: Erasure
    ) -> tuple[Tombstone, Sequence[str]]:
        """Take one task and all that is its, now; answers the blobs that were its alone.

        Those can be swept at once. For a task that was erased before it answers that tombstone and
        no blobs. Raises NotFound, Gone (it was pruned), Conflict while the task is not settled or
        when it has changed since the caller looked.
        """
        ...

    async def tombstone(self, task_id: str, scope: Scope) -> Tombstone | None:
        """What is left of a task that was pruned or erased."""
        ...

    async def unreferenced(self, *, older_than: float, limit: int) -> Sequence[str]:
        """Blobs to which nothing has referred for so long, oldest first."""
        ...

    async def forget_blobs(self, keys: Sequence[str], *, older_than: float) -> Sequence[str]:
        """Forget those of these blobs to which still nothing has referred for so long.

        Answers which: nothing can refer to them any more, so that their bytes can be removed.
        """
        ...

    async def strange_blobs(self, keys: Sequence[str]) -> Sequence[str]:
        """Those of these keys that the store does not know."""
        ...

    async def now(self) -> int:
        """The instant by the store's clock."""
        ...

    async def identity(self) -> str:
        """A text that belongs to this store alone, as long as its data live."""
        ...
