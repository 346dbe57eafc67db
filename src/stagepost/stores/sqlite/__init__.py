"""The embedded store: SQLite in a folder that one process owns.

`synchronous=FULL` in WAL mode syncs the log at each commit, so a verb that returned survives a
power cut. One thread writes, in group commits; readers run beside it.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import apsw

from stagepost.backlog import Backlog
from stagepost.bus import Committed
from stagepost.clock import Clock
from stagepost.event import Event
from stagepost.outcome import Drained, Outcome, Succeeded
from stagepost.records import (
    ApiKey,
    Artifact,
    Beat,
    Checkpoint,
    Claimed,
    DeadGroup,
    Demand,
    FailureRecord,
    Filter,
    LaneRecord,
    NewTask,
    ProgressNote,
    Rescue,
    Resume,
    SavedStep,
    Scope,
    Submitted,
    TaskView,
    UploadRecord,
    WorkerRecord,
)
from stagepost.stores.rates import Rates
from stagepost.stores.sqlite import artifacts, bulk, keeping, life, people, queues, reading
from stagepost.stores.sqlite.budgets import SqliteBudgets
from stagepost.stores.sqlite.checkpointer import Checkpointer
from stagepost.stores.sqlite.children import SqliteChildren
from stagepost.stores.sqlite.claiming import Claiming
from stagepost.stores.sqlite.folder import DataFolder, Place, open_writer
from stagepost.stores.sqlite.history import SqliteHistory
from stagepost.stores.sqlite.intents import Intent, Kind
from stagepost.stores.sqlite.ledger import SqliteCalls
from stagepost.stores.sqlite.limits import SqliteLimits
from stagepost.stores.sqlite.mass import SqliteMassChanges
from stagepost.stores.sqlite.quotas import SqliteQuotas
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.retention import SqliteRetention
from stagepost.stores.sqlite.rules import SqliteRules
from stagepost.stores.sqlite.schedules import SqliteSchedules
from stagepost.stores.sqlite.seals import SqliteSeals
from stagepost.stores.sqlite.submitting import Submitting
from stagepost.stores.sqlite.waits import SqliteWaits
from stagepost.stores.sqlite.writer import Writer
from stagepost.task import CancelRequest, Lease, Payload, Task
from stagepost.versions import Stamped

_SCAN_EVERY: Final = 60_000
"""Milliseconds between two looks at the default deadlines of everything pooled."""


class SqliteStore:
    """The Store port over one data folder.

    `committed` is called in the writer's thread after each commit; it must return at once.
    `max_queued` is the quota of tenants without one of their own. Raises StoreRefused, with the
    remedy, when the folder can't be opened.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        committed: Callable[[Committed], None],
        *,
        max_queued: int | None = None,
    ) -> None:
        self._folder = DataFolder(folder)
        try:
            self._connection = open_writer(self._folder)
        except BaseException:
            self._folder.release()
            raise
        self._checkpointer = Checkpointer(self._folder.database)
        self._checkpointer.watch(self._connection)
        self._rates = Rates(clock)

        def announce(news: Committed) -> None:
            self._rates.count(news.counts)
            committed(news)

        place = Place(self._folder.database)
        self._writer = Writer(self._connection, clock, announce, self._checkpointer, place)
        self._readers = Readers(self._folder.database)
        self._claiming = Claiming()
        self.rules = SqliteRules(self._writer, self._readers)
        self.waits = SqliteWaits(self._writer)
        self.children = SqliteChildren(self._writer, self._readers, max_queued)
        self.calls = SqliteCalls(self._writer, self._readers)
        self.seals = SqliteSeals(self._writer, self._readers)
        self.limits = SqliteLimits(self._writer, self._readers)
        self.budgets = SqliteBudgets(self._writer, self._readers)
        self.retention = SqliteRetention(self._writer, self._readers)
        self.mass = SqliteMassChanges(self._writer, self._readers)
        self._scanned_at = 0
        self._submit = Submitting(max_queued).submit
        self.schedules = SqliteSchedules(self._writer, self._readers, self._submit)
        self.quotas = SqliteQuotas(self._writer, self._readers, max_queued)
        self.history = SqliteHistory(self._writer, self._readers)

    # Accepting

    async def submit(self, new: NewTask) -> Submitted:
        """Accept a task."""
        answer: Submitted = await self._writer.put(Kind.SUBMIT, self._submit, new, len(new.input))
        return answer

    async def stage(self, blob: str) -> None:
        """Note that a blob is about to be written."""
        await self._writer.call(Kind.CHANGE, life.stage, blob)

    async def keep_upload(self, upload: UploadRecord) -> None:
        """Keep a staged file before any task names it."""
        await self._writer.call(Kind.CHANGE, life.keep_upload, upload)

    async def cancel(self, task_id: str, scope: Scope, request: CancelRequest) -> Task:
        """Cancel a task, or ask its worker to."""
        argument = (task_id, scope, request)
        return await self._change(people.cancel, argument)

    async def discard(self, task_id: str, scope: Scope, request: CancelRequest) -> Task:
        """Give up a dead letter."""
        return await self._change(people.discard, (task_id, scope, request))

    async def redrive(
        self, task_id: str, scope: Scope, by: str, resume: Resume, attempts: int
    ) -> Task:
        """Send a dead letter back."""
        return await self._change(people.redrive, (task_id, scope, by, resume, attempts))

    async def _change(self, apply: Any, argument: Any) -> Task:
        task: Task = await self._writer.call(Kind.CHANGE, apply, argument)
        return task

    # Claiming

    async def register(self, worker: WorkerRecord) -> None:
        """A worker starts to live."""
        await self._writer.call(Kind.LIFE, life.register, worker)

    async def beat(self, worker_id: str, state: str) -> Beat:
        """Renew a worker and its claims."""
        beat: Beat = await self._writer.call(Kind.LIFE, life.beat, (worker_id, state))
        return beat

    async def retire(self, worker_id: str) -> None:
        """A worker ends its life."""
        await self._writer.call(Kind.RESCUE, keeping.retire, worker_id)

    async def claim(self, demand: Demand, *, wait: float = 0.0) -> Sequence[Claimed]:
        """Take tasks from the pool."""
        claimed: Sequence[Claimed] = await self._writer.call(
            Kind.CLAIM, self._claiming.claim, demand, wait=wait, undo=_give_back
        )
        return claimed

    async def checkpoint(
        self, lease: Lease, checkpoint: Checkpoint, note: ProgressNote | None = None
    ) -> None:
        """Save a step's result."""
        await self._writer.call(
            Kind.STEP, bulk.save_steps, (lease, checkpoint, note), _size(checkpoint.value)
        )

    async def progress(self, lease: Lease, note: ProgressNote) -> None:
        """Note how far a task is."""
        await self._writer.call(Kind.PROGRESS, bulk.note_progress, (lease, None, note))

    async def attach(self, lease: Lease, artifact: Artifact) -> None:
        """Save an artifact."""
        await self._writer.call(Kind.STEP, artifacts.attach, (lease, artifact))

    async def settle(
        self, lease: Lease, outcome: Outcome, note: ProgressNote | None = None
    ) -> None:
        """End a claim."""
        size = _size(outcome.result) if isinstance(outcome, Succeeded) else 0
        # Claims are bounded by the workers' slots, and so are their ends.
        await self._writer.put_anyway(Kind.SETTLE, bulk.settle, (lease, outcome, note), size)

    # Keeping

    async def release_due(self, limit: int) -> int:
        """Do what is due; asks a reader first, so that an idle store is not written to."""
        now = self._writer.now
        if not await self._readers.call(lambda db: reading.anything_due(db, now)):
            return 0
        changed: int = await self._writer.call(Kind.CHANGE, keeping.release_due, limit)
        return changed

    async def expire_queued(self, limit: int) -> int:
        """Dead-letter what is pooled past its deadline.

        Explicit deadlines have an index; the default ones (a day) are looked at once a minute.
        """
        now = self._writer.now
        late = list(await self._readers.call(lambda db: reading.late(db, now, limit)))
        if len(late) < limit and now - self._scanned_at >= _SCAN_EVERY:
            self._scanned_at = now
            late += await self._readers.call(
                lambda db: reading.late_by_default(db, now, limit - len(late))
            )
        if not late:
            return 0
        changed: int = await self._writer.call(Kind.CHANGE, keeping.expire, late)
        return changed

    async def rescue(self, *, older_than: float, as_of: int | None = None) -> Rescue:
        """Give back the claims of silent workers."""
        rescue: Rescue = await self._writer.call(Kind.RESCUE, keeping.rescue, (older_than, as_of))
        return rescue

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        """Yes: the folder belongs to this process alone."""
        del name, holder, seconds
        return True

    # Reading

    async def get(self, task_id: str, scope: Scope) -> TaskView:
        """A task with what belongs to it."""
        return await self._readers.call(lambda db: reading.view(db, task_id, scope))

    async def find(self, scope: Scope, where: Filter) -> Sequence[Task]:
        """Tasks, newest first."""
        return await self._readers.call(lambda db: reading.find(db, scope, where))

    async def events(self, task_id: str, after: int, limit: int) -> Sequence[Event]:
        """A task's events behind a number."""
        return await self._readers.call(lambda db: reading.events(db, task_id, after, limit))

    async def news(self, after: Mapping[str, int], limit: int) -> Mapping[str, Sequence[Event]]:
        """Events of many tasks."""
        return await self._readers.call(lambda db: reading.news(db, after, limit))

    async def steps(self, task_id: str) -> Sequence[SavedStep]:
        """A task's checkpoints."""
        return await self._readers.call(lambda db: reading.steps(db, task_id))

    async def timeline(self, task_id: str, after: str | None, limit: int) -> Sequence[SavedStep]:
        """A page of a task's checkpoints, without their values."""
        return await self._readers.call(lambda db: reading.timeline(db, task_id, after, limit))

    async def dead_groups(self, scope: Scope, where: Filter) -> Sequence[DeadGroup]:
        """Dead letters counted by failure kind and type."""
        return await self._readers.call(lambda db: reading.dead_groups(db, scope, where))

    async def artifacts(self, task_id: str) -> Sequence[Artifact]:
        """A task's artifacts."""
        return await self._readers.call(lambda db: reading.artifacts(db, task_id))

    async def failures(self, task_id: str) -> Sequence[FailureRecord]:
        """A task's failed attempts."""
        return await self._readers.call(lambda db: reading.failures(db, task_id))

    async def uploads(self, tenant: str, upload_ids: Sequence[str]) -> Sequence[UploadRecord]:
        """A tenant's uploads."""
        return await self._readers.call(lambda db: reading.uploads(db, tenant, upload_ids))

    async def lanes(self, names: Sequence[str]) -> Sequence[LaneRecord]:
        """Each lane's state."""
        records = await self._readers.call(lambda db: reading.lanes(db, names))
        return self._rates.added(records)

    async def backlog(self, lane: str, step: int) -> Backlog:
        """What is ready in a lane."""
        return await self._readers.call(lambda db: queues.backlog(db, lane, step))

    async def workers(self) -> Sequence[WorkerRecord]:
        """The workers that live."""
        return await self._readers.call(reading.workers)

    async def stamped(self) -> Sequence[Stamped]:
        """Queued tasks that were begun with a version of their code."""
        return await self._readers.call(reading.stamped)

    # Keys

    async def add_key(self, key: ApiKey) -> ApiKey:
        """Keep a key."""
        created_at: int = await self._writer.call(Kind.CHANGE, life.add_key, key)
        return replace(key, created_at=created_at)

    async def revoke_key(self, key_id: str, tenant: str) -> None:
        """End a key."""
        await self._writer.call(Kind.CHANGE, life.revoke_key, (key_id, tenant))

    async def keys(self, tenant: str | None) -> Sequence[ApiKey]:
        """Live keys."""
        return await self._readers.call(lambda db: reading.keys(db, tenant))

    async def key(self, key_hash: str) -> ApiKey | None:
        """The live key with a hash."""
        return await self._readers.call(lambda db: reading.key(db, key_hash))

    async def warm(self, *, workers: bool) -> None:
        """Nothing has to be made ready."""

    async def ping(self) -> int:
        """Write something."""
        now: int = await self._writer.call(Kind.LIFE, life.ping, None)
        return now

    async def close(self) -> None:
        """Commit what is queued and let go of the folder."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        # If its thread can't be ended it still owns the folder, until the process ends.
        self._writer.end()
        if self._writer.broken is not None:
            # What a failing disk gives back may not be moved into the file unchecked.
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        with contextlib.ExitStack() as stack:
            stack.callback(self._folder.release)
            # The last connection to go moves the log into the file, which a reader can't.
            stack.callback(self._connection.close)
            stack.callback(self._checkpointer.close)
            stack.callback(self._readers.close)


def _size(payload: Payload) -> int:
    return len(payload.text or "")


def _give_back(claimed: Iterable[Claimed]) -> Sequence[Intent]:
    """What undoes a claim whose caller has gone."""
    return [Intent(Kind.SETTLE, bulk.settle, (task.lease, Drained(), None)) for task in claimed]
