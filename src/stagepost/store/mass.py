"""PORT. Changes of many tasks at once, kept so that they go on after a crash."""

from collections.abc import Sequence
from typing import Protocol

from stagepost.mass import Advance, Kind, MassChange, Progress
from stagepost.records import Scope


class MassChanges(Protocol):
    """Redrives, cancels and discards of many tasks; see `stagepost.mass`."""

    async def begin(self, change: MassChange) -> Progress:
        """Keep a change, and count what it matches; nothing is changed yet.

        Raises Conflict when the tenant has too many that are not done.
        """
        ...

    async def progress(self, change_id: str, kind: Kind, scope: Scope) -> Progress:
        """How far a change is. Raises NotFound."""
        ...

    async def stop(self, change_id: str, kind: Kind, scope: Scope, why: str) -> Progress:
        """Change no further task; one that has ended stays as it is. Raises NotFound."""
        ...

    async def open(self, limit: int, after: str = "") -> Sequence[str]:
        """The ids of changes that have something to be done or counted, oldest first.

        Only those behind `after`.
        """
        ...

    async def advance(self, change_id: str) -> Advance:
        """Do the next page of a change, as far as it may go now; one transaction.

        Each task is changed once, though several advance it at once or die while they do. Raises
        NotFound.
        """
        ...

    async def prune(self, *, older_than: float, limit: int) -> int:
        """Forget changes that ended so many seconds ago; how many."""
        ...
