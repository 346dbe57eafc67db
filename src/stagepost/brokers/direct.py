"""No broker between: the store pools a task in the transaction that accepts it."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from stagepost.broker import Delivery


class DirectBroker:
    """Delivery is a part of the submit's own transaction; nothing is left to be carried."""

    def __init__(self) -> None:
        self._closed = asyncio.Event()

    @property
    def direct(self) -> bool:
        """The store pools."""
        return True

    async def publish(self, deliveries: Sequence[Delivery]) -> None:
        """Confirm: every delivery is in the pool since its commit."""

    async def consume(self, lanes: Sequence[str]) -> AsyncIterator[Sequence[Delivery]]:
        """Wait until the end; there is nothing to pool."""
        await self._closed.wait()
        for _ in lanes:
            return
        yield ()

    async def close(self) -> None:
        """End `consume`."""
        self._closed.set()
