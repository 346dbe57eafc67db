"""A TCP proxy before PostgreSQL, which loses the answer to a commit when it is told to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Fault:
    """What is lost: the answer to the next message that ends a transaction.

    The message itself reaches the server. If `answered`, the connections are cut only when the
    server has begun to answer, so that it has surely done what it was told; else at once.
    """

    answered: bool
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Talk:
    """What one connection's client has said, as far as it tells where transactions end."""

    def __init__(self) -> None:
        self._bound = 0
        self._inside = False

    def ends_transaction(self, message: bytes) -> bool:
        """Whether it is a COMMIT, or a statement that is a transaction of its own."""
        if message[:1] == b"Q":
            self._inside = b"BEGIN" in message
            return b"COMMIT" in message
        if message[:1] != b"B":
            return False
        # The first statement only asks which process of the server serves the connection.
        self._bound += 1
        return self._bound > 1 and not self._inside


class PostgresProxy:
    """Forwards both ways, but for the fault that is set."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server
        self._links: set[asyncio.Task[None]] = set()
        self.fault: Fault | None = None
        self.refusing = False
        """No new connection gets through, and with the fault all others are cut."""

    async def open(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Cut what is left."""
        self._server.close()
        for link in self._links:
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    async def _accept(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        link = asyncio.create_task(self._serve(near, back))
        self._links.add(link)
        link.add_done_callback(self._links.discard)

    async def _serve(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        if self.refusing:
            await _closed(back)
            return
        far, forth = await asyncio.open_connection(*self._target)
        lost: asyncio.Future[Fault] = asyncio.get_running_loop().create_future()
        there = asyncio.create_task(self._forward(near, forth, lost))
        here = asyncio.create_task(self._answer(far, back, lost))
        try:
            await asyncio.wait({there, here}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in (there, here):
                way.cancel()
            await asyncio.gather(there, here, return_exceptions=True)
            await _closed(forth, back)
        if lost.done():
            lost.result().done.set()
            if self.refusing:
                for link in self._links:
                    link.cancel()

    async def _forward(
        self, near: asyncio.StreamReader, forth: asyncio.StreamWriter, lost: "asyncio.Future[Fault]"
    ) -> None:
        talk = Talk()
        while message := await near.read(1 << 20):
            fault = self.fault
            if talk.ends_transaction(message) and fault is not None:
                self.fault = None
                lost.set_result(fault)
            forth.write(message)
            await forth.drain()
            if lost.done() and not lost.result().answered:
                return

    @staticmethod
    async def _answer(
        far: asyncio.StreamReader, back: asyncio.StreamWriter, lost: "asyncio.Future[Fault]"
    ) -> None:
        while answer := await far.read(1 << 20):
            if lost.done():
                return
            back.write(answer)
            await back.drain()


async def _closed(*writers: asyncio.StreamWriter) -> None:
    for writer in writers:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@asynccontextmanager
async def a_proxy(host: str, port: int) -> AsyncIterator[PostgresProxy]:
    """A proxy that is closed in the end."""
    proxy = PostgresProxy(host, port)
    await proxy.open()
    try:
        yield proxy
    finally:
        with suppress(OSError):
            await proxy.close()
