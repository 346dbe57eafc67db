"""What goes over the wire, as types; they are also the schemas of the OpenAPI document.

Instants are RFC 3339 UTC, sizes are bytes. shapes.py makes them from the domain's objects.
"""

from typing import Any, Generic, Literal, NotRequired, TypeVar

from typing_extensions import TypedDict

from stagepost.web.call_schemas import Spending

StatusName = Literal[
    "PENDING", "QUEUED", "RUNNING", "WAITING", "FAILED", "COMPLETED", "DEAD_LETTER", "CANCELLED"
]
WaitKind = Literal["limit", "child", "signal", "timer", "budget", "worker", "retry", "paused"]


class Accepted(TypedDict):
    """The answer to a submit."""

    taskId: str
    type: str
    status: StatusName
    lane: str
    estimatedSeconds: int | None
    pollUrl: str
    sseUrl: str
    createdAt: str


class SignalSent(TypedDict):
    """The answer to a signal: `status` is the task's, which it may have woken."""

    taskId: str
    name: str
    status: StatusName


class AcceptedBatch(Accepted):
    """The answer to a batch: that of any task, and how many tasks it is going to start."""

    count: int


class Child(TypedDict):
    """One task of a batch; `index` is its place, from 0."""

    index: int
    taskId: str
    status: StatusName
    result: Any
    resultUrl: NotRequired[str]
    resultBytes: NotRequired[int]
    failureKind: str | None
    errorMessage: str | None


class BatchPage(TypedDict):
    """A batch: how many of its tasks stand where, and a page of them in input order."""

    counts: dict[str, int]
    items: list[Child]
    next: str | None


class WaitingFor(TypedDict):
    """What holds a task up."""

    kind: WaitKind
    name: str
    until: str | None


class TaskStatus(TypedDict):
    """Where a task stands. `resultUrl` and `resultBytes` are there when the result is large."""

    taskId: str
    status: StatusName
    final: bool
    progress: int
    currentStep: str | None
    result: Any
    resultUrl: NotRequired[str]
    resultBytes: NotRequired[int]
    errorMessage: str | None
    failureKind: str | None
    attempt: int
    maxAttempts: int
    nextAttemptAt: str | None
    waitingFor: WaitingFor | None
    queuePosition: int | None
    estimatedSeconds: int | None
    createdAt: str
    startedAt: str | None
    completedAt: str | None


class Owned(TypedDict):
    """What a task is and whose."""

    type: str
    lane: str
    tenant: str
    user: str


class TaskItem(TaskStatus, Owned):
    """A task in a list: `result` is always null there, a completed task has its `resultUrl`."""


class FailedAttempt(TypedDict):
    """One attempt that failed; `trace` is there for whoever may operate."""

    attempt: int
    failureKind: str
    message: str
    timestamp: str
    trace: NotRequired[str]


class WholeTask(TaskItem):
    """All that is known of a task; `cost` is what its calls to models have cost in US dollars."""

    priority: int
    runAt: str
    deadline: str
    tags: list[str]
    parentId: str | None
    traceId: str
    codeVersion: int | None
    seq: int
    cancelRequested: bool
    cost: float
    spent: Spending
    input: Any
    failures: list[FailedAttempt]


class DeadLetter(TaskItem):
    """A task that needs a person. `redriveEligible`: it may go well unchanged."""

    failedAt: str
    redriveEligible: bool


class TaskEvent(TypedDict):
    """One fact of a task's history."""

    seq: int
    event: str
    data: dict[str, Any]
    timestamp: str


class Step(TypedDict):
    """A saved step; `cost` is that of its calls to models, failed ones and repeats included."""

    path: str
    name: str
    state: Literal["saved"]
    attempt: int
    fence: int
    startedAt: str
    completedAt: str
    bytes: int
    cost: float


class ArtifactItem(TypedDict):
    """A file that a task saved."""

    name: str
    mediaType: str
    bytes: int
    sha256: str
    createdAt: str
    url: str


class Uploaded(TypedDict):
    """A file that was kept."""

    uploadId: str
    name: str
    bytes: int
    sha256: str


class ErasedHashes(TypedDict):
    """SHA-256, in hexadecimal, of what an erased task held."""

    input: str
    result: str | None
    uploads: list[str]
    artifacts: list[str]


class Erased(TypedDict):
    """What is left of an erased task."""

    taskId: str
    erasedAt: str
    erasedBy: str
    hashes: ErasedHashes


Item = TypeVar("Item")


class Listed(TypedDict, Generic[Item]):
    """A list. `next` goes back as `after` for the next page; null behind the last one."""

    items: list[Item]
    next: str | None


AnyJson = Any
