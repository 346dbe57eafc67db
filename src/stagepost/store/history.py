"""PORT. How long tasks took; see `stagepost.estimates`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from stagepost.estimates import History


class Histories(Protocol):
    """The latest times of each type and size class, at most KEPT of each."""

    async def add(self, took: Mapping[tuple[str, int], Sequence[int]]) -> None:
        """Keep more times, in milliseconds, by (type, size class); the oldest make room.

        What has got none for 90 days is forgotten.
        """
        ...

    async def all(self) -> History:
        """Everything that is kept, of 10,000 types and classes at most."""
        ...
