"""A task's live events as Server-Sent Events.

engine-rules 6 is the contract: the first event is a snapshot, then come the task's numbered events
without gap or repeat, and with an end event the stream closes. A reader that comes back names the
last number it had.

One open stream is this request's own asyncio task, a second one that only notices when the client
goes, and a place in the notifier. Nothing is written ahead of the reader: what waits for a slow one
is bounded by the notifier, and how long one write may wait by STALL.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import parse_qsl

from stagepost.bus import Token
from stagepost.errors import StagepostError
from stagepost.event import Event, rfc3339
from stagepost.notifier import News, Watch
from stagepost.records import Scope
from stagepost.task import Task
from stagepost.web import shapes
from stagepost.web.auth import Door
from stagepost.web.exchange import exchange_of
from stagepost.web.metrics import Metrics
from stagepost.web.options import unknown_parameter
from stagepost.web.parts import Parts
from stagepost.web.problems import Kind, Problem
from stagepost.web.roles import ROLES
from stagepost.web.server import abort
from stagepost.web.sse import COMMENT, PAGE, RETRY, Opening, OpenText, event_bytes, opening
from stagepost.web.status import StatusReader
from stagepost.web.streams import Streams

_log = logging.getLogger("stagepost.web")

PATH: Final = "/api/v1/tasks/{task_id}/progress"
QUIET: Final = 15.0
"""Seconds of silence before a comment is sent, so that proxies keep the connection."""
STALL: Final = 20.0
"""Seconds that one write may wait for the reader."""

_HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)


class Progress:
    """GET .../progress, as an ASGI application."""

    def __init__(
        self, parts: Parts, door: Door, reader: StatusReader, streams: Streams, metrics: Metrics
    ) -> None:
        self._parts = parts
        self._door = door
        self._reader = reader
        self._streams = streams
        self._metrics = metrics

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one stream from its first byte to its last."""
        if scope["method"] != "GET":
            raise Problem(
                Kind.METHOD_NOT_ALLOWED, "A stream is read by GET.", headers={"Allow": "GET"}
            )
        stream = await self._opened(scope, send)
        if stream is None:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        with self._streams.admitted(
            stream,
            tenant=stream.tenant,
            task_id=stream.task_id,
            key_hash=exchange_of(scope).identity.key_hash,
        ):
            await self._serve(stream, scope, receive)

    async def _opened(self, scope: Any, send: Any) -> "Stream | None":
        # On its own, so that nothing of the task stays in memory while the stream is open.
        identity = await self._door.enter(scope, ROLES["GET", PATH], PATH)
        after = _cursor(exchange_of(scope).text(b"last-event-id"), scope["query_string"])
        view = await self._reader.view(scope["path_params"]["task_id"], identity.by_id)
        begin = await opening(self._parts.store, view, after)
        if begin is None:
            return None
        snapshot: dict[str, Any] = {**await self._reader.status(view), "seq": view.task.seq}
        if begin.reset:
            snapshot["reset"] = True
        first = RETRY + event_bytes("status", snapshot, begin.status_id)
        return Stream(self._parts, view.task, identity.by_id, begin, first, send)

    async def _serve(self, stream: "Stream", scope: Any, receive: Any) -> None:
        gone = asyncio.create_task(_until_gone(receive, stream), name="client of a stream")
        try:
            if not await stream.serve():
                self._metrics.stream_cut()
                abort(scope)
                # The server learns of it in its next turn; before that it would complain.
                await asyncio.wait([gone], timeout=1.0)
        finally:
            gone.cancel()


def _cursor(header: str | None, query: bytes) -> str | None:
    """The last id that the reader had; a browser that reconnects has the newer one as header."""
    given = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    for name, _ in given:
        if name != "after":
            raise unknown_parameter(name, ("after",))
    return header or next((value for _, value in reversed(given)), None)


async def _until_gone(receive: Any, stream: "Stream") -> None:
    while (await receive())["type"] != "http.disconnect":
        # What a client sends behind a GET says nothing.
        pass
    stream.leave()


class Stream:
    """One open stream of a task. `first` is the snapshot, as it goes out."""

    __slots__ = (
        "_bus", "_clock", "_first", "_gone", "_known", "_notifier", "_over", "_page", "_scope",
        "_send", "_seq", "_store", "_text", "_watch", "task_id", "tenant",
    )  # fmt: skip

    def __init__(
        self, parts: Parts, task: Task, scope: Scope, begin: Opening, first: bytes, send: Any
    ) -> None:
        self.task_id = task.id
        self.tenant = task.tenant
        self._store = parts.store
        self._notifier = parts.notifier
        self._bus = parts.bus
        self._clock = parts.clock
        self._scope = scope
        self._send = send
        self._first = first
        self._page = begin.events
        self._seq = begin.seq
        self._known = task.seq
        self._text = OpenText()
        self._watch: Watch | None = None
        self._over = False
        self._gone = False

    def end(self) -> None:
        """Finish politely, soon: the client comes back by itself."""
        self._over = True
        if self._watch is not None:
            self._watch.close()

    def leave(self) -> None:
        """The client has gone."""
        self._gone = True
        self.end()

    async def serve(self) -> bool:
        """Write all there is until the end; False when the reader was too slow and must be cut."""
        try:
            await self._start()
            await self._tell()
            if not self._gone:
                await self._write(b"", more=False)
        except TimeoutError:
            return False
        return True

    async def _start(self) -> None:
        headers = list(_HEADERS)
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        first, self._first = self._first, b""
        await self._write(first)

    async def _tell(self) -> None:
        try:
            await self._catch_up()
            if not self._over:
                await self._follow()
        except StagepostError as error:
            # The reader comes back and goes on where it was; by then it may be possible.
            _log.warning("the stream of task %s ends early: %s", self.task_id, error)

    async def _catch_up(self) -> None:
        # Read page by page, as fast as the reader takes them, so that a long history cuts nobody.
        page, self._page = self._page, ()
        while self._seq < self._known and not self._over:
            page = page or await self._store.events(self.task_id, self._seq, PAGE)
            if not page:
                break
            await self._write(await self._encoded(page))
            page = ()

    async def _follow(self) -> None:
        async with self._notifier.watch(self.task_id, self._seq) as watch:
            self._watch = watch
            kept = self._bus.kept(self.task_id)
            news: Iterable[News] = () if kept is None else (kept,)
            while True:
                if news:
                    await self._write(await self._encoded(news))
                if self._over:
                    return
                news = await watch.next(QUIET)
                if watch.cut:
                    raise TimeoutError
                if not news and not self._over:
                    await self._write(COMMENT)

    async def _encoded(self, news: Iterable[News]) -> bytes:
        pieces = []
        last: Event | None = None
        for item in news:
            if isinstance(item, Token):
                pieces.append(self._token(item))
            else:
                last = item
                pieces.append(await self._event(item))
        if last is not None:
            self._seq = last.seq
            # A dead letter that was sent back since has a `failed` amid its history.
            self._over = self._over or (last.ends and last.seq >= self._known)
        return b"".join(pieces)

    def _token(self, token: Token) -> bytes:
        unseen = self._text.unseen(token)
        if unseen is None:
            return b""
        data = {**unseen._asdict(), "timestamp": rfc3339(self._clock.now())}
        return event_bytes("token", data)

    async def _event(self, event: Event) -> bytes:
        result = None
        if event.kind == "completed":
            result = (await self._store.get(self.task_id, self._scope)).result
        data = shapes.event_data(self.task_id, event, result)
        data["timestamp"] = rfc3339(event.at)
        return event_bytes(event.kind, data, event.seq)

    async def _write(self, body: bytes, *, more: bool = True) -> None:
        async with asyncio.timeout(STALL):
            await self._send({"type": "http.response.body", "body": body, "more_body": more})
