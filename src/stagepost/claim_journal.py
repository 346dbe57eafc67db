"""The journal of a claim that runs in this process: straight to store, blobs and bus."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from uuid_utils import uuid7

from stagepost.batch import MOST_BATCHES, Batch, ChildRecord
from stagepost.blobs import Blobs
from stagepost.body_codec import PLAIN, BodyCodec
from stagepost.bus import Bus
from stagepost.calls import INLINE_MOST, Body
from stagepost.child_pages import ChildPages
from stagepost.claim_calls import NO_MODELS, ClaimCalls
from stagepost.claim_limits import ClaimLimits
from stagepost.errors import BodyUnreadable, CallFailed, LeaseLost
from stagepost.failure import FailureKind
from stagepost.insisting import insist
from stagepost.journal import CallWait, Found, GotCall, NewChildren, NewStep, WantedCall
from stagepost.limiter import Verdict
from stagepost.limiting import Limiting
from stagepost.offloading import chunks, inline
from stagepost.records import Artifact, Checkpoint, Claimed, ProgressNote, SavedStep
from stagepost.signals import NewWait, Pending
from stagepost.store import Store
from stagepost.task import Lease, Payload
from stagepost.thinning import TEXT_EVERY, TEXT_WAITING, LatestProgress, StepText
from stagepost.worker_lease import WorkerLease

_ARTIFACT_LIMIT: Final = 1024 * 1024 * 1024  # bytes
_LOOK: Final = 0.02  # seconds between two looks whether the lease was renewed


class ClaimJournal:
    """Writes are fenced by the claim's lease; progress and text are thinned out here.

    A write that the store can't take now is tried again until it is taken, the lease is lost, or
    the claim is ended: what was worked out is not thrown away because a disk was full for a while.
    """

    __slots__ = (
        "_batches", "_blobs", "_bus", "_calls", "_claim", "_closed", "_codec", "_knows_all",
        "_limiting", "_own", "_pages", "_progress", "_saved", "_store", "_texts", "_to_come",
        "_worker_lease", "lease", "limits", "progressed",
    )  # fmt: skip

    def __init__(
        self,
        claim: Claimed,
        store: Store,
        blobs: Blobs,
        bus: Bus,
        pages: ChildPages,
        limiting: Limiting | None = None,
        worker_lease: WorkerLease | None = None,
        calls: ClaimCalls | None = None,
        codec: BodyCodec = PLAIN,
    ) -> None:
        self._claim = claim
        self._worker_lease = worker_lease
        self.lease: Lease = claim.lease
        self._store = store
        self._blobs = blobs
        self._bus = bus
        self._pages = pages
        self._saved: dict[str, SavedStep] | None = None if claim.saved_steps else {}
        self._own: set[str] = set()
        self._batches: set[str] | None = None
        self._knows_all = False
        self._to_come: dict[str, set[str]] | None = None
        self._closed = False
        self._progress: LatestProgress | None = None
        self._texts: dict[str, StepText] = {}
        self._limiting = limiting
        self._calls = calls
        self._codec = codec
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
        return Found(step.input_hash, await self.text(step.value))

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

    async def models(self) -> Sequence[str]:
        """The names under which models can be called."""
        return () if self._calls is None else self._calls.models

    async def call(self, wanted: WantedCall) -> GotCall | CallWait:
        """Call a model."""
        self._check()
        if self._calls is None:
            raise CallFailed(NO_MODELS, kind=FailureKind.CONFIG)
        told = await self._calls.call(wanted, self)
        # An answer that an earlier claim has had already is no progress.
        self.progressed = self.progressed or self._calls.progressed
        return told

    async def reject(self, call_id: str, why: str) -> None:
        """An answer can't be used."""
        if self._calls is not None:
            await self._calls.reject(call_id, why)

    async def body(self, text: str) -> Body:
        """A request's or an answer's text as the ledger keeps it.

        Raises CallFailed where it can't be redacted as is wanted.
        """
        try:
            stored, sha256, size, redacted = self._codec.kept(text)
        except Exception as error:
            raise CallFailed(
                f"What STAGEPOST_REDACT names has failed ({type(error).__name__}); mend it, then "
                "redrive the task.",
                kind=FailureKind.CONFIG,
            ) from error
        content = stored.encode()
        if len(content) <= INLINE_MOST:
            return Body(sha256, size, stored, redacted=redacted)
        key = await self._stage()
        await insist(lambda: self._blobs.put(key, chunks(content), limit=len(content)))
        return Body(sha256, size, blob=key, redacted=redacted)

    async def body_text(self, body: Body) -> str:
        """And back. Raises CallFailed where the key is missing with which it was encrypted."""
        stored = await self.text(Payload(body.text, body.size, body.blob))
        try:
            return self._codec.read(stored, body.sha256)
        except BodyUnreadable as error:
            raise CallFailed(str(error), kind=FailureKind.CONFIG) from error

    async def begin(self) -> None:
        """Return once something may be started.

        A worker that was stopped, or can't reach the store, for longer than its lease does not know
        yet whether somebody else runs its tasks: the next heartbeat tells.
        """
        while self._worker_lease is not None and not self._worker_lease.holds:
            self._check()
            await asyncio.sleep(_LOOK)

    async def save(self, step: NewStep) -> None:
        """Save a step, with the progress that waits."""
        value = await self.payload(step.text)
        checkpoint = Checkpoint(step.path, step.name, step.input_hash, value, step.took)
        note = None if self._progress is None else await self._progress.take()
        self._check()
        await insist(lambda: self._store.checkpoint(self.lease, checkpoint, note))
        self.progressed = True
        self._own.add(step.path)
        self._forget_text(step.path)

    async def sleep(self, path: str, seconds: float) -> Pending:
        """How long a sleep still lasts."""
        self._check()
        return await insist(lambda: self._store.waits.sleep(self.lease, path, seconds))

    async def listen(self, wait: NewWait) -> Pending | str:
        """Take a signal, or go on waiting."""
        self._check()
        answer = await insist(lambda: self._store.waits.listen(self.lease, wait))
        if isinstance(answer, str):
            self.progressed = True
            self._own.add(wait.path)
        return answer

    async def note(self, note: ProgressNote) -> None:
        """Keep the newest progress; it is written at most four times a second.

        A replay that comes again to where the task was before tells nothing: that was told.
        """
        self._check()
        if note.percent < self._claim.progress and self._replays():
            return
        if self._progress is None:
            self._progress = LatestProgress(self.lease, self._store)
        self._progress.put(note)

    def _replays(self) -> bool:
        # A handler without anything saved does its work again, and says so.
        return not self.progressed and bool(self._claim.saved_steps or self._batches)

    async def emit(self, step: str, text: str) -> None:
        """Send text, merged to at most twenty pieces a second."""
        self._check()
        if step not in self._texts:
            self._texts[step] = StepText(self._bus, self._claim, step)
        if self._texts[step].add(text) > TEXT_WAITING:
            # A handler that sends faster than that waits, so that others get their turn.
            await asyncio.sleep(TEXT_EVERY)

    async def attach(self, name: str, media_type: str, content: bytes | Path) -> None:
        """Save an artifact. Raises ValueError for a file that can't be read or is over 1 GiB."""
        self._check()
        key = await self._stage()
        stored = await insist(lambda: self._blobs.put(key, chunks(content), limit=_ARTIFACT_LIMIT))
        artifact = Artifact(name, media_type, stored.size, stored.sha256, key)
        await insist(lambda: self._store.attach(self.lease, artifact))

    async def batch(self, path: str) -> Batch | None:
        """The children at a path."""
        if self._batches is None:
            known = await insist(lambda: self._store.children.batches(self._claim.task_id))
            self._batches = {batch.path for batch in known}
            self._knows_all = len(known) < MOST_BATCHES
        if path not in self._batches and self._knows_all:
            # This claim alone starts any.
            return None
        return await insist(lambda: self._store.children.batch(self._claim.task_id, path))

    async def spawn(self, children: NewChildren) -> Batch:
        """Start children."""
        self._check()
        page = await insist(lambda: self._pages.page(self._claim.tenant, children))
        batch = await insist(lambda: self._store.children.spawn(self.lease, page))
        if self._batches is not None:
            self._batches.add(batch.path)
        self.progressed = True
        return batch

    async def children(
        self, batch_id: str, after: int, limit: int, *, texts: bool
    ) -> Sequence[ChildRecord]:
        """A page of a batch's children."""
        return await insist(
            lambda: self._store.children.results(batch_id, after, limit, texts=texts)
        )

    async def path(self, key: str) -> Path:
        """A local file with an upload's bytes."""
        return await self._blobs.path(key)

    async def payload(self, text: str) -> Payload:
        """JSON text as it is kept: in its row, or in a blob when it is large."""
        small = inline(text)
        if small is not None:
            return small
        key, content = await self._stage(), text.encode()
        await insist(lambda: self._blobs.put(key, chunks(content), limit=len(content)))
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

    async def text(self, value: Payload) -> str:
        """A value's JSON text."""
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
