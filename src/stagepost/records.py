"""What a store keeps and answers beside the task itself. Pure data.

The records on the path of every task are named tuples, since they are built tens of thousands of
times a second; the others are dataclasses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from stagepost.choice import LaneTurns
from stagepost.task import CancelRequest, Lease, Payload, Status, Task


class Idempotency(NamedTuple):
    """A caller's Idempotency-Key. `scope` names the route; `fingerprint` the content."""

    scope: str
    key: str
    fingerprint: str


class Kin(NamedTuple):
    """Whose child a task is, of which batch, and its place in that, from 0."""

    parent_id: str
    batch_id: str
    place: int


class UploadRecord(NamedTuple):
    """A file that a caller sent. Its blob has the upload's id as key. `size` is in bytes."""

    upload_id: str
    tenant: str
    name: str
    media_type: str
    size: int
    sha256: str


class NewTask(NamedTuple):
    """A submit. Durations are seconds; instants come only from the caller and may be None.

    `ttl` is the default deadline's length; `deadline` an explicit instant. Of a tenant, type and
    `unique_key` there is one task at a time that is not over. `debounce`: such a one that is still
    PENDING is put off by `delay` anew, and takes this input. `brings` is how many tasks a batch
    from outside will start: it takes their room in the tenant's quota, and none of its own.
    """

    id: str
    tenant: str
    user: str
    type: str
    lane: str
    input: str
    max_attempts: int
    ttl: float
    trace_id: str = ""
    priority: int = 0
    run_at: int | None = None
    delay: float = 0.0
    deadline: int | None = None
    tags: tuple[str, ...] = ()
    uploads: tuple[UploadRecord, ...] = ()
    idempotency: Idempotency | None = None
    concurrency_key: str | None = None
    kin: Kin | None = None
    unique_key: str | None = None
    debounce: bool = False
    brings: int = 0

    @property
    def size(self) -> int:
        """How many tasks it is to its tenant's quota."""
        return self.brings or 1


class Submitted(NamedTuple):
    """What the store made of a submit.

    `replayed`: it is an earlier task, of the same Idempotency-Key or unique key; `lane` is then the
    one that this has, if it is still there.
    """

    task_id: str
    status: Status
    created_at: int
    replayed: bool = False
    lane: str = ""


class Claimed(NamedTuple):
    """One task as a worker needs it; `time_left` is the milliseconds until its deadline."""

    task_id: str
    fence: int
    lease_id: str
    tenant: str
    user: str
    type: str
    lane: str
    attempt: int
    max_attempts: int
    time_left: int
    progress: int
    step: str | None
    saved_steps: int
    lost_claims: int
    waits: int
    trace_id: str
    seq: int
    input: str
    code_version: int = 1
    upload_bytes: int = 0
    age: int = 0
    """Milliseconds since its first claim."""

    @property
    def lease(self) -> Lease:
        """The token that every write of this claim carries."""
        return Lease(self.task_id, self.fence, self.lease_id)


class ProgressNote(NamedTuple):
    """How far a task is: percent from 0 to 100, a message for people, the step's name."""

    percent: int
    message: str
    step: str | None


class Checkpoint(NamedTuple):
    """A step's result, to be saved. `path` is its identity within the task; `took` in ms."""

    path: str
    name: str
    input_hash: str
    value: Payload
    took: int


@dataclass(frozen=True, slots=True)
class SavedStep:
    """A step as it was saved; `value` is what replays return."""

    path: str
    name: str
    input_hash: str
    value: Payload
    attempt: int
    fence: int
    started_at: int
    completed_at: int


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that a task saved, kept as the blob `blob`. `size` is in bytes."""

    name: str
    media_type: str
    size: int
    sha256: str
    blob: str
    created_at: int = 0


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """One failed attempt, with the trace that only operators see."""

    attempt: int
    fence: int
    kind: str
    message: str
    trace: str
    at: int


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """One life of a worker process: a new id at each start.

    `versions` says which versions of a type's code it runs, its own first; where nothing is said it
    is version 1.
    """

    id: str
    name: str
    lanes: tuple[str, ...]
    types: tuple[str, ...]
    slots: int
    version: str
    state: str = "running"
    running: int = 0
    started_at: int = 0
    beat_at: int = 0
    versions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


class Beat(NamedTuple):
    """The answer to a heartbeat: whether the worker is still known, and whom to cancel."""

    known: bool
    cancels: tuple[tuple[str, CancelRequest], ...] = ()


@dataclass(frozen=True, slots=True)
class Demand:
    """What a worker asks for: free slots, whose turn it is among its lanes, types it can run.

    `limits` says how many tasks of some types may run at once in the whole fleet, as their code has
    it; a rule of the type goes before.
    `versions` is that of WorkerRecord.
    """

    worker_id: str
    slots: int
    turns: LaneTurns
    types: tuple[str, ...]
    limits: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resume:
    """Where a redriven task goes on: at its checkpoints, before a step, or from nothing.

    A corrected `input` implies a fresh start; `uploads` are the files that it names.
    """

    fresh: bool = False
    from_step: str | None = None
    input: str | None = None
    uploads: tuple[UploadRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose tasks a caller may see: of one tenant, or of one user of it.

    A tenant of None (the local mode's reads without headers) sees all.
    """

    tenant: str | None
    user: str | None = None

    def holds(self, task: Task) -> bool:
        """Whether a task lies in this scope."""
        return self.tenant in {None, task.tenant} and self.user in {None, task.user}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which tasks to list, newest first; `after` is the last id of the page before."""

    statuses: tuple[Status, ...] = ()
    type: str | None = None
    lane: str | None = None
    tag: str | None = None
    user: str | None = None
    failure_kind: str | None = None
    created_after: int | None = None
    created_before: int | None = None
    after: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task with what belongs to it, in one consistent read.

    `position` is its place in its lane, from 1, while it is QUEUED: how many start before it if no
    more come and every tenant has the same weight. Behind `backlog.COUNTED` places it is that
    number plus one. It is `blocked` while it is QUEUED and as many
    tasks with its concurrency key as may run at once are before it.
    """

    task: Task
    result: Payload | None = None
    position: int | None = None
    input: str = "null"
    tags: tuple[str, ...] = ()
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class LaneRecord:
    """One lane now.

    Rates are of the last minute: what entered the lane's pool, and what ended.
    `oldest_pooled_at` may pass over tasks with a negative head start, which wait by their own wish.
    """

    name: str
    queued: int = 0
    running: int = 0
    oldest_pooled_at: int | None = None
    arrivals: int = 0
    completions: int = 0


@dataclass(frozen=True, slots=True)
class DeadGroup:
    """Dead letters of one failure kind and type; `oldest` is when the first of them died."""

    failure_kind: str
    type: str
    count: int
    oldest: int


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key; only the hash of its text is kept."""

    id: str
    name: str
    tenant: str
    roles: tuple[str, ...]
    hash: str
    user: str | None = None
    created_at: int = 0
    revoked_at: int | None = None


@dataclass(frozen=True, slots=True)
class Rescue:
    """What a rescue did: how many claims were given back, by the workers that it found dead."""

    workers: tuple[str, ...] = ()
    tasks: tuple[str, ...] = field(default=())
