"""Facts about a task, numbered per task; the same in every channel. Pure.

A fact is what happened; `data()` is its wire form (http-api: "Events"). An Event is a fact with
its number and time, as the store keeps it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from stagepost.task import Wait

END_EVENTS: Final = frozenset({"completed", "failed", "cancelled"})
"""After one of these a stream ends; after `failed` only `redriven` or `cancelled` may follow."""


def rfc3339(instant: int) -> str:
    """An instant as RFC 3339 UTC text with milliseconds."""
    moment = datetime.fromtimestamp(instant / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{instant % 1000:03d}Z"


@dataclass(frozen=True, slots=True)
class Event:
    """One stored fact: `seq` from 1 without gaps within its task, `at` an instant."""

    seq: int
    kind: str
    data: Mapping[str, Any]
    at: int

    @property
    def ends(self) -> bool:
        """True for the event after which a stream closes."""
        return self.kind in END_EVENTS


@dataclass(frozen=True, slots=True)
class Queued:
    """Into the pool; `reason` is submitted, due, retry, woken, rescued or drained."""

    kind: ClassVar[str] = "queued"
    reason: str

    def data(self) -> dict[str, Any]:
        """The wire form."""
        return {"reason": self.reason}


@dataclass(frozen=True, slots=True)
class Started:
    """A worker claimed it."""

    kind: ClassVar[str] = "started"
    attempt: int

    def data(self) -> dict[str, Any]:
        """The wire form."""
        return {"attempt": self.attempt}


@dataclass(frozen=True, slots=True)
class Progressed:
    """How far it is: 0 to 100, never falling."""

    kind: ClassVar[str] = "progress"
    progress: int
    message: str
    step: str | None

    def data(self) -> dict[str, Any]:
        """The wire form."""
        return {"progress": self.progress, "message": self.message, "step": self.step}


@dataclass(frozen=True, slots=True)
class StepSaved:
    """A checkpoint was written."""

    kind: ClassVar[str] = "step"
    name: str
    path: str

    def data(self) -> dict[str, Any]:
        """The wire form."""
        return {"name": self.name, "path": self.path, "state": "saved"}


@dataclass(frozen=True, slots=True)
class Retrying:
    """An attempt failed and another one will be made."""

    kind: ClassVar[str] = "retrying"
    attempt: int
    failure_kind: str
    message: str
    next_attempt_at: int

    def data(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "attempt": self.attempt,
            "failureKind": self.failure_kind,
            "message": self.message,
            "nextAttemptAt": rfc3339(self.next_attempt_at),
        }


@dataclass(frozen=True, slots=True)
class WaitStarted:
    """It waits without a worker."""

    kind: ClassVar[str] = "waiting"
    wait: Wait

    def data(self) -> dict[str, Any]:
        """The wire form."""
        return {"for": wait_data(self.wait)}


@dataclass(frozen=True, slots=True)
class Redriven:
    """A person or program sent a dead letter back."""

    kind: ClassVar[str] = "redriven"
    by: str
    resume: str | Mapping[str, str]

    def data(self) -> dict[str, Any]:
        """The wire form."""
        return {"by": self.by, "resume": self.resume}


@dataclass(frozen=True, slots=True)
class Completed:
    """It is done. The result itself is kept once, with the task, and joined when the event is read.

    `processing_ms` runs from the first start to the end.
    """

    kind: ClassVar[str] = "completed"
    processing_ms: int
    trace_id: str

    def data(self) -> dict[str, Any]:
        """The wire form, without the result."""
        return {
            "progress": 100,
            "model": None,
            "processingMs": self.processing_ms,
            "traceId": self.trace_id,
        }


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """It needs a person."""

    kind: ClassVar[str] = "failed"
    message: str
    failure_kind: str

    def data(self) -> dict[str, Any]:
        """The wire form."""
        return {"message": self.message, "failureKind": self.failure_kind}


@dataclass(frozen=True, slots=True)
class WasCancelled:
    """It was cancelled or, as a dead letter, discarded."""

    kind: ClassVar[str] = "cancelled"
    by: str
    reason: str

    def data(self) -> dict[str, Any]:
        """The wire form."""
        return {"by": self.by, "reason": self.reason}


Fact = (
    Queued
    | Started
    | Progressed
    | StepSaved
    | Retrying
    | WaitStarted
    | Redriven
    | Completed
    | DeadLettered
    | WasCancelled
)


def wait_data(wait: Wait) -> dict[str, Any]:
    """The wire form of `waitingFor`."""
    until = None if wait.until is None else rfc3339(wait.until)
    return {"kind": wait.kind, "name": wait.name, "until": until}
