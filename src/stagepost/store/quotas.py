"""PORT. How much of everything a tenant may have."""

from collections.abc import Sequence
from typing import Protocol

from stagepost.quota import Backlog, Quota


class Quotas(Protocol):
    """Quotas of tenants; a change counts in every process within a second."""

    async def set(self, quota: Quota) -> None:
        """Give a tenant a quota of its own, in place of the one that it had."""
        ...

    async def unset(self, tenant: str) -> None:
        """The default quota counts again for a tenant."""
        ...

    async def get(self, tenant: str) -> Backlog:
        """A tenant's quota, and how many of its tasks wait."""
        ...

    async def find(self, after: str, limit: int) -> Sequence[Quota]:
        """The quotas that tenants have of their own, by name, a page behind the name `after`."""
        ...
