"""PORT. API keys."""

from collections.abc import Sequence
from typing import Protocol

from stagepost.records import (
    ApiKey,
)


class Keys(Protocol):
    """API keys."""

    async def add_key(self, key: ApiKey) -> ApiKey:
        """Keep a key. Raises Conflict when its text was a key before, revoked or not."""
        ...

    async def revoke_key(self, key_id: str, tenant: str) -> None:
        """End a key. Raises NotFound."""
        ...

    async def keys(self, tenant: str | None) -> Sequence[ApiKey]:
        """A tenant's keys that are not revoked, or everybody's."""
        ...

    async def key(self, key_hash: str) -> ApiKey | None:
        """The live key with this hash."""
        ...
