"""PORT. Children: tasks that a task has started."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from stagepost.batch import Batch, ChildRecord, Page
from stagepost.task import Lease, Status


class Children(Protocol):
    """What parents do with their children, and the loops that stand between them.

    A child that settles changes nothing of its parent: it leaves a note, which `wake` works off; a
    store may do so at once.
    """

    async def spawn(self, lease: Lease, page: Page) -> Batch:
        """Make the next children of a batch, and the batch with its first ones. Fenced.

        A page that was made before is not made again: the answer is the batch as it stands. Raises
        CancelAsked once the parent was asked to stop, Conflict where the page goes on from nowhere.
        """
        ...

    async def batch(self, parent_id: str, path: str) -> Batch | None:
        """The batch that stands at a step path."""
        ...

    async def results(
        self, batch_id: str, after: int, limit: int, *, texts: bool = True
    ) -> Sequence[ChildRecord]:
        """A page of a batch's children by their place, behind the place `after`.

        Without `texts` no result has any: only where it is kept and how large it is.
        """
        ...

    async def counts(self, batch_id: str) -> Mapping[Status, int]:
        """How many of a batch's children stand where; no status without any."""
        ...

    async def batches(self, parent_id: str) -> Sequence[Batch]:
        """All batches of a task that it still knows, oldest first; at most 1,000."""
        ...

    async def wake(self, limit: int) -> int:
        """Work off up to so many notes of children, and queue the parents that may go on.

        Returns how many were worked off. A parent that somebody else changes just now is left to
        the next call.
        """
        ...

    async def cancel_some(self, limit: int) -> int:
        """Cancel up to so many children of tasks that were cancelled, or were asked to stop.

        Returns how many were looked at; less than `limit` of them: nothing is left for now.
        """
        ...
