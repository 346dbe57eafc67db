"""Calls: what is paid for at a provider's, as the ledger keeps it. Pure data.

A call is written as an *intent* before it is sent, and gets its *end* before its answer is used:

    INTENT -> RESULT      the answer was accepted: a replay returns it, and nothing is sent
    INTENT -> REJECTED    the answer can't be used: it is spent and kept, and never replayed
    INTENT -> REFUSED     there is no answer: the provider, or the way to it, has failed
    INTENT -> UNKNOWN     the claim that sent it is over, and nobody has told how it ended

A call is UNKNOWN from the instant at which its claim is over, without anybody writing that down;
an end that comes later still ends it, and is *late*. What is unknown counts as spent, by its
estimate; so does what a provider does not tell of a call that it may have charged for.

Money is in micro-dollars (a million of them are a US dollar), tokens and money are integers,
instants and durations are milliseconds.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from stagepost.errors import Unwritable
from stagepost.failure import FailureKind

INLINE_MOST: Final = 16 * 1024
"""Bytes of a request or an answer that stand in the ledger itself; a larger one is a blob."""

NAME_MOST: Final = 255
"""Characters of a provider's or a model's name, and of the id that a provider gives a request."""

HASH_MOST: Final = 128
PATH_MOST: Final = 16 * 1024
MESSAGE_MOST: Final = 2_000
_NUMBER_MOST: Final = 2**53
_ID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

PAGE_MOST: Final = 1_000
"""Rows that are read at once, whatever is asked for."""


class CallState(StrEnum):
    """Where a call stands."""

    INTENT = "INTENT"
    RESULT = "RESULT"
    REJECTED = "REJECTED"
    REFUSED = "REFUSED"
    UNKNOWN = "UNKNOWN"


class Usage(NamedTuple):
    """Tokens, as a provider has told them; None for what it has not.

    `cached` are those of the input that it had read before, `reasoning` those of the output that
    are no part of the answer.
    """

    input: int | None = None
    cached: int | None = None
    output: int | None = None
    reasoning: int | None = None


UNTOLD: Final = Usage()


class Estimate(NamedTuple):
    """What a call will take at most: tokens in and out, and what they cost."""

    input: int = 0
    output: int = 0
    cost: int = 0


class Body(NamedTuple):
    """A request or an answer as it is kept: its text, or the blob that holds it where it is large.

    `sha256` is that of what is kept, in hexadecimal, and `size` its bytes, both before it is
    encrypted. `redacted` says that it is not word for word what was sent.
    """

    sha256: str
    size: int
    text: str | None = None
    blob: str | None = None
    redacted: bool = False


class CallKey(NamedTuple):
    """What a replay asks for: the n-th call, from 0, of a step with a request of this hash."""

    path: str
    request_hash: str
    n: int


@dataclass(frozen=True, slots=True)
class NewCall:
    """A call that is about to be sent; `id` is a UUIDv7 of its own. Raises Unwritable."""

    id: str
    key: CallKey
    provider: str
    model: str
    estimate: Estimate
    request: Body

    def __post_init__(self) -> None:
        """Check that it is within its bounds."""
        if not _ID.fullmatch(self.id):
            raise Unwritable("A call's id is a UUID in lower case, with dashes.")
        _check_body("request", self.request)
        _check_text("step path", self.key.path, PATH_MOST)
        _check_text("request hash", self.key.request_hash, HASH_MOST)
        _check_text("provider", self.provider, NAME_MOST)
        _check_text("model", self.model, NAME_MOST)
        _check_numbers({"n": self.key.n, **_named("estimated", self.estimate)})


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended: RESULT, REJECTED or REFUSED. Raises Unwritable.

    `cost` is None where it is not known: then the estimate counts, but for a call that was REFUSED
    and not `maybe_billed`, which counts as nothing. So it is with what `usage` leaves out. `took`
    is the time until the whole answer, `first_token` until its first piece. `kind` and `message`
    say why it was refused or rejected; the message is for operators.
    """

    state: CallState
    answer: Body | None = None
    usage: Usage = UNTOLD
    cost: int | None = None
    took: int = 0
    first_token: int | None = None
    provider_id: str | None = None
    kind: FailureKind | None = None
    message: str = ""
    maybe_billed: bool = False

    def __post_init__(self) -> None:
        """Check that it is within its bounds, and cut what is only for people."""
        if self.state not in ENDS:
            raise Unwritable(f"A call ends as RESULT, REJECTED or REFUSED, not as {self.state}.")
        if self.state is CallState.RESULT and self.answer is None:
            raise Unwritable("A call whose answer is accepted has an answer.")
        if self.state is not CallState.RESULT and self.kind is None:
            raise Unwritable("A call without an accepted answer says why: give its kind.")
        if self.answer is not None:
            _check_body("answer", self.answer)
        numbers = {"cost": self.cost, "took": self.took, "first token": self.first_token}
        _check_numbers({**numbers, **_named("used", self.usage)})
        object.__setattr__(self, "message", storable(self.message)[:MESSAGE_MOST])
        if self.provider_id is not None:
            object.__setattr__(self, "provider_id", storable(self.provider_id)[:NAME_MOST])

    @property
    def free(self) -> bool:
        """Whether it cost nothing, as far as anybody knows."""
        return self.state is CallState.REFUSED and not self.maybe_billed

    @property
    def counted(self) -> tuple[int | None, int | None, int | None]:
        """Tokens in and out, and cost, as they count; None where the estimate counts."""
        told = (self.usage.input, self.usage.output, self.cost)
        return (told[0] or 0, told[1] or 0, told[2] or 0) if self.free else told


ENDS: Final = frozenset({CallState.RESULT, CallState.REJECTED, CallState.REFUSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One row of the ledger, without the texts of its request and answer.

    `cost` is what counts: as it was told, or else by the estimate. `late`: its end came after its
    claim was over. `dropped`: a redrive has decided that it is not replayed. `erased`: its task is
    gone, and of its request and answer only the hashes are left.
    """

    id: str
    tenant: str
    user: str
    task_id: str
    type: str
    key: CallKey
    provider: str
    model: str
    attempt: int
    fence: int
    state: CallState
    estimate: Estimate
    usage: Usage
    cost: int
    took: int | None
    first_token: int | None
    provider_id: str | None
    started_at: int
    ended_at: int | None
    kind: FailureKind | None
    message: str
    maybe_billed: bool
    late: bool
    dropped: bool
    request_sha256: str
    request_size: int
    answer_sha256: str | None
    answer_size: int | None
    redacted: bool
    erased: bool


class Answered(NamedTuple):
    """An accepted answer, as a replay needs it. `body` holds its text, or the blob with it."""

    call_id: str
    key: CallKey
    provider: str
    model: str
    usage: Usage
    cost: int
    body: Body
    late: bool
    ended_at: int


class Bodies(NamedTuple):
    """What was sent and what came back; None for what there is not, or not any more."""

    request: Body | None = None
    answer: Body | None = None


class Tally(NamedTuple):
    """The calls of one step since the task was submitted, or sent back by a person.

    `sent` counts all of them, `unknown` those of which nobody knows how they ended.
    """

    sent: int = 0
    unknown: int = 0


def replays(found: Iterable[Answered]) -> Mapping[CallKey, Answered]:
    """Which answer each key gets: always the one that an earlier replay has got.

    A claim sends a call only if it finds no answer, so at most one that is not late has its key,
    and its claim has used it. Of late ones the first that came is the one that was found.
    """
    kept: dict[CallKey, Answered] = {}
    for one in sorted(found, key=lambda each: (each.late, each.ended_at, each.call_id)):
        kept.setdefault(one.key, one)
    return kept


def lies_under(path: str, steps: frozenset[str]) -> bool:
    """Whether a call at this path belongs to one of the steps, or to a step inside one."""
    parts = path.split("/")
    return any("/".join(parts[:end]) in steps for end in range(1, len(parts) + 1))


def storable(text: str) -> str:
    """Text for people, without what some store can't keep."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _check_body(what: str, body: Body) -> None:
    if (body.text is None) == (body.blob is None):
        raise Unwritable(f"A call's {what} is kept either as text or as a blob.")
    if body.text is not None and len(body.text.encode("utf-8", "replace")) > INLINE_MOST:
        raise Unwritable(f"A call's {what} of more than 16 KiB is kept as a blob.")
    _check_text("content hash", body.sha256, HASH_MOST)
    _check_numbers({"size": body.size})


def _check_text(what: str, text: str, most: int) -> None:
    if len(text.encode("utf-8", "replace")) > most:
        raise Unwritable(f"A call's {what} has at most {most} bytes.")


def _named(prefix: str, numbers: Usage | Estimate) -> dict[str, int | None]:
    return {f"{prefix} {name}": value for name, value in numbers._asdict().items()}


def _check_numbers(numbers: Mapping[str, int | None]) -> None:
    for name, value in numbers.items():
        if value is not None and not 0 <= value <= _NUMBER_MOST:
            raise Unwritable(f"A call's {name} is a number from 0 to 2^53, not {value}.")
