"""Calls to models and what they cost, as they go over the wire.

Money is US dollars as decimal numbers, times are seconds, sizes are bytes.
"""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

CallStateName = Literal["INTENT", "RESULT", "REJECTED", "REFUSED", "UNKNOWN"]


class CallUsage(TypedDict):
    """Tokens as the provider told them; null for what it did not."""

    input: int | None
    cached: int | None
    output: int | None
    reasoning: int | None


class CallEstimate(TypedDict):
    """What the call could take at most, as it was reserved."""

    input: int
    output: int
    cost: float


class KeptText(TypedDict):
    """A request or an answer as it is kept; its hash stays when its task is erased."""

    sha256: str
    bytes: int | None


class CallItem(TypedDict):
    """One call to a model, without what was said in it.

    `step` is the path of the step that it stands in ("" for the handler itself), `n` counts the
    same request there from 0. `cost` is what counts: as it was told, else by the estimate.
    `message` is there for whoever may operate.
    """

    callId: str
    step: str
    n: int
    provider: str
    model: str
    attempt: int
    state: CallStateName
    usage: CallUsage
    estimate: CallEstimate
    cost: float
    tookSeconds: float | None
    firstTokenSeconds: float | None
    startedAt: str
    endedAt: str | None
    failureKind: str | None
    message: NotRequired[str]
    maybeBilled: bool
    late: bool
    dropped: bool
    redacted: bool
    providerRequestId: str | None
    requestHash: str
    request: KeptText
    answer: KeptText | None


class WholeCall(CallItem):
    """One call with what was sent and what came back; null for what is not kept (any more)."""

    requestBody: Any
    answerBody: Any


class Spending(TypedDict):
    """A sum over calls that have ended, or of which nobody knows how they ended (`unknown`).

    `rejected`, `refused` and `unknown` are those of the calls that brought nothing. What is unknown
    counts by its estimate: `unknownCost` of the `cost` is such.
    """

    calls: int
    rejected: int
    refused: int
    unknown: int
    inputTokens: int
    cachedTokens: int
    outputTokens: int
    reasoningTokens: int
    cost: float
    unknownCost: float


class UsageSums(Spending):
    """What was spent on one day, by one tenant, and so on; null for what it is not summed up by."""

    day: str | None
    tenant: str | None
    user: str | None
    type: str | None
    provider: str | None
    model: str | None


UsageReport = TypedDict(
    "UsageReport",
    {
        "from": str,
        "to": str,
        "total": Spending,
        "items": list[UsageSums],
        "next": None,
        "complete": bool,
    },
)
"""What was spent from one day to another, both of them in.

`complete` is false where there are more sums than the answer has; `next` is always null.
"""
