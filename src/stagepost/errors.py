"""Everything Stagepost raises on purpose.

    StagepostError
    ├── Retryable              the same call may succeed later
    │   ├── StoreUnavailable   the disk is full, the database is away
    │   │   └── StoreBroken    a sync has failed; the process must be replaced
    │   ├── QueueFull          the store's writer has no room now
    │   ├── TenantFull         its tenant has too many that wait
    │   ├── LimiterUnavailable the limiter can't be asked; nothing is granted
    │   └── AnchorUnavailable  seals of the ledger can't be copied now
    ├── Terminal               the same call will never succeed
    │   ├── StoreRefused       the data folder can't be opened; its sentence has the remedy
    │   ├── UnknownType        no handler is registered for the type
    │   ├── UnknownLane
    │   ├── UnknownLimit       no limit of this name is configured
    │   ├── NeverFits          more units than the limit ever has
    │   ├── NotFound           no such task, key or artifact for this caller
    │   │   └── Gone           the task was there; it was pruned or erased
    │   ├── NotAllowed         this caller may not do it
    │   ├── UploadSwept        a file that an input names is not kept any more
    │   ├── BodyUnreadable     a text of the ledger can't be decrypted with the keys that are set
    │   ├── Unwritable         the store can't keep this, however often it is tried
    │   └── Invalid            the input fails its model; `errors` names the fields
    ├── Conflict               the state of the world forbids it now
    │   ├── LeaseLost          another claim owns the task; a late writer is refused
    │   ├── IllegalTransition  the state machine has no such edge
    │   ├── CancelAsked        the task was asked to stop: it may start no child any more
    │   ├── IdempotencyMismatch
    │   └── IdempotencyInProgress
    ├── CallFailed             a model's answer could not be had; `kind` says why
    └── HandlerError           what a handler raises; its message is shown to the user
        ├── InvalidInput
        ├── ContentPolicy
        ├── RateLimited
        ├── Overloaded
        ├── ServerError
        ├── ChildFailed       a child that a handler waited for has failed
        ├── AmbiguousStep
        └── CodeChanged

A caller needs only the axis: retry later, give up, or look again.
"""

from collections.abc import Sequence
from typing import Any


class StagepostError(Exception):
    """The root of the tree above. Its text is one sentence with the remedy."""


class Retryable(StagepostError):
    """The same call may succeed later."""


class Terminal(StagepostError):
    """The same call will never succeed."""


class Conflict(StagepostError):
    """The state of the world forbids it now; look again before another call."""


class StoreUnavailable(Retryable):
    """The store can't take writes now.

    Nothing of this call was kept, unless the disk itself failed: then nobody can say.
    """


class StoreBroken(StoreUnavailable):
    """The store takes no more writes: only a new process can tell what is kept."""


class QueueFull(Retryable):
    """The store's writer has no room for this call now."""


class LimiterUnavailable(Retryable):
    """The limiter can't be asked now; without its answer nothing is granted."""


class AnchorUnavailable(Retryable):
    """The audit anchor takes no seals now; the store keeps them until it does."""


class TenantFull(Retryable):
    """The tenant has as many tasks that wait to start as it may have."""


class StoreRefused(Terminal):
    """The store can't be opened; nothing in it was changed."""


class UnknownType(Terminal):
    """No handler is registered for this task type."""


class UnknownLane(Terminal):
    """No lane of this name is configured."""


class UnknownLimit(Terminal):
    """No limit of this name is configured."""


class NeverFits(Terminal):
    """More units were asked for than the limit ever has."""


class NotFound(Terminal):
    """Nothing of that name exists for this caller."""


class NotAllowed(Terminal):
    """This caller may not do it, though others may."""


class Gone(NotFound):
    """The task was there for this caller, and was pruned or erased since."""


class UploadSwept(Terminal):
    """An input names a file that is not kept any more; it has to be sent again."""


class Unwritable(Terminal):
    """The store can't keep this, however often it is tried."""


class Invalid(Terminal):
    """An input fails its model.

    `errors` holds one `(location, message)` for each fault; a location is a path of names and
    list positions.
    """

    def __init__(self, message: str, errors: Sequence[tuple[tuple[str | int, ...], str]]) -> None:
        super().__init__(message)
        self.errors = tuple(errors)


class LeaseLost(Conflict):
    """The claim that this write belongs to no longer owns its task."""


class IllegalTransition(Conflict):
    """The transition table has no edge between these statuses."""


class CancelAsked(Conflict):
    """The task was asked to stop, so it starts nothing any more."""


class IdempotencyMismatch(Conflict):
    """The Idempotency-Key was used before, with other content."""


class IdempotencyInProgress(Conflict):
    """Another submit with the same Idempotency-Key has not ended yet."""


class HandlerError(StagepostError):
    """What a handler raises to say how its attempt ended; the message is shown to the user."""


class InvalidInput(HandlerError):
    """The input can never be worked on; straight to dead letter."""


class ContentPolicy(HandlerError):
    """A provider's content policy refused the work; straight to dead letter."""


class RateLimited(HandlerError):
    """A limit of somebody else's is used up. Spends no attempt and holds no worker.

    `retry_after` is in seconds; without it the wait grows from 1 to 60 s.
    """

    def __init__(self, message: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message or "A rate limit was reached; the task goes on by itself.")
        self.retry_after = None if retry_after is None else float(retry_after)


class Overloaded(HandlerError):
    """A service that the handler needs is overloaded; tried again by the type's Retry."""


class ServerError(HandlerError):
    """A service that the handler needs failed; tried again by the type's Retry."""


class BodyUnreadable(Terminal):
    """A text of the ledger can't be decrypted with the keys that are set; it is still there."""


class CallFailed(StagepostError):
    """A model's answer could not be had; `kind` names the failure, as docs/failures.md lists them.

    The text is for operators, since a provider may quote the request; the user reads a sentence of
    ours. `retry_after` is in seconds, None where nobody has named a time.
    """

    def __init__(self, message: str, *, kind: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[Any, ...]:
        """Between processes: with all it tells."""
        return (_call_failed, (str(self), self.kind, self.retry_after))


def _call_failed(message: str, kind: str, retry_after: float | None) -> CallFailed:
    return CallFailed(message, kind=kind, retry_after=retry_after)


class ChildFailed(HandlerError):
    """A child that a handler waited for is in DEAD_LETTER, or was CANCELLED.

    A redrive of the parent sends its dead children back first, so the same wait may end otherwise.
    """

    def __init__(
        self, message: str, *, task_id: str = "", status: str = "", failure_kind: str | None = None
    ) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.status = status
        self.failure_kind = failure_kind

    def __reduce__(self) -> tuple[Any, ...]:
        """Between processes: with all it tells."""
        told = {"task_id": self.task_id, "status": self.status, "failure_kind": self.failure_kind}
        return (_child_failed, (str(self), told))


def _child_failed(message: str, told: dict[str, Any]) -> ChildFailed:
    return ChildFailed(message, **told)


class AmbiguousStep(HandlerError):
    """Two steps of one name run at once in one scope without a `key`."""


class CodeChanged(HandlerError):
    """A saved step was asked for with another input than it was saved with."""
