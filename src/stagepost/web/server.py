"""Uvicorn, held to limits that it does not have itself.

It takes connections until no file can be opened any more; its fast parser takes headers of any
length, waits for them for ever, and reads on for ever behind a request that was refused before its
end. `Protocol` bounds all four, answers what can't be parsed with a problem document, tells a
request that its client has gone even when others wait behind it, and lets the application cut a
connection whose reader is stuck, for which ASGI has no word.
"""

import asyncio
import resource
import sys
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from stagepost.settings import Settings
from stagepost.web.exchange import new_ids
from stagepost.web.problems import MEDIA_TYPE, Kind, Problem

HEAD_MOST: Final = 32 * 1024
"""Bytes of a request line and its headers."""
HEAD_PATIENCE: Final = 15.0
"""Seconds for a request line and headers to come."""
LEFTOVER_MOST: Final = 16 * 1024 * 1024
"""Bytes thrown away behind an early refusal, so that a client that sends on can read the answer."""

_FILES_KEPT_BACK: Final = 32  # beside a quarter of what the process may open
_LEAST_CONNECTIONS: Final = 8
_KEEP_ALIVE: Final = 75  # seconds; longer than the usual proxy's 60, which must close first
_LONGEST_STOP: Final = 10  # seconds for open requests when the server stops
_TRANSPORT: Final = "stagepost.transport"


class _HeadTooLarge(Exception):
    pass


class Protocol(HttpToolsProtocol):
    """One connection."""

    _reading_head = False
    _head_bytes = 0
    _coming = 0
    _leftover = 0
    _too_large = False
    _patience: asyncio.TimerHandle | None = None
    _answered: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected; it must say something soon. One too many is turned away."""
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            self._refuse(
                Problem(
                    Kind.UNAVAILABLE, "The server has no room for another connection; try again."
                )
            )
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._stop_waiting()
        if self._answered is not None:
            # Uvicorn tells only the newest request; this one may have others waiting behind it.
            self._answered.disconnected = True
            self._answered.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes came. A head that is not complete behind them is counted and timed."""
        self._coming = len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._reading_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_MOST:
                self._too_large = True
                self.send_400_response("")
                return
        if self._reading_head or self._idle():
            self._wait()
        else:
            self._stop_waiting()

    def on_message_begin(self) -> None:
        """A request's first byte."""
        super().on_message_begin()
        self._reading_head = True
        self._head_bytes = 0
        self._leftover = 0
        self.scope[_TRANSPORT] = self.transport  # type: ignore[typeddict-unknown-key]

    def on_headers_complete(self) -> None:
        """A head is complete."""
        self._reading_head = False
        if self._head_bytes + self._coming > HEAD_MOST:
            # Perhaps: what came last may be a part of the body.
            size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            if size > HEAD_MOST:
                self._too_large = True
                raise _HeadTooLarge
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body; nobody waits for it any more once the request has been answered."""
        if self.cycle.response_complete:
            self._leftover += len(body)
            if self._leftover > LEFTOVER_MOST:
                self.transport.abort()
            return
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # uvicorn's own sentence
        """Refuse what can't be parsed, and close."""
        problem = Problem(Kind.BAD_REQUEST, "This is no valid HTTP request.")
        if self._too_large:
            problem = Problem(
                Kind.HEADERS_TOO_LARGE,
                f"The request line and headers are larger than {HEAD_MOST // 1024} KiB.",
            )
        self._refuse(problem)

    def _refuse(self, problem: Problem) -> None:
        body = problem.body()
        more = "".join(f"{name.lower()}: {value}\r\n" for name, value in problem.headers.items())
        head = (
            f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n{more}"
            f"x-request-id: {'-'.join(new_ids())}\r\n"
            "cache-control: no-store\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(STATUS_LINE[problem.kind.status] + head.encode() + body)
        self.transport.close()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def _idle(self) -> bool:
        # Stray line breaks between requests make uvicorn forget its keep-alive timer.
        cycle = self.cycle
        return cycle is None or (cycle.response_complete and self.timeout_keep_alive_task is None)

    def _wait(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEAD_PATIENCE, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


def most_connections() -> int:
    """How many clients may be connected, so that tasks and the store still find file descriptors.

    Without this whoever opens connections, even without a key, makes running tasks fail.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(files * 3 // 4 - _FILES_KEPT_BACK, _LEAST_CONNECTIONS)


def abort(scope: Any) -> None:
    """Cut a request's connection at once, without waiting for its reader.

    Under another server than this module's nothing happens: its own time-outs must do.
    """
    transport = scope.get(_TRANSPORT)
    if transport is not None:
        transport.abort()


def server_config(app: Any, settings: Settings) -> uvicorn.Config:
    """How the application is served. Raises ValueError for a local mode open to other machines.

    Set `Parts.draining` before the server is asked to exit, so that open streams end first.
    """
    settings.check_exposure()
    return bounded_config(app, settings.host, settings.port)


def bounded_config(app: Any, host: str, port: int) -> uvicorn.Config:
    """The same for any application, wherever it listens."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_LONGEST_STOP,
    )
