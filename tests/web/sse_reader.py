"""Reads event streams: from the application itself, without a network, and over one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from stagepost.records import Claimed
from web.kit import Engine


@dataclass
class Sse:
    """One event as a browser sees it."""

    event: str
    data: Any
    id: str | None = None


@dataclass
class Parsed:
    """What has been read of a stream so far."""

    events: list[Sse] = field(default_factory=list)
    comments: int = 0
    retry: str | None = None
    rest: bytes = b""

    def feed(self, body: bytes) -> None:
        *blocks, self.rest = (self.rest + body).split(b"\n\n")
        for block in blocks:
            self._block(block.decode())

    def _block(self, block: str) -> None:
        fields: dict[str, str] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            assert name not in fields, "a field comes twice"
            fields[name] = value.removeprefix(" ")
        self.retry = fields.get("retry", self.retry)
        if "data" in fields:
            data = orjson.loads(fields["data"])
            self.events.append(Sse(fields["event"], data, fields.get("id")))
        else:
            assert set(fields) == {""}
            self.comments += 1

    @property
    def seqs(self) -> list[int]:
        """The numbers of the numbered events behind the snapshot."""
        return [int(event.id) for event in self.events[1:] if event.id is not None]

    @property
    def names(self) -> list[str]:
        return [event.event for event in self.events]


class Connection:
    """One request to the application. `stalled` makes its writes wait, as a slow reader does."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.parsed = Parsed()
        self.closed = False
        self.moved = asyncio.Event()
        self.stalled = asyncio.Event()
        self.stalled.set()
        self._gone = asyncio.Event()

    def leave(self) -> None:
        """The client goes."""
        self._gone.set()

    def stall(self) -> None:
        """The client reads nothing any more."""
        self.stalled.clear()

    async def receive(self) -> Any:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.stalled.wait()
        if self._gone.is_set():
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")
            self.closed = not message.get("more_body", False)
            if self.headers.get("content-type", "").startswith("text/event-stream"):
                self.parsed.feed(message.get("body", b""))
        self.moved.set()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something is true of what was read."""
        async with asyncio.timeout(30):
            while not true():
                self.moved.clear()
                if not true():
                    await self.moved.wait()


@asynccontextmanager
async def reading(
    app: Any, task_id: str, *, last: str | None = None, after: str | None = None, **headers: str
) -> AsyncIterator[Connection]:
    """Open a task's stream; at the end the client goes, and the application must end."""
    connection = Connection()
    given = [(b"host", b"localhost")]
    given += [(name.encode(), value.encode()) for name, value in headers.items()]
    if last is not None:
        given.append((b"last-event-id", last.encode()))
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/api/v1/tasks/{task_id}/progress",
        "raw_path": b"",
        "root_path": "",
        "query_string": b"" if after is None else f"after={after}".encode(),
        "headers": given,
    }
    serving = asyncio.create_task(app(scope, connection.receive, connection.send), name="request")
    serving.add_done_callback(lambda _: connection.moved.set())
    try:
        await connection.until(lambda: connection.status != 0 or serving.done())
        yield connection
    finally:
        connection.leave()
        async with asyncio.timeout(30):
            await serving


async def running(engine: Engine) -> Claimed:
    """A task that runs; its last event is `started`, number 2."""
    await engine.submit()
    return await engine.worker.claim()


async def ended(connection: Connection) -> None:
    """Wait for the end of a stream."""
    await connection.until(lambda: connection.closed)
