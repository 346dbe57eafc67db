"""PORT. The truth about every task: rows, checkpoints, events, leases, in one transactional store.

Terms
    *durable*     synced to disk; every verb returns only then.
    *fenced*      the write carries a Lease; it is refused with LeaseLost unless that claim owns the
                  task at that moment.
    *committed*   after each commit the store hands its wiring a `Committed`: the doorbells to ring.

Verbs are intentions: each is one transaction, and does all of its change or none. Durations are in
seconds and the store's own clock decides when they end; no worker's clock decides anything. The
verbs may be called from several event loops at once.

Every verb may raise StoreUnavailable; `submit` raises QueueFull where the others wait for room. A
verb raises Conflict for an id, key or path that is taken, and Unwritable for what no table takes
(text that is no Unicode, numbers beyond 64 bits); messages of progress and failures are mended
instead, since they must not cost a task its end. A refused call harms no other that is written with
it. A caller that is cancelled while its write is on the way may find it done; only a claim is taken
back.

Writes of one claim that are on the way together are done in this order: progress, checkpoints and
artifacts, settle.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from stagepost.event import Event
from stagepost.outcome import Outcome
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
from stagepost.task import CancelRequest, Lease, Task


class Accepting(Protocol):
    """From a caller into the store."""

    async def submit(self, new: NewTask) -> Submitted:
        """Accept a task; or answer with the earlier one of the same Idempotency-Key.

        Raises IdempotencyMismatch when that one had another fingerprint.
        """
        ...

    async def stage(self, blob: str) -> None:
        """Note that a blob of this key is about to be written."""
        ...

    async def keep_upload(self, upload: UploadRecord) -> None:
        """Keep a staged file before any task names it; `uploads` finds it from now on."""
        ...

    async def cancel(self, task_id: str, scope: Scope, request: CancelRequest) -> Task:
        """Cancel a task, or ask its worker to. Raises NotFound, Conflict (see lifecycle)."""
        ...

    async def discard(self, task_id: str, scope: Scope, request: CancelRequest) -> Task:
        """Give up a dead letter. Raises NotFound, Conflict."""
        ...

    async def redrive(
        self, task_id: str, scope: Scope, by: str, resume: Resume, attempts: int
    ) -> Task:
        """Send a dead letter back with so many new attempts. Raises NotFound, Conflict."""
        ...


class Claiming(Protocol):
    """What a worker does."""

    async def register(self, worker: WorkerRecord) -> None:
        """A worker starts to live; its id is new."""
        ...

    async def beat(self, worker_id: str, state: str) -> Beat:
        """Renew the worker, and with it all its claims."""
        ...

    async def retire(self, worker_id: str) -> None:
        """A worker ends its life; what it still holds is given back without blame."""
        ...

    async def claim(self, demand: Demand, *, wait: float = 0.0) -> Sequence[Claimed]:
        """Take up to `slots` tasks from the pool.

        Waits up to `wait` for the first one. In a lane the order is `pooled_at - priority`; between
        lanes, by weight. A worker that was thought dead gets nothing until it registers anew. If
        the caller is cancelled, what was taken for it goes back to the pool and has spent nothing.
        """
        ...

    async def checkpoint(
        self, lease: Lease, checkpoint: Checkpoint, note: ProgressNote | None = None
    ) -> None:
        """Save a step's result, with the progress that goes with it. Fenced.

        A path is saved once in a task's life, unless a redrive drops it: then Conflict.
        """
        ...

    async def progress(self, lease: Lease, note: ProgressNote) -> None:
        """Note how far a task is; percent never falls. Fenced."""
        ...

    async def attach(self, lease: Lease, artifact: Artifact) -> None:
        """Save an artifact; one of the same name is replaced. Fenced."""
        ...

    async def settle(
        self, lease: Lease, outcome: Outcome, note: ProgressNote | None = None
    ) -> None:
        """End a claim. Fenced. A cancel that was asked meanwhile counts, except for a success."""
        ...


class Keeping(Protocol):
    """What the engine's own loops do."""

    async def release_due(self, limit: int) -> int:
        """Do what is due for tasks with a time: run times, retries, wakes, deadlines.

        Returns how many tasks were changed; `limit` of them means that more may be due.
        """
        ...

    async def expire_queued(self, limit: int) -> int:
        """Dead-letter the pooled tasks whose deadline has passed; returns how many."""
        ...

    async def rescue(self, *, older_than: float) -> Rescue:
        """Give back the claims of workers that have not renewed for so long, and forget them.

        Claims of workers that are not known any more are given back as well.
        """
        ...

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        """Whether this holder, a text of its own, leads the loop of this name for so many seconds.

        It does if it led before, or nobody leads; for no seconds at all it stops leading. What
        belongs to a single process says always so.
        """
        ...


class Reading(Protocol):
    """What anybody asks. A task outside the scope is as absent as one that never was."""

    async def get(self, task_id: str, scope: Scope) -> TaskView:
        """A task with its result and place in the queue. Raises NotFound."""
        ...

    async def find(self, scope: Scope, where: Filter) -> Sequence[Task]:
        """Tasks, newest first."""
        ...

    async def events(self, task_id: str, after: int, limit: int) -> Sequence[Event]:
        """A task's events with `seq` above `after`, in order."""
        ...

    async def news(self, after: Mapping[str, int], limit: int) -> Mapping[str, Sequence[Event]]:
        """The same for many tasks at once; only those that have news, `limit` events a task."""
        ...

    async def steps(self, task_id: str) -> Sequence[SavedStep]:
        """A task's checkpoints in the order in which they were saved."""
        ...

    async def timeline(self, task_id: str, after: str | None, limit: int) -> Sequence[SavedStep]:
        """The same without the values (`text` is None), a page behind the path `after`."""
        ...

    async def dead_groups(self, scope: Scope, where: Filter) -> Sequence[DeadGroup]:
        """How many dead letters the filter finds, by failure kind and type, largest first.

        `statuses`, `after` and `limit` of the filter say nothing here.
        """
        ...

    async def artifacts(self, task_id: str) -> Sequence[Artifact]:
        """A task's artifacts by name."""
        ...

    async def failures(self, task_id: str) -> Sequence[FailureRecord]:
        """A task's failed attempts, oldest first."""
        ...

    async def uploads(self, tenant: str, upload_ids: Sequence[str]) -> Sequence[UploadRecord]:
        """The uploads of a tenant among these ids."""
        ...

    async def lanes(self, names: Sequence[str]) -> Sequence[LaneRecord]:
        """Each lane's state; its rates may begin anew when the store is opened."""
        ...

    async def workers(self) -> Sequence[WorkerRecord]:
        """The workers that are alive."""
        ...


class Keys(Protocol):
    """API keys."""

    async def add_key(self, key: ApiKey) -> ApiKey:
        """Keep a key. Raises Conflict when its text was a key before, revoked or not."""
        ...

    async def revoke_key(self, key_id: str, tenant: str) -> None:
        """End a key. Raises NotFound."""
        ...

    async def keys(self, tenant: str | None) -> Sequence[ApiKey]:
        """A tenant's keys that are not revoked, or everybody's."""
        ...

    async def key(self, key_hash: str) -> ApiKey | None:
        """The live key with this hash."""
        ...


class Store(Accepting, Claiming, Keeping, Reading, Keys, Protocol):
    """The whole port."""

    async def ping(self) -> None:
        """Return if the store can take writes now; raises StoreUnavailable with the reason."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of the store."""
        ...
