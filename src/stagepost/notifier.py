"""From committed events to whoever watches a task, live.

One loop serves all watchers of a process: doorbells mark their tasks as dirty, one statement reads
what is new for all of them, and each watcher gets what lies behind its own number. Every few
seconds all watched tasks are looked at anyway, so a lost doorbell costs seconds and never an event.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

import orjson

from stagepost.bus import Bus, Committed, Token
from stagepost.errors import StoreUnavailable
from stagepost.event import Event
from stagepost.store import Store

_log = logging.getLogger("stagepost.notifier")

BUFFER: Final = 256 * 1024
"""Bytes that wait for one slow watcher before it is cut; it can resume by its last number."""

_SWEEP: Final = 5.0  # seconds
_EVENTS_A_READ: Final = 200  # for one task
_RETRY: Final = 0.5  # seconds before another try while the store can't be read

News = Event | Token


class Watch:
    """One watcher of one task. Used as an async context manager; events come once, in order."""

    def __init__(self, notifier: "Notifier", task_id: str, after: int) -> None:
        self.task_id = task_id
        self.seq = after
        """The number of the last event handed over, or about to be."""
        self.cut = False
        """True once the watcher was too slow: nothing more will come."""
        self.closed = False
        """True once somebody else has ended it: `next` answers at once."""
        self._notifier = notifier
        self._waiting: deque[News] = deque()
        self._bytes = 0
        self._ready = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Start to watch."""
        self._notifier.add(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching."""
        self._notifier.remove(self)

    async def next(self, timeout: float) -> Sequence[News]:
        """What has come since the last call; empty when nothing came for `timeout` seconds."""
        if not self._waiting and not self.cut and not self.closed:
            try:
                async with asyncio.timeout(timeout):
                    await self._ready.wait()
            except TimeoutError:
                return ()
        self._ready.clear()
        news = tuple(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return news

    def close(self) -> None:
        """End it from outside; whoever waits in `next` is woken."""
        self.closed = True
        self._ready.set()

    def feed(self, events: Sequence[Event]) -> None:
        """Events of the task; those that the watcher has had are left out."""
        for event in events:
            if event.seq == self.seq + 1:
                self.seq = event.seq
                self.push(event, 200 + len(orjson.dumps(dict(event.data))))

    def push(self, item: News, size: int) -> None:
        """Put one piece into the buffer, or cut the watcher when it is full."""
        if self.cut:
            return
        if self._bytes + size > BUFFER:
            self.cut = True
        else:
            self._waiting.append(item)
            self._bytes += size
        self._ready.set()


class Notifier:
    """All watchers of this process. `run` is its loop; both live in one event loop."""

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store = store
        self._bus = bus
        self._watches: dict[str, list[Watch]] = {}
        self._dirty: set[str] = set()
        self._wake = asyncio.Event()
        self._swept_at = 0.0

    def watch(self, task_id: str, after: int) -> Watch:
        """A watcher for the events behind `after`."""
        return Watch(self, task_id, after)

    @property
    def watchers(self) -> int:
        """How many watch now."""
        return sum(map(len, self._watches.values()))

    def add(self, watch: Watch) -> None:
        """Take in a watcher; what it has missed so far is read at once."""
        self._watches.setdefault(watch.task_id, []).append(watch)
        self._mark(watch.task_id)

    def remove(self, watch: Watch) -> None:
        """Let a watcher go."""
        others = self._watches.get(watch.task_id, [])
        if watch in others:
            others.remove(watch)
        if not others:
            self._watches.pop(watch.task_id, None)

    def committed(self, news: Committed) -> None:
        """Doorbells of one commit."""
        if self._watches:
            for task_id in news.events:
                if task_id in self._watches:
                    self._mark(task_id)

    def token(self, task_id: str, token: Token) -> None:
        """A piece of text."""
        for watch in self._watches.get(task_id, ()):
            watch.push(token, 100 + 4 * len(token.text))

    def missed(self) -> None:
        """Bells were lost: every watched task is looked at now."""
        self._dirty.update(self._watches)
        self._wake.set()

    async def run(self) -> None:
        """Serve the watchers until cancelled."""
        stop = self._bus.listen(self)
        try:
            while True:
                await self._pause()
                await self._serve()
        finally:
            stop()

    def _mark(self, task_id: str) -> None:
        self._dirty.add(task_id)
        self._wake.set()

    async def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._swept_at + _SWEEP):
                await self._wake.wait()
        self._wake.clear()
        if loop.time() >= self._swept_at + _SWEEP:
            self._swept_at = loop.time()
            self._dirty.update(self._watches)

    async def _serve(self) -> None:
        dirty, self._dirty = self._dirty, set()
        after = {
            task_id: min(watch.seq for watch in self._watches[task_id])
            for task_id in dirty
            if task_id in self._watches
        }
        if not after:
            return
        try:
            news = await self._store.news(after, _EVENTS_A_READ)
        except StoreUnavailable as error:
            _log.warning("watchers have to wait: %s", error)
            self._dirty |= dirty
            await asyncio.sleep(_RETRY)
            self._wake.set()
            return
        for task_id, events in news.items():
            for watch in self._watches.get(task_id, ()):
                watch.feed(events)
            if len(events) == _EVENTS_A_READ:
                self._mark(task_id)
