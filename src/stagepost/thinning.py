"""What a handler tells faster than anybody reads it: kept back for a moment, and thinned out."""

import asyncio
import logging
from typing import Final

from stagepost.bus import Bus, Token
from stagepost.errors import LeaseLost, Retryable
from stagepost.records import Claimed, ProgressNote
from stagepost.store import Store
from stagepost.task import Lease

_log = logging.getLogger("stagepost.journal")

_NOTE_EVERY: Final = 0.25  # seconds between two durable progress events of a task
TEXT_EVERY: Final = 0.05
"""Seconds between two pieces of a step's text."""
TEXT_WAITING: Final = 64 * 1024
"""Characters of a step that may wait to be sent."""


class LatestProgress:
    """At most one durable progress event each 250 ms; the latest wins and none is reordered."""

    def __init__(self, lease: Lease, store: Store) -> None:
        self._lease = lease
        self._store = store
        self._waiting: ProgressNote | None = None
        self._writing: asyncio.Task[None] | None = None
        self._written_at = -_NOTE_EVERY
        self._timer: asyncio.TimerHandle | None = None

    def put(self, note: ProgressNote) -> None:
        """Take the newest; it is written when the time has come."""
        self._waiting = note
        if self._writing is None and self._timer is None:
            loop = asyncio.get_running_loop()
            delay = self._written_at + _NOTE_EVERY - loop.time()
            self._timer = loop.call_later(max(0.0, delay), self._start)

    def _start(self) -> None:
        self._timer = None
        self._writing = asyncio.get_running_loop().create_task(
            self._write(), name=f"progress of {self._lease.task_id}"
        )

    async def _write(self) -> None:
        note, self._waiting = self._waiting, None
        loop = asyncio.get_running_loop()
        self._written_at = loop.time()
        try:
            if note is not None:
                await self._store.progress(self._lease, note)
        except LeaseLost:
            _log.info("progress of task %s came from a lost claim", self._lease.task_id)
        except Retryable as error:
            _log.warning("progress of task %s was not kept: %s", self._lease.task_id, error)
        finally:
            self._writing = None
        if self._waiting is not None:
            self.put(self._waiting)

    async def take(self) -> ProgressNote | None:
        """What waits, once nothing is being written; it has to be written by the caller now."""
        if self._writing is not None:
            await asyncio.wait([self._writing])
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        note, self._waiting = self._waiting, None
        if note is not None:
            self._written_at = asyncio.get_running_loop().time()
        return note


class StepText:
    """A step's text on its way to the bus, in pieces."""

    def __init__(self, bus: Bus, claim: Claimed, step: str) -> None:
        self._bus = bus
        self._claim = claim
        self._step = step
        self._offset = 0
        self._waiting: list[str] = []
        self._length = 0
        self._timer: asyncio.TimerHandle | None = None
        self._sent_at = -TEXT_EVERY

    def add(self, text: str) -> int:
        """Take a piece; answers how many characters wait to be sent."""
        self._waiting.append(text)
        self._length += len(text)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            delay = self._sent_at + TEXT_EVERY - loop.time()
            self._timer = loop.call_later(max(0.0, delay), self.flush)
        return self._length

    def flush(self) -> None:
        """Send what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        text = "".join(self._waiting)
        self._waiting.clear()
        self._length = 0
        if text:
            self._sent_at = asyncio.get_running_loop().time()
            token = Token(self._step, self._claim.attempt, self._offset, text)
            self._offset += len(text)
            self._bus.emit(self._claim.task_id, token)
