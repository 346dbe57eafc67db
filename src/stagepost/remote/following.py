"""A task's events as they happen, over a connection that may break.

Server-Sent Events first, resumed by the last number seen, so that none is missed and none comes
twice. Where something between client and server holds the stream back or cuts it again and again,
the status is polled instead.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

import httpx
import orjson
from httpx_sse import EventSource, ServerSentEvent

from stagepost.remote.errors import Unreachable, no_answer, refusal
from stagepost.remote.transport import Call, Transport, retry_after

END_EVENTS: Final = frozenset({"completed", "failed", "cancelled"})
_SILENCE: Final = 20.0  # seconds; the server sends a comment every 15
_FRUITLESS: Final = 3  # connections in a row that brought nothing, until the status is polled
_LASTING: Final = 5.0  # seconds after which a connection with a snapshot was worth its while
_POLL_WAIT: Final = 20  # seconds, of the server's at most 30
_AWAY: Final = 60.0  # seconds without any server until the watcher gives up
_FIRST_DELAY: Final = 0.1  # seconds before another connection, doubled up to the next
_MOST_DELAY: Final = 2.0


@dataclass(frozen=True, slots=True)
class News:
    """One event by its name in docs/http-api.md; `seq` is None for snapshots and tokens.

    `away`, which no server sends, says that the connection is gone for a moment.
    """

    event: str
    data: Mapping[str, Any]
    seq: int | None = None


class _NoStream(Exception):
    """Something else than the server has answered."""


class Following:
    """Iterate over it once; it ends with the task. Raises Refused, Unreachable."""

    def __init__(self, transport: Transport, path: str, after: int | None = None) -> None:
        self._transport = transport
        self._path = path
        self.last = after
        """The number of the last event handed over."""
        self._over = False
        self._fruitless = 0
        self._delay = _FIRST_DELAY
        self._away_since: float | None = None

    async def __aiter__(self) -> AsyncIterator[News]:
        """The task's news, until it is completed, cancelled or a dead letter."""
        while not self._over:
            source = self._streamed() if self._fruitless < _FRUITLESS else self._polled()
            try:
                async with aclosing(source):
                    async for news in source:
                        self._delay = _FIRST_DELAY
                        yield news
            except _NoStream:
                self._fruitless = _FRUITLESS
            except (httpx.TransportError, Unreachable) as error:
                self._lost(error)
                yield News("away", {})
            if not self._over:
                await asyncio.sleep(self._delay)
                self._delay = min(self._delay * 2, _MOST_DELAY)

    async def _streamed(self) -> AsyncGenerator[News, None]:
        began = time.monotonic()
        snapshot = numbered = False
        fruitless = self._fruitless + 1
        headers = {"Accept": "text/event-stream"}
        if self.last is not None:
            headers["Last-Event-ID"] = str(self.last)
        call = Call(method="GET", path=f"{self._path}/progress", headers=headers, read=_SILENCE)
        try:
            async with self._transport.opened(call) as response:
                if not await self._is_stream(response):
                    return
                self._away_since = None
                async for event in EventSource(response).aiter_sse():
                    for news in self._understood(event):
                        snapshot = snapshot or news.event == "status"
                        numbered = numbered or news.seq is not None
                        yield news
                    if self._over:
                        return
        except (httpx.ConnectError, httpx.ConnectTimeout, Unreachable):
            # That says nothing about what lies between.
            fruitless = self._fruitless
            raise
        finally:
            lasted = snapshot and time.monotonic() - began > _LASTING
            self._fruitless = 0 if numbered or lasted else fruitless

    async def _is_stream(self, response: httpx.Response) -> bool:
        status = response.status_code
        if status == httpx.codes.NO_CONTENT:
            # Nothing follows the last event that this client has seen.
            self._over = True
            return False
        if status != httpx.codes.OK:
            await response.aread()
            self._delay = max(self._delay, min(retry_after(response), _MOST_DELAY))
            raise refusal(self._transport.url, response)
        if "text/event-stream" not in response.headers.get("content-type", ""):
            raise _NoStream
        return True

    def _understood(self, event: ServerSentEvent) -> list[News]:
        if not event.data:
            # Only how long to wait before another connection, which this client decides itself.
            return []
        try:
            data = orjson.loads(event.data)
        except orjson.JSONDecodeError as error:
            raise httpx.RemoteProtocolError(f"an event is no JSON: {error}") from error
        if event.event == "status":
            # It has an id on a fresh stream only; after a reset its number is where to go on.
            if data.get("reset"):
                self.last = int(data["seq"])
            elif event.id.isdigit() and self.last is None:
                self.last = int(event.id)
            return [News("status", data)]
        if event.event == "token" or not event.id.isdigit():
            return [News(event.event, data)]
        seq = int(event.id)
        if self.last is not None and seq <= self.last:
            return []
        self.last = seq
        self._over = event.event in END_EVENTS
        return [News(event.event, data, seq)]

    async def _polled(self) -> AsyncGenerator[News, None]:
        etag = ""
        while not self._over:
            headers = {"If-None-Match": etag} if etag else {}
            query = {"wait": _POLL_WAIT} if etag else None
            call = Call(
                method="GET",
                path=f"{self._path}/status",
                headers=headers,
                query=query,
                read=_POLL_WAIT + _SILENCE,
            )
            response = await self._transport.ask(call)
            self._away_since = None
            if response.status_code == httpx.codes.NOT_MODIFIED:
                continue
            etag = response.headers.get("etag", "")
            body = self._transport.decoded(response)
            self._over = bool(body["final"])
            yield News("status", body)
            if not etag:
                await asyncio.sleep(_MOST_DELAY)

    def _lost(self, error: httpx.TransportError | Unreachable) -> None:
        now = time.monotonic()
        self._away_since = self._away_since or now
        if now - self._away_since > _AWAY:
            if isinstance(error, Unreachable):
                raise error
            raise no_answer(self._transport.url, error) from error
