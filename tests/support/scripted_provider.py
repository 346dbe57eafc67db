"""An HTTP server on loopback that answers as a test says: any bytes, cuts, resets, silence."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

_NONE: Mapping[str, str] = MappingProxyType({})
_LONGEST = 30.0  # seconds that a silent server waits for its client to go


@dataclass(frozen=True)
class Asked:
    """One request, as it came."""

    path: str
    headers: Mapping[str, str]
    body: Any


class Line:
    """Where an answer is written to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        """The status line and the headers; the body goes on until the connection ends."""
        lines = [f"HTTP/1.1 {status} Told", *(f"{name}: {v}" for name, v in headers.items())]
        await self.send(("\r\n".join(lines) + "\r\n\r\n").encode())

    async def send(self, data: bytes) -> None:
        """Bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def chunk(self, data: bytes) -> None:
        """One chunk of a chunked body."""
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def gone(self) -> None:
        """Wait until the client has gone."""
        async with asyncio.timeout(_LONGEST):
            while await self._reader.read(65_536):
                pass

    def reset(self) -> None:
        """End the connection with a reset."""
        sock: socket.socket = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Reply = Callable[[Line], Awaitable[None]]


@dataclass
class ScriptedProvider:
    """A server that runs, and what it was asked."""

    reply: Reply
    address: str = ""
    asked: list[Asked] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when an answer was written to its end, or its client had gone."""


@asynccontextmanager
async def scripted(reply: Reply) -> AsyncIterator[ScriptedProvider]:
    """A server that answers each request so; a connection is closed after its answer.

    Whoever asks has to be gone before it, since it waits for its answers to end.
    """
    told = ScriptedProvider(reply)
    answering: set[asyncio.Task[Any] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.add(asyncio.current_task())
        try:
            told.asked.append(await _read(reader))
            await told.reply(Line(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # The client has gone, which some tests are about.
        finally:
            told.left.set()
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    told.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield told
    finally:
        server.close()
        await server.wait_closed()
        async with asyncio.timeout(_LONGEST):
            await asyncio.gather(*(each for each in answering if each is not None))


def whole(
    body: Any, status: int = 200, headers: Mapping[str, str] = _NONE, kind: str = "application/json"
) -> Reply:
    """An answer that comes at once; a text is sent as it is."""
    data = (body if isinstance(body, str) else json.dumps(body)).encode()

    async def reply(line: Line) -> None:
        fixed = {"content-type": kind, "content-length": str(len(data)), "connection": "close"}
        await line.head(status, {**fixed, **headers})
        await line.send(data)

    return reply


def events(
    *parts: bytes | float, end: str = "whole", headers: Mapping[str, str] = _NONE, every: float = 0
) -> Reply:
    """A stream of these pieces, numbers being pauses in seconds, and how it ends.

    whole: as it should; cut: in the middle of the body; reset: by a reset; hang: not at all;
    endless: the last piece again and again, `every` so many seconds, until the client goes.
    """

    async def reply(line: Line) -> None:
        fixed = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        await line.head(200, {**fixed, "connection": "close", **headers})
        for part in parts:
            await (line.chunk(part) if isinstance(part, bytes) else asyncio.sleep(part))
        await _end(line, end, parts, every)

    return reply


async def _end(line: Line, end: str, parts: tuple[bytes | float, ...], every: float) -> None:
    match end:
        case "whole":
            await line.send(b"0\r\n\r\n")
        case "hang":
            await line.gone()
        case "reset":
            # The client has to have read what was sent, or its system throws it away.
            await asyncio.sleep(0.2)
            line.reset()
        case "endless":
            last = parts[-1]
            assert isinstance(last, bytes)
            async with asyncio.timeout(_LONGEST):
                while True:
                    await line.chunk(last)
                    await asyncio.sleep(every)
        case _:
            assert end == "cut"


def data(body: Any, event: str = "") -> bytes:
    """One event of a stream."""
    name = f"event: {event}\n" if event else ""
    text = body if isinstance(body, str) else json.dumps(body)
    return f"{name}data: {text}\n\n".encode()


async def silent(line: Line) -> None:
    """Say nothing."""
    await line.gone()


async def reset(line: Line) -> None:
    """Reset the connection before the first byte."""
    line.reset()


async def hang_up(_line: Line) -> None:
    """Close the connection before the first byte."""


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(first.split(" ")[1], headers, json.loads(body) if body else None)
