"""The journal of a claim that runs in this process: straight to store, blobs and bus."""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from uuid_utils import uuid7

from stagepost.blobs import OFFLOAD_OVER, Blobs
from stagepost.bus import Bus, Token
from stagepost.claim_limits import ClaimLimits
from stagepost.errors import LeaseLost, Retryable
from stagepost.journal import Found, NewStep
from stagepost.limiter import Verdict
from stagepost.limiting import Limiting
from stagepost.records import Artifact, Checkpoint, Claimed, ProgressNote, SavedStep
from stagepost.signals import NewWait, Pending
from stagepost.store import Store
from stagepost.task import Lease, Payload

Answer = TypeVar("Answer")

_log = logging.getLogger("stagepost.journal")

_NOTE_EVERY: Final = 0.25  # seconds between two durable progress events of a task
_TOKEN_EVERY: Final = 0.05  # seconds between two pieces of a step's text
_TEXT_WAITING: Final = 64 * 1024  # characters
_RETRY_FIRST: Final = 0.1  # seconds
_RETRY_MOST: Final = 5.0
_ARTIFACT_LIMIT: Final = 1024 * 1024 * 1024  # bytes
_CHUNK: Final = 256 * 1024


class ClaimJournal:
    """Writes are fenced by the claim's lease; progress and text are thinned out here.

    A write that the store can't take now is tried again until it is taken, the lease is lost, or
    the claim is ended: what was worked out is not thrown away because a disk was full for a while.
    """

    __slots__ = (
        "_blobs",
        "_bus",
        "_claim",
        "_closed",
        "_lease",
        "_limiting",
        "_own",
        "_progress",
        "_saved",
        "_store",
        "_texts",
        "_to_come",
        "limits",
        "progressed",
    )  # fmt: skip

    def __init__(
        self,
        claim: Claimed,
        store: Store,
        blobs: Blobs,
        bus: Bus,
        limiting: Limiting | None = None,
    ) -> None:
        self._claim = claim
        self._lease: Lease = claim.lease
        self._store = store
        self._blobs = blobs
        self._bus = bus
        self._saved: dict[str, SavedStep] | None = None if claim.saved_steps else {}
        self._own: set[str] = set()
        self._to_come: dict[str, set[str]] | None = None
        self._closed = False
        self._progress: _Progress | None = None
        self._texts: dict[str, _Text] = {}
        self._limiting = limiting
        self.limits: ClaimLimits | None = None
        """What the claim has taken of limits, once it has."""
        self.progressed = False
        """True once this claim has saved something new."""

    async def find(self, path: str) -> Found | None:
        """The step saved under a path."""
        if path in self._own:
            # Asked for again by the same claim: read as a later one would read it.
            self._saved = None
            self._own.clear()
        saved = self._saved if self._saved is not None else await self._load()
        step = saved.get(path)
        if step is None:
            return None
        if self._to_come is not None:
            self._to_come.get(_scope_of(path), set()).discard(path)
        return Found(step.input_hash, await self._text(step.value))

    async def replays(self, path: str) -> bool:
        """Whether a step saved by an earlier claim, right in this scope, was not asked for yet."""
        if not self._claim.saved_steps:
            return False
        if self._to_come is None:
            self._to_come = defaultdict(set)
            for step in (self._saved or await self._load()).values():
                if step.fence != self._claim.fence:
                    self._to_come[_scope_of(step.path)].add(step.path)
        return bool(self._to_come.get(path))

    async def reserve(self, place: str, wants: Mapping[str, int], patience: float) -> Verdict:
        """Take units of limits."""
        if self.limits is None:
            self.limits = ClaimLimits(self._claim, self._limiting)
        return await self.limits.reserve(place, wants, patience)

    async def release(self, place: str) -> None:
        """What is held is free."""
        if self.limits is not None:
            await self.limits.release(place)

    async def save(self, step: NewStep) -> None:
        """Save a step, with the progress that waits."""
        value = await self.payload(step.text)
        checkpoint = Checkpoint(step.path, step.name, step.input_hash, value, step.took)
        note = None if self._progress is None else await self._progress.take()
        self._check()
        await insist(lambda: self._store.checkpoint(self._lease, checkpoint, note))
        self.progressed = True
        self._own.add(step.path)
        self._forget_text(step.path)

    async def sleep(self, path: str, seconds: float) -> Pending:
        """How long a sleep still lasts."""
        self._check()
        return await insist(lambda: self._store.waits.sleep(self._lease, path, seconds))

    async def listen(self, wait: NewWait) -> Pending | str:
        """Take a signal, or go on waiting."""
        self._check()
        answer = await insist(lambda: self._store.waits.listen(self._lease, wait))
        if isinstance(answer, str):
            self.progressed = True
            self._own.add(wait.path)
        return answer

    async def note(self, note: ProgressNote) -> None:
        """Keep the newest progress; it is written at most four times a second."""
        self._check()
        if self._progress is None:
            self._progress = _Progress(self._lease, self._store)
        self._progress.put(note)

    async def emit(self, step: str, text: str) -> None:
        """Send text, merged to at most twenty pieces a second."""
        self._check()
        if step not in self._texts:
            self._texts[step] = _Text(self._bus, self._claim, step)
        if self._texts[step].add(text) > _TEXT_WAITING:
            # A handler that sends faster than that waits, so that others get their turn.
            await asyncio.sleep(_TOKEN_EVERY)

    async def attach(self, name: str, media_type: str, content: bytes | Path) -> None:
        """Save an artifact. Raises ValueError for a file that can't be read or is over 1 GiB."""
        self._check()
        key = await self._stage()
        stored = await insist(lambda: self._blobs.put(key, _chunks(content), limit=_ARTIFACT_LIMIT))
        artifact = Artifact(name, media_type, stored.size, stored.sha256, key)
        await insist(lambda: self._store.attach(self._lease, artifact))

    async def path(self, key: str) -> Path:
        """A local file with an upload's bytes."""
        return await self._blobs.path(key)

    async def payload(self, text: str) -> Payload:
        """JSON text as it is kept: in its row, or in a blob when it is large."""
        small = inline(text)
        if small is not None:
            return small
        key, content = await self._stage(), text.encode()
        await insist(lambda: self._blobs.put(key, _chunks(content), limit=len(content)))
        return Payload(None, len(content), key)

    def close_now(self) -> bool:
        """Close if nothing waits to be written; False if `close` is needed."""
        if self._texts or self._progress is not None:
            return False
        self._closed = True
        return True

    async def close(self) -> ProgressNote | None:
        """Write nothing more; the progress that still waits goes with the end of the claim.

        What the handler has left running is refused from now on, as the store would refuse it.
        """
        self._closed = True
        if self._texts:
            for text in self._texts.values():
                text.flush()
            self._bus.forget(self._claim.task_id)
        return None if self._progress is None else await self._progress.take()

    async def _load(self) -> dict[str, SavedStep]:
        steps = await insist(lambda: self._store.steps(self._claim.task_id))
        self._saved = {step.path: step for step in steps}
        return self._saved

    def _check(self) -> None:
        if self._closed:
            raise LeaseLost(f"The handler of task {self._claim.task_id} has ended.")

    async def _stage(self) -> str:
        key = str(uuid7())
        await insist(lambda: self._store.stage(key))
        return key

    async def _text(self, value: Payload) -> str:
        if value.blob is None:
            return value.text or "null"
        return (await self._blobs.get(value.blob)).decode()

    def _forget_text(self, step: str) -> None:
        text = self._texts.pop(step, None)
        if text is not None:
            text.flush()
            self._bus.forget(self._claim.task_id)


def _scope_of(path: str) -> str:
    return path.rpartition("/")[0]


class _Progress:
    """At most one durable progress event each 250 ms; the latest wins and none is reordered."""

    def __init__(self, lease: Lease, store: Store) -> None:
        self._lease = lease
        self._store = store
        self._waiting: ProgressNote | None = None
        self._writing: asyncio.Task[None] | None = None
        self._written_at = -_NOTE_EVERY
        self._timer: asyncio.TimerHandle | None = None

    def put(self, note: ProgressNote) -> None:
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


class _Text:
    """A step's text on its way to the bus, in pieces."""

    def __init__(self, bus: Bus, claim: Claimed, step: str) -> None:
        self._bus = bus
        self._claim = claim
        self._step = step
        self._offset = 0
        self._waiting: list[str] = []
        self._length = 0
        self._timer: asyncio.TimerHandle | None = None
        self._sent_at = -_TOKEN_EVERY

    def add(self, text: str) -> int:
        """Take a piece; answers how many characters wait to be sent."""
        self._waiting.append(text)
        self._length += len(text)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            delay = self._sent_at + _TOKEN_EVERY - loop.time()
            self._timer = loop.call_later(max(0.0, delay), self.flush)
        return self._length

    def flush(self) -> None:
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


def inline(text: str) -> Payload | None:
    """JSON text as it is kept in its row; None when it is too large for that."""
    size = len(text) if text.isascii() else len(text.encode())
    return Payload(text, size) if size <= OFFLOAD_OVER else None


async def insist(call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Call until the store takes it; other errors end it. The caller's own end bounds it."""
    delay = _RETRY_FIRST
    while True:
        try:
            return await call()
        except Retryable as error:
            _log.warning("tried again in %.1f s: %s", delay, error)
        await asyncio.sleep(delay * (0.5 + random.random() / 2))  # noqa: S311  # only spreads
        delay = min(delay * 2, _RETRY_MOST)


async def _chunks(content: bytes | Path) -> AsyncIterator[bytes]:
    if isinstance(content, bytes):
        for start in range(0, max(1, len(content)), _CHUNK):
            yield content[start : start + _CHUNK]
        return
    with await _read(content, lambda: content.open("rb")) as file:
        while piece := await _read(content, lambda: file.read(_CHUNK)):
            yield piece


async def _read(path: Path, read: Callable[[], Answer]) -> Answer:
    # Translated, because an OSError among the chunks would be taken for one of the blob store.
    try:
        return await asyncio.to_thread(read)
    except OSError as error:
        raise ValueError(f"The file {path} can't be read: {error.strerror}.") from error
