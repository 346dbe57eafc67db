"""PORT. What the engine's own loops do."""

from typing import Protocol

from stagepost.records import (
    Rescue,
)


class Keeping(Protocol):
    """What the engine's own loops do."""

    async def release_due(self, limit: int) -> int:
        """Do what is due for tasks with a time: run times, retries, wakes, deadlines.

        Returns how many tasks were changed; `limit` of them means that more may be due.
        """
        ...

    async def expire_queued(self, limit: int) -> int:
        """Dead-letter the pooled tasks whose deadline has passed; returns how many."""
        ...

    async def rescue(self, *, older_than: float, as_of: int | None = None) -> Rescue:
        """Give back the claims of workers that have not renewed for so long, and forget them.

        `as_of` is an instant that the store has told, so that a jump of its clock since then counts
        for nothing; without it, it is now.
        Claims of workers that are not known any more are given back as well.
        """
        ...

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        """Whether this holder, a text of its own, leads the loop of this name for so many seconds.

        It does if it led before, or nobody leads; for no seconds at all it stops leading. What
        belongs to a single process says always so.
        """
        ...
