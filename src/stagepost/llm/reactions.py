"""What follows when a call to a model has failed: one table, a row for each kind. Pure.

`Course` tries by it, the breaker opens by it, and docs/model-failures.md is printed from it
(`scripts/failure_table.py`). How an answer gets its kind is in `refusal.py`; what follows when the
attempt has failed, too, is in `stagepost.failure`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from stagepost.failure import FailureKind

_K = FailureKind

MOST_SENT: Final = 12
"""Calls that are sent for one call of a handler.

What earlier claims have sent counts, too, unless it was refused and cost nothing: so it ends also
where each worker dies amid it.
"""


class Patience(NamedTuple):
    """How one kind of failure is met: waits from `first` to `most` seconds, `tries` in all."""

    first: float
    most: float
    tries: int
    another_after: int
    """Failures after which the next model of the chain is asked, if there is one."""


class Breaks(StrEnum):
    """When a kind of failure opens the model's breaker."""

    NEVER = "never"
    IN_A_ROW = "after some in a row"
    AT_ONCE = "at once"


class Reaction(NamedTuple):
    """One row. `seen` is for people: what such a failure looks like.

    Without `patience` it is not sent again to the same model. `elsewhere`: only a person, money or
    another provider can help. `larger`: a model of the chain that holds more is asked, once.
    """

    seen: str
    patience: Patience | None = None
    elsewhere: bool = False
    larger: bool = False
    breaks: Breaks = Breaks.NEVER


REACTIONS: Final[Mapping[FailureKind, Reaction]] = {
    _K.RATE_LIMIT: Reaction(
        "429 and the words for it; the whole fleet pauses for that model",
        Patience(1.0, 60.0, MOST_SENT, MOST_SENT),
    ),
    _K.OVERLOADED: Reaction(
        "503, 529, `overloaded_error` and its like; a finish reason that says so",
        Patience(2.0, 60.0, 6, 2),
        breaks=Breaks.IN_A_ROW,
    ),
    _K.SERVER_ERROR: Reaction(
        "any other 5xx; an error that nobody knows",
        Patience(0.5, 30.0, 4, 4),
        breaks=Breaks.IN_A_ROW,
    ),
    _K.TIMEOUT: Reaction(
        "no connection, no first token, silence, keep-alives without end, a stream that ends "
        "without a finish reason; maybe billed",
        Patience(1.0, 30.0, 3, 3),
        breaks=Breaks.IN_A_ROW,
    ),
    _K.CONTENT_POLICY: Reaction(
        "a content filter, as an error or as the answer's finish reason; a refusal"
    ),
    _K.INVALID_INPUT: Reaction("any other 4xx"),
    _K.CONTEXT_LENGTH: Reaction("413 and the words for a text that is too long", larger=True),
    _K.AUTH: Reaction("401, 403", elsewhere=True, breaks=Breaks.AT_ONCE),
    _K.CONFIG: Reaction(
        "404; a redirect; a model that is not lent at all; a key or an SDK that is not there",
        elsewhere=True,
        breaks=Breaks.AT_ONCE,
    ),
    _K.QUOTA: Reaction(
        "402 and the words for money, or a day's share, that is used up",
        elsewhere=True,
        breaks=Breaks.AT_ONCE,
    ),
}
"""What a provider can cause. BUDGET and BAD_OUTPUT are ours: no provider says them."""

PATIENCE: Final[Mapping[FailureKind, Patience]] = {
    kind: row.patience for kind, row in REACTIONS.items() if row.patience is not None
}

ELSEWHERE: Final = frozenset(kind for kind, row in REACTIONS.items() if row.elsewhere)
"""Nothing that time heals here, but another provider may have it."""


def breaks(kind: FailureKind) -> Breaks:
    """When this kind opens a breaker."""
    return REACTIONS[kind].breaks if kind in REACTIONS else Breaks.NEVER
