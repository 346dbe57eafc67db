"""PORT. The limits that people have set; those of the settings are not in it."""

from collections.abc import Sequence
from typing import Protocol

from stagepost.limit import Limit


class LimitRules(Protocol):
    """Rules by name. Few and rarely changed; who works by them reads them about once a second."""

    async def all(self) -> Sequence[Limit]:
        """All of them by name."""
        ...

    async def put(self, limit: Limit) -> bool:
        """Set a limit; whether there was none of its name.

        Raises Conflict when there are `MOST_LIMITS` of other names.
        """
        ...

    async def drop(self, name: str) -> None:
        """Take a limit away. Raises NotFound."""
        ...

    async def wake(self, task_ids: Sequence[str]) -> Sequence[str]:
        """Tasks of these that wait for a limit go back to their lane; answers which did."""
        ...
