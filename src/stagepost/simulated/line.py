"""One client's connection while a request of it is answered."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Mapping, MutableSet
from contextlib import asynccontextmanager
from typing import Any, Final, Self

from stagepost.web.server import abort

_READER_PATIENCE: Final = 60.0
"""Seconds for a client to take some of what is sent."""
_NOTICED: Final = 5.0
"""Seconds for the server to notice that a connection is gone."""
_LINGER_NOT: Final = struct.pack("ii", 1, 0)  # on, 0 seconds: close by a reset


class Line:
    """Sends, waits, and cuts. `gone` is set once the client has left or the server stops."""

    def __init__(self, scope: Any, receive: Any, send: Any) -> None:
        self.gone = asyncio.Event()
        self._scope, self._receive, self._send = scope, receive, send
        self._watching = asyncio.create_task(self._watch(), name="client watched")

    @classmethod
    @asynccontextmanager
    async def open(
        cls, scope: Any, receive: Any, send: Any, lines: MutableSet["Line"]
    ) -> AsyncIterator[Self]:
        """While the request is answered; its body must have been read. It is in `lines` then."""
        line = cls(scope, receive, send)
        lines.add(line)
        try:
            yield line
        finally:
            lines.discard(line)
            line._watching.cancel()

    async def start(self, status: int, headers: Mapping[str, str], media_type: str) -> None:
        """Send the head."""
        fields = {**headers, "content-type": media_type, "cache-control": "no-store"}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in fields.items()]
        await self._out({"type": "http.response.start", "status": status, "headers": raw})

    async def piece(self, data: bytes) -> None:
        """Send some of the body."""
        await self._out({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        """Send the rest of the body."""
        await self._out({"type": "http.response.body", "body": data, "more_body": False})

    async def whole(
        self, status: int, headers: Mapping[str, str], media_type: str, body: bytes
    ) -> None:
        """Send all of an answer."""
        await self.start(status, {**headers, "content-length": str(len(body))}, media_type)
        await self.end(body)

    async def wait(self, seconds: float) -> bool:
        """Wait so long, or until the client has gone; returns whether it has."""
        if seconds <= 0:
            return self.gone.is_set()
        try:
            async with asyncio.timeout(seconds):
                await self.gone.wait()
        except TimeoutError:
            return False
        return True

    async def reset(self) -> None:
        """End the connection by a TCP reset; what was sent last may be lost."""
        transport = self._scope.get("stagepost.transport")
        found = None if transport is None else transport.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        await self.cut()

    async def cut(self) -> None:
        """End the connection in the middle."""
        self.gone.set()
        abort(self._scope)
        # The server must have noticed, or it makes an answer of its own.
        await asyncio.wait({self._watching}, timeout=_NOTICED)

    async def _out(self, message: Mapping[str, Any]) -> None:
        try:
            async with asyncio.timeout(_READER_PATIENCE):
                await self._send(message)
        except TimeoutError:
            await self.cut()

    async def _watch(self) -> None:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.gone.set()
