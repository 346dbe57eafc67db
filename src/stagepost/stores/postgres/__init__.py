"""The store in a PostgreSQL database, which many processes on many machines may share.

A verb returns once its transaction is committed; whether a commit survives a power cut, or the loss
of the primary, is as the server is configured. The server's clock is the store's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from stagepost.backlog import Backlog
from stagepost.bus import Committed
from stagepost.clock import Clock
from stagepost.event import Event
from stagepost.outcome import Outcome, Succeeded
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
from stagepost.stores.postgres import keeping, life, looking, people, queues, reading, submitting
from stagepost.stores.postgres.address import Address, address_of
from stagepost.stores.postgres.budgets import PostgresBudgets
from stagepost.stores.postgres.children import PostgresChildren
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.fenced import Kind, Write
from stagepost.stores.postgres.history import PostgresHistory
from stagepost.stores.postgres.ledger import PostgresCalls
from stagepost.stores.postgres.limits import PostgresLimits
from stagepost.stores.postgres.mass import PostgresMassChanges
from stagepost.stores.postgres.opening import prepare
from stagepost.stores.postgres.quota_rules import PostgresQuotas
from stagepost.stores.postgres.retention import PostgresRetention
from stagepost.stores.postgres.rules import PostgresRules
from stagepost.stores.postgres.schedules import PostgresSchedules
from stagepost.stores.postgres.seals import PostgresSeals
from stagepost.stores.postgres.waits import PostgresWaits
from stagepost.task import CancelRequest, Lease, Payload, Task
from stagepost.versions import Stamped

_SCAN_EVERY: Final = 60_000
"""Milliseconds between two looks at the default deadlines of everything pooled."""


class PostgresStore:
    """The Store port over one schema of one database; see `open`."""

    def __init__(
        self,
        address: Address,
        clock: Clock,
        committed: Callable[[Committed], None],
        first: Backend,
        max_queued: int | None,
    ) -> None:
        self._engine = Engine(address, clock, committed, first, max_queued)
        self.rules = PostgresRules(self._engine)
        self.waits = PostgresWaits(self._engine)
        self.children = PostgresChildren(self._engine)
        self.calls = PostgresCalls(self._engine)
        self.seals = PostgresSeals(self._engine)
        self.limits = PostgresLimits(self._engine)
        self.budgets = PostgresBudgets(self._engine)
        self.schedules = PostgresSchedules(
            self._engine, partial(submitting.submit, limits=self._engine.limits)
        )
        self.quotas = PostgresQuotas(self._engine)
        self._scanned_at = 0
        self.history = PostgresHistory(self._engine)
        self.retention = PostgresRetention(self._engine)
        self.mass = PostgresMassChanges(self._engine)

    @classmethod
    async def open(
        cls,
        url: str,
        clock: Clock,
        committed: Callable[[Committed], None],
        *,
        max_queued: int | None = None,
    ) -> "PostgresStore":
        """Open `postgresql://USER:PASSWORD@HOST/DATABASE`, and bring its schema up to date.

        `?schema=NAME` names another schema than `stagepost`. `committed` is called after each
        commit in the event loop in which the store was opened, and must return at once.
        `max_queued` is the quota of tenants without one of their own. Raises StoreRefused with the
        remedy; the password is in no message.
        """
        address = address_of(url)
        return cls(address, clock, committed, await prepare(address), max_queued)

    # Accepting

    async def submit(self, new: NewTask) -> Submitted:
        """Accept a task."""
        submitted: Submitted = await self._engine.submit(new)
        return submitted

    async def stage(self, blob: str) -> None:
        """Note that a blob is about to be written."""
        await self._engine.change(lambda tx: life.stage(tx, blob))

    async def keep_upload(self, upload: UploadRecord) -> None:
        """Keep a staged file before any task names it."""
        await self._engine.change(lambda tx: life.keep_upload(tx, upload))

    async def cancel(self, task_id: str, scope: Scope, request: CancelRequest) -> Task:
        """Cancel a task, or ask its worker to."""
        return await self._engine.change(lambda tx: people.cancel(tx, task_id, scope, request))

    async def discard(self, task_id: str, scope: Scope, request: CancelRequest) -> Task:
        """Give up a dead letter."""
        return await self._engine.change(lambda tx: people.discard(tx, task_id, scope, request))

    async def redrive(
        self, task_id: str, scope: Scope, by: str, resume: Resume, attempts: int
    ) -> Task:
        """Send a dead letter back."""
        return await self._engine.change(
            lambda tx: people.redrive(tx, task_id, scope, by, resume, attempts)
        )

    # Claiming

    async def register(self, worker: WorkerRecord) -> None:
        """A worker starts to live."""
        await self._engine.change(lambda tx: life.register(tx, worker))

    async def beat(self, worker_id: str, state: str) -> Beat:
        """Renew a worker and its claims."""
        return await self._engine.change(lambda tx: life.beat(tx, worker_id, state))

    async def retire(self, worker_id: str) -> None:
        """A worker ends its life."""
        await self._engine.change(lambda tx: keeping.retire(tx, worker_id))

    async def claim(self, demand: Demand, *, wait: float = 0.0) -> Sequence[Claimed]:
        """Take tasks from the pool."""
        return await self._engine.claim(demand, wait)

    async def checkpoint(
        self, lease: Lease, checkpoint: Checkpoint, note: ProgressNote | None = None
    ) -> None:
        """Save a step's result."""
        await self._engine.write(Write(Kind.STEP, lease, checkpoint, note), _size(checkpoint.value))

    async def progress(self, lease: Lease, note: ProgressNote) -> None:
        """Note how far a task is."""
        await self._engine.write(Write(Kind.PROGRESS, lease, None, note))

    async def attach(self, lease: Lease, artifact: Artifact) -> None:
        """Save an artifact."""
        await self._engine.write(Write(Kind.ARTIFACT, lease, artifact))

    async def settle(
        self, lease: Lease, outcome: Outcome, note: ProgressNote | None = None
    ) -> None:
        """End a claim."""
        size = _size(outcome.result) if isinstance(outcome, Succeeded) else 0
        await self._engine.write(Write(Kind.SETTLE, lease, outcome, note), size)

    # Keeping

    async def release_due(self, limit: int) -> int:
        """Do what is due; asks first, so that an idle store is not written to."""
        last = self._engine.moment.last
        if not await self._engine.read(lambda db: looking.anything_due(db, last)):
            return 0
        return await self._engine.change(lambda tx: keeping.release_due(tx, limit))

    async def expire_queued(self, limit: int) -> int:
        """Dead-letter what is pooled past its deadline.

        Explicit deadlines have an index; the default ones (a day) are looked at once a minute.
        """
        last = self._engine.moment.last
        now = await self._engine.read(lambda db: looking.now(db, last))
        late = await self._engine.read(lambda db: looking.late(db, now, limit))
        if len(late) < limit and now - self._scanned_at >= _SCAN_EVERY:
            self._scanned_at = now
            left = limit - len(late)
            late += await self._engine.read(lambda db: looking.late_by_default(db, now, left))
        if not late:
            return 0
        return await self._engine.change(lambda tx: keeping.expire(tx, late))

    async def rescue(self, *, older_than: float, as_of: int | None = None) -> Rescue:
        """Give back the claims of silent workers."""
        return await self._engine.change(lambda tx: keeping.rescue(tx, older_than, as_of))

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        """Whether the holder leads from now on."""
        return await self._engine.change(lambda tx: keeping.lead(tx, name, holder, seconds))

    # Reading

    async def get(self, task_id: str, scope: Scope) -> TaskView:
        """A task with what belongs to it."""
        return await self._engine.read(lambda db: reading.view(db, task_id, scope))

    async def find(self, scope: Scope, where: Filter) -> Sequence[Task]:
        """Tasks, newest first."""
        return await self._engine.read(lambda db: reading.find(db, scope, where))

    async def events(self, task_id: str, after: int, limit: int) -> Sequence[Event]:
        """A task's events behind a number."""
        return await self._engine.read(lambda db: reading.events(db, task_id, after, limit))

    async def news(self, after: Mapping[str, int], limit: int) -> Mapping[str, Sequence[Event]]:
        """Events of many tasks."""
        return await self._engine.read(lambda db: reading.news(db, after, limit))

    async def steps(self, task_id: str) -> Sequence[SavedStep]:
        """A task's checkpoints."""
        return await self._engine.read(lambda db: reading.steps(db, task_id))

    async def timeline(self, task_id: str, after: str | None, limit: int) -> Sequence[SavedStep]:
        """A page of a task's checkpoints, without their values."""
        return await self._engine.read(lambda db: reading.timeline(db, task_id, after, limit))

    async def dead_groups(self, scope: Scope, where: Filter) -> Sequence[DeadGroup]:
        """Dead letters counted by failure kind and type."""
        return await self._engine.read(lambda db: reading.dead_groups(db, scope, where))

    async def artifacts(self, task_id: str) -> Sequence[Artifact]:
        """A task's artifacts."""
        return await self._engine.read(lambda db: reading.artifacts(db, task_id))

    async def failures(self, task_id: str) -> Sequence[FailureRecord]:
        """A task's failed attempts."""
        return await self._engine.read(lambda db: reading.failures(db, task_id))

    async def uploads(self, tenant: str, upload_ids: Sequence[str]) -> Sequence[UploadRecord]:
        """A tenant's uploads."""
        return await self._engine.read(lambda db: reading.uploads(db, tenant, upload_ids))

    async def lanes(self, names: Sequence[str]) -> Sequence[LaneRecord]:
        """Each lane's state."""
        return self._engine.rated(await self._engine.read(lambda db: looking.lanes(db, names)))

    async def backlog(self, lane: str, step: int) -> Backlog:
        """What is ready in a lane."""
        return await self._engine.read(lambda db: queues.backlog(db, lane, step))

    async def workers(self) -> Sequence[WorkerRecord]:
        """The workers that live."""
        return await self._engine.read(looking.workers)

    async def stamped(self) -> Sequence[Stamped]:
        """Queued tasks that were begun with a version of their code."""
        return await self._engine.read(looking.stamped)

    # Keys

    async def add_key(self, key: ApiKey) -> ApiKey:
        """Keep a key."""
        created_at = await self._engine.change(lambda tx: life.add_key(tx, key))
        return replace(key, created_at=created_at)

    async def revoke_key(self, key_id: str, tenant: str) -> None:
        """End a key."""
        await self._engine.change(lambda tx: life.revoke_key(tx, key_id, tenant))

    async def keys(self, tenant: str | None) -> Sequence[ApiKey]:
        """Live keys."""
        return await self._engine.read(lambda db: looking.keys(db, tenant))

    async def key(self, key_hash: str) -> ApiKey | None:
        """The live key with a hash."""
        return await self._engine.read(lambda db: looking.key(db, key_hash))

    async def warm(self, *, workers: bool) -> None:
        """Make the connections of submits, and those of claims and what they write."""
        await self._engine.warm(workers=workers)

    async def ping(self) -> int:
        """Write something."""
        return await self._engine.change(life.ping)

    async def close(self) -> None:
        """Commit what is queued and let go of the database."""
        await self._engine.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._engine.closing


def _size(payload: Payload) -> int:
    return len(payload.text or "")
