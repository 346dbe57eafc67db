"""Connections that outlive their stores, so that hundreds of worlds cost a few handshakes.

A store that is closed leaves its idle connections here with the statements that they have learnt,
and the next store on the same schema takes them. All those stores live in one event loop.
"""

import pytest

from stagepost.stores.postgres import connections, opening
from stagepost.stores.postgres.address import Address
from stagepost.stores.postgres.connections import Backend


class KeptConnections:
    """All connections that stores have made, and those of them that are idle; `close` them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._make = connections.connect
        self._end = connections._close
        self._made: list[tuple[Address, Backend]] = []
        self._idle: list[tuple[Address, Backend]] = []
        patch.setattr(connections, "connect", self._connect)
        patch.setattr(opening, "connect", self._connect)
        patch.setattr(connections, "_close", self._keep)

    async def _connect(self, address: Address) -> Backend:
        for kept in reversed(self._idle):
            if kept[0] == address:
                self._idle.remove(kept)
                return kept[1]
        backend = await self._make(address)
        self._made = [each for each in self._made if not each[1].is_closed()]
        self._made.append((address, backend))
        return backend

    async def _keep(self, backend: Backend) -> None:
        if not backend.is_closed():
            self._idle += [each for each in self._made if each[1] is backend]

    @property
    def many(self) -> int:
        """How many wait for a store."""
        return len(self._idle)

    def cut(self, address: Address) -> None:
        """End all that a process has to an address, as its own end does."""
        for of, backend in self._made:
            if of == address:
                backend.terminate()
        self._idle = [each for each in self._idle if not each[1].is_closed()]

    async def close(self) -> None:
        """End all of them."""
        for _, backend in self._idle:
            await self._end(backend)
        self._idle.clear()
