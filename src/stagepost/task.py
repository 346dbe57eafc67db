"""A task, its statuses and the only table by which a status changes. Pure.

Instants are integers, milliseconds since 1970-01-01 UTC; durations inside a task are milliseconds
too. A task's id is a UUIDv7 in its canonical text form, so ids sort by creation time.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple, Self

from stagepost.errors import IllegalTransition
from stagepost.waiting import Condition


class Status(StrEnum):
    """Where a task stands."""

    PENDING = "PENDING"
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    FAILED = "FAILED"
    COMPLETED = "COMPLETED"
    DEAD_LETTER = "DEAD_LETTER"
    CANCELLED = "CANCELLED"


_S = Status

EDGES: dict[Status, frozenset[Status]] = {
    _S.PENDING: frozenset({_S.QUEUED, _S.DEAD_LETTER, _S.CANCELLED}),
    _S.QUEUED: frozenset({_S.RUNNING, _S.DEAD_LETTER, _S.CANCELLED}),
    _S.RUNNING: frozenset({_S.COMPLETED, _S.FAILED, _S.WAITING, _S.QUEUED, _S.CANCELLED}),
    _S.WAITING: frozenset({_S.QUEUED, _S.DEAD_LETTER, _S.CANCELLED}),
    _S.FAILED: frozenset({_S.QUEUED, _S.DEAD_LETTER, _S.CANCELLED}),
    _S.DEAD_LETTER: frozenset({_S.QUEUED, _S.CANCELLED}),
    _S.COMPLETED: frozenset(),
    _S.CANCELLED: frozenset(),
}
"""From each status, the statuses that may follow it. A new task starts as PENDING."""

FINAL = frozenset({_S.COMPLETED, _S.CANCELLED})
"""No edge leaves these."""

SETTLED = FINAL | {_S.DEAD_LETTER}
"""Nothing happens any more by itself; `final` in the HTTP API."""


def sources(status: Status) -> frozenset[Status]:
    """The statuses from which a task may become `status`."""
    return frozenset(source for source, targets in EDGES.items() if status in targets)


class Payload(NamedTuple):
    """A JSON value: its text, or the blob that holds it where it is large. `size` is in bytes."""

    text: str | None
    size: int
    blob: str | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """What a WAITING task waits for: a kind of `waitingFor`, a name, and an instant if known."""

    kind: str
    name: str
    until: int | None = None


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """Who asked a running task to stop, and why."""

    by: str
    reason: str = ""


class Lease(NamedTuple):
    """One worker's hold on one task: the token that every write of a claim carries."""

    task_id: str
    fence: int
    lease_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One piece of work, as its row says.

    `attempt` is the number of the current try, from 1; `max_attempts` the number of the last one
    that may be made (a redrive raises it). `fence` counts claims. `seq` is the number of the last
    event. `due_at` is the next instant at which the scheduler has something to do for it.
    `ttl` is the default deadline's length, `deadline` the instant; `hard_deadline` says that a
    caller gave that instant. `ended_at` is when it became COMPLETED, CANCELLED or DEAD_LETTER.
    While it is WAITING, `conditions` are what it waits for and `wait` is the one to be shown.
    `saved_fence` is the fence of the last claim that saved something new; `lost_claims` counts
    claims lost in a row without that, `waits` parks for somebody else's limit in a row.
    A child has a `parent_id`, the batch it was started with, and its `place` in that, from 0. Of
    the tasks of a tenant with one `concurrency_key` only so many run at once as its rule says.
    `code_version` is the version of its type's handler with which it was first claimed, 0 before.
    """

    id: str
    tenant: str
    user: str
    type: str
    lane: str
    status: Status
    created_at: int
    deadline: int
    hard_deadline: bool = False
    ttl: int
    max_attempts: int
    attempt: int = 1
    priority: int = 0
    run_at: int
    due_at: int | None = None
    pooled_at: int | None = None
    fence: int = 0
    lease_id: str | None = None
    worker_id: str | None = None
    seq: int = 0
    progress: int = 0
    step: str | None = None
    saved_steps: int = 0
    saved_fence: int = 0
    lost_claims: int = 0
    waits: int = 0
    wait: Wait | None = None
    conditions: tuple[Condition, ...] = ()
    waiting_since: int | None = None
    cancel: CancelRequest | None = None
    failure_kind: str | None = None
    error_message: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    upload_bytes: int = 0
    trace_id: str = ""
    parent_id: str | None = None
    batch_id: str | None = None
    place: int | None = None
    concurrency_key: str | None = None
    code_version: int = 0

    def to(self, status: Status, **changes: Any) -> Self:
        """This task in another status; raises IllegalTransition where the table has no edge."""
        if status not in EDGES[self.status]:
            raise IllegalTransition(f"A task can't go from {self.status} to {status}.")
        return replace(self, status=status, **changes)

    @property
    def lease(self) -> Lease | None:
        """The claim that owns the task now, if it runs."""
        if self.lease_id is None:
            return None
        return Lease(self.id, self.fence, self.lease_id)

    @property
    def pool_type(self) -> str:
        """What the pool has as its type: with the version, once it has one, as "type/version".

        So a worker asks for what it can run by names alone, and what none can run is passed over
        as a whole.
        """
        return f"{self.type}/{self.code_version}" if self.code_version else self.type

    @property
    def progressed(self) -> bool:
        """True if the current claim has saved something new."""
        return self.saved_fence == self.fence

    @property
    def suspect(self) -> bool:
        """True while the task must run in a killable process of its own: its last claim died."""
        return self.lost_claims > 0
