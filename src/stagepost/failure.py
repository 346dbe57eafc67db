"""How an attempt can fail, and what follows from each kind. Pure.

`REACTIONS` is the one table; the documentation prints it and the tests walk it row by row.
"""

import traceback
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from stagepost import errors

TRACE_LIMIT: Final = 16 * 1024
"""Characters kept of a stack trace: its end, where the cause stands."""

MESSAGE_LIMIT: Final = 2_000
"""Characters kept of a message for the user."""


class FailureKind(StrEnum):
    """Why an attempt failed."""

    RATE_LIMIT = "RATE_LIMIT"
    OVERLOADED = "OVERLOADED"
    SERVER_ERROR = "SERVER_ERROR"
    TIMEOUT = "TIMEOUT"
    CONTENT_POLICY = "CONTENT_POLICY"
    INVALID_INPUT = "INVALID_INPUT"
    CONTEXT_LENGTH = "CONTEXT_LENGTH"
    AUTH = "AUTH"
    CONFIG = "CONFIG"
    QUOTA = "QUOTA"
    BUDGET = "BUDGET"
    BAD_OUTPUT = "BAD_OUTPUT"
    BUG = "BUG"
    WORKER_LOST = "WORKER_LOST"
    DEADLINE = "DEADLINE"
    CODE_CHANGED = "CODE_CHANGED"
    CHILD_FAILED = "CHILD_FAILED"
    UNKNOWN_OUTCOME = "UNKNOWN_OUTCOME"


class Then(StrEnum):
    """What follows a failed attempt."""

    RETRY = "retry"  # by the type's Retry, then dead letter
    PARK = "park"  # wait without a worker, spending no attempt
    DEAD_LETTER = "dead letter"  # at once: another try can't help


class Redrive(StrEnum):
    """Whether sending a dead letter back can help."""

    YES = "yes"
    AFTER_CHANGE = "after a change"


@dataclass(frozen=True, slots=True)
class Reaction:
    """One row of the table: what follows, and whether a redrive can help."""

    then: Then
    redrive: Redrive


_K = FailureKind

REACTIONS: Final[dict[FailureKind, Reaction]] = {
    _K.RATE_LIMIT: Reaction(Then.PARK, Redrive.YES),
    _K.OVERLOADED: Reaction(Then.RETRY, Redrive.YES),
    _K.SERVER_ERROR: Reaction(Then.RETRY, Redrive.YES),
    _K.TIMEOUT: Reaction(Then.RETRY, Redrive.YES),
    _K.CONTENT_POLICY: Reaction(Then.DEAD_LETTER, Redrive.AFTER_CHANGE),
    _K.INVALID_INPUT: Reaction(Then.DEAD_LETTER, Redrive.AFTER_CHANGE),
    _K.CONTEXT_LENGTH: Reaction(Then.DEAD_LETTER, Redrive.AFTER_CHANGE),
    _K.AUTH: Reaction(Then.PARK, Redrive.YES),
    _K.CONFIG: Reaction(Then.PARK, Redrive.YES),
    _K.QUOTA: Reaction(Then.PARK, Redrive.YES),
    _K.BUDGET: Reaction(Then.PARK, Redrive.YES),
    _K.BAD_OUTPUT: Reaction(Then.DEAD_LETTER, Redrive.AFTER_CHANGE),
    _K.BUG: Reaction(Then.RETRY, Redrive.AFTER_CHANGE),
    _K.WORKER_LOST: Reaction(Then.RETRY, Redrive.YES),
    _K.DEADLINE: Reaction(Then.DEAD_LETTER, Redrive.YES),
    _K.CODE_CHANGED: Reaction(Then.DEAD_LETTER, Redrive.AFTER_CHANGE),
    _K.CHILD_FAILED: Reaction(Then.DEAD_LETTER, Redrive.YES),
    _K.UNKNOWN_OUTCOME: Reaction(Then.DEAD_LETTER, Redrive.YES),
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt: its kind, a sentence for the user, a trace for the operator.

    Both texts are cut to their limits and made fit for every store: a failure must be told, even if
    what it says is broken text.
    """

    kind: FailureKind
    message: str
    trace: str = ""
    retry_after: float | None = None

    def __post_init__(self) -> None:
        """Cut and mend the texts."""
        object.__setattr__(self, "message", _storable(self.message)[:MESSAGE_LIMIT])
        object.__setattr__(self, "trace", _storable(self.trace)[-TRACE_LIMIT:])


def _storable(text: str) -> str:
    # Halves of surrogate pairs are no Unicode text, and PostgreSQL keeps no NUL.
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


_BY_ERROR: Final[tuple[tuple[type[BaseException], FailureKind], ...]] = (
    (errors.InvalidInput, _K.INVALID_INPUT),
    (errors.ContentPolicy, _K.CONTENT_POLICY),
    (errors.RateLimited, _K.RATE_LIMIT),
    (errors.Overloaded, _K.OVERLOADED),
    (errors.ServerError, _K.SERVER_ERROR),
    (errors.CodeChanged, _K.CODE_CHANGED),
    (errors.ChildFailed, _K.CHILD_FAILED),
    (TimeoutError, _K.TIMEOUT),
)


_PATIENT: Final = (errors.RateLimited, errors.CallFailed)
"""What may name the time after which it is worth another try."""

_SPOKEN: Final = (
    errors.HandlerError,
    errors.UnknownLimit,
    errors.NeverFits,
    errors.UnknownType,
    errors.UnknownLane,
    errors.Invalid,
)
"""Whose messages the user reads; not those of stores, which may name addresses and paths."""


_SENTENCES: Final[dict[FailureKind, str]] = {
    _K.RATE_LIMIT: "A rate limit was reached; the task goes on by itself.",
    _K.OVERLOADED: "A service that the task needs is overloaded.",
    _K.SERVER_ERROR: "A service that the task needs has failed.",
    _K.TIMEOUT: "The work took longer than its time-out.",
    _K.CONTENT_POLICY: "A content policy refused the work.",
    _K.INVALID_INPUT: "The input can't be worked on.",
    _K.CODE_CHANGED: "A saved step was asked for with another input than it was saved with.",
    _K.CHILD_FAILED: "A task that this one has started has failed.",
    _K.CONTEXT_LENGTH: "The text is too long for the model.",
    _K.AUTH: "A service that the task needs refuses our key; an operator has to mend that.",
    _K.CONFIG: "A model that the task needs is not there; an operator has to mend that.",
    _K.QUOTA: "What a provider lends us is used up; the task goes on when there is more.",
    _K.BUDGET: "The budget is used up; the task goes on when there is more.",
    _K.BAD_OUTPUT: "A model's answers were not what was asked for.",
    _K.UNKNOWN_OUTCOME: (
        "Nobody knows how a paid call ended, and it is not paid for once more by itself."
    ),
    _K.BUG: "The task failed by a fault in its code.",
}
"""What the user reads where the handler says nothing."""

_BY_NAME: Final = {kind.value: kind for kind in _SENTENCES}
"""The kinds that a failed call may have; what only the engine can see is none of them."""


def classify(error: BaseException) -> Failure:
    """The failure that an exception from a handler means.

    Our own kinds, and our own complaints of what a handler asked for (a limit, a type, a lane, an
    input that is not there or does not fit), show their message to the user. Any other text may
    hold secrets or internals: of a BUG the user reads only the exception's class, of a time-out
    only that it was one; the operator reads the trace.
    """
    error = _first(error)
    trace = "".join(traceback.format_exception(error))
    kind = _kind(error)
    after = getattr(error, "retry_after", None) if isinstance(error, _PATIENT) else None
    return Failure(kind, _message(kind, error), trace, after)


def _kind(error: BaseException) -> FailureKind:
    if isinstance(error, errors.CallFailed):
        return _BY_NAME.get(error.kind, _K.BUG)
    return next((kind for cls, kind in _BY_ERROR if isinstance(error, cls)), _K.BUG)


def _message(kind: FailureKind, error: BaseException) -> str:
    if isinstance(error, _SPOKEN):
        return _text(error) or _SENTENCES[kind]
    if kind is _K.BUG:
        name = type(error).__name__
        return f"The task failed by a fault in its code ({name}). Please report it."
    return _SENTENCES[kind]


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # a class of the user's whose text can't be made
        return ""


def _first(error: BaseException) -> BaseException:
    # A task group wraps what its members raised; the first one is the cause.
    for _ in range(16):
        if not isinstance(error, BaseExceptionGroup):
            break
        error = error.exceptions[0]
    return error
