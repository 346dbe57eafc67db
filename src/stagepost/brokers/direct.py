"""No broker between: the store pools a task in the transaction that accepts it."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from stagepost.broker import Delivery


class DirectBroker:
    """Delivery is a part of the submit's own transaction; nothing is left to be carried."""

    def __init__(self) -> None:
        self._closed = False
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    @property
    def direct(self) -> bool:
        """The store pools."""
        return True

    async def publish(self, deliveries: Sequence[Delivery]) -> None:
        """Confirm: every delivery is in the pool since its commit."""

    async def consume(
        self,
        lanes: Sequence[str],  # noqa: ARG002  # the port's; no lane has anything to pool
    ) -> AsyncIterator[Sequence[Delivery]]:
        """Wait until the end; there is nothing to pool."""
        end = asyncio.Event()
        waiting = (asyncio.get_running_loop(), end)
        self._waiting.add(waiting)
        try:
            if not self._closed:
                await end.wait()
        finally:
            self._waiting.discard(waiting)
        nothing: tuple[Sequence[Delivery], ...] = ()
        for batch in nothing:
            yield batch

    async def close(self) -> None:
        """End `consume`, in whatever event loop it waits."""
        self._closed = True
        for loop, end in tuple(self._waiting):
            if not loop.is_closed():
                loop.call_soon_threadsafe(end.set)
