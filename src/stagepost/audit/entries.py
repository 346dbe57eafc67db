"""Which facts about a call are sealed, and what of its row each of them fixes."""

from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Final, NamedTuple

import orjson

from stagepost.calls import CallState

Scalar = str | int | bool | None


class Fact(StrEnum):
    """What became true of a call, in the order in which it can.

    A call is sealed when it has ended, and before that if it was counted as UNKNOWN; once more when
    its RESULT is REJECTED; and at last when it has GONE with its task's tombstone.
    """

    UNKNOWN = "UNKNOWN"
    RESULT = "RESULT"
    REJECTED = "REJECTED"
    REFUSED = "REFUSED"
    GONE = "GONE"


RANK: Final = {fact: rank for rank, fact in enumerate(Fact)}

BEGUN: Final = (
    "id", "tenant", "user", "task_id", "type", "path", "request_hash", "n", "provider", "model",
    "attempt", "fence", "will_input", "will_output", "will_cost", "request_sha256", "request_size",
    "started_at",
)  # fmt: skip
"""Columns that are as they are from the intent on."""

ENDED: Final = (
    "input", "cached", "output", "reasoning", "cost", "took", "first_token", "provider_id",
    "maybe_billed", "late", "redacted", "answer_sha256", "answer_size", "ended_at",
)  # fmt: skip
"""Columns that are as they are from the end on.

The message is in neither: it goes when the task is erased. So are the marks of redrives.
"""

MISSING: Final = "missing"
"""The digest of an entry whose row had vanished before it could be sealed."""

_STATES: Final = {
    Fact.UNKNOWN: frozenset(CallState),
    Fact.RESULT: frozenset({CallState.RESULT, CallState.REJECTED}),
    Fact.REJECTED: frozenset({CallState.REJECTED}),
    Fact.REFUSED: frozenset({CallState.REFUSED}),
}


class CallRow(NamedTuple):
    """A call's columns as they stand in the store: those of BEGUN, the state, those of ENDED."""

    begun: tuple[Scalar, ...]
    state: CallState
    ended: tuple[Scalar, ...]
    kind: str | None


class Entry(NamedTuple):
    """A fact about a call, and the hash of what it fixes."""

    call_id: str
    fact: Fact
    digest: str


def in_order(waiting: Sequence[tuple[str, Fact]]) -> list[tuple[str, Fact]]:
    """The order within a seal: by the calls' ids, each call's facts as they came."""
    return sorted(waiting, key=lambda each: (each[0], RANK[each[1]]))


def entry_of(call_id: str, fact: Fact, row: CallRow | None) -> Entry:
    """The entry of a fact, from the row as it is now."""
    if fact is Fact.GONE:
        return Entry(call_id, fact, _hash([call_id]))
    return Entry(call_id, fact, MISSING if row is None else digest_of(fact, row))


def digest_of(fact: Fact, row: CallRow) -> str:
    """The hash of what a fact fixes: SHA-256 of a JSON array, in hexadecimal.

    The array has no spaces and is UTF-8: the word "stagepost call 1", the fact, then the columns
    of BEGUN; for an end also those of ENDED; for an end without an accepted answer also its kind.
    """
    ended = () if fact is Fact.UNKNOWN else row.ended
    # A RESULT has no kind of failure, and gets one when it is rejected.
    kind = (row.kind,) if fact in {Fact.REJECTED, Fact.REFUSED} else ()
    return _hash(["stagepost call 1", fact.value, *row.begun, *ended, *kind])


def allows(fact: Fact, state: CallState) -> bool:
    """Whether a call of which this is true may be in this state now."""
    return fact is not Fact.GONE and state in _STATES[fact]


def _hash(parts: Sequence[Scalar]) -> str:
    return sha256(orjson.dumps(parts)).hexdigest()
