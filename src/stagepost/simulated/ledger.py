"""The provider's own ledger: it judges a run. What was asked, billed and refused, and how often.

Totals are exact; of the single calls, and of the keys that are watched for a second bill, the
newest are kept (`forgotten` says how many are not any more).
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

KEPT_CALLS: Final = 100_000
KEPT_KEYS: Final = 1_000_000


@dataclass(slots=True)
class Record:
    """One request.

    `state` is open, billed, refused, or lost where the provider itself died before its end. `why`
    names the limit or the fault. Instants are in milliseconds since 1970-01-01 UTC; money is in US
    dollars.
    """

    call: int
    at: int
    path: str
    model: str
    key: str | None
    digest: str
    state: str = "open"
    status: int | None = None
    why: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    ended: int | None = None
    delivered: bool | None = None
    """Whether the whole answer went out; a client may still not have read it."""

    def told(self) -> Mapping[str, Any]:
        """As JSON."""
        return {
            "call": self.call, "at": self.at, "path": self.path, "model": self.model,
            "key": self.key, "digest": self.digest, "state": self.state, "status": self.status,
            "why": self.why, "inputTokens": self.input_tokens, "outputTokens": self.output_tokens,
            "dollars": self.dollars, "ended": self.ended, "delivered": self.delivered,
        }  # fmt: skip


@dataclass(slots=True)
class Tally:
    """How often each key came; the oldest keys are forgotten when there are too many."""

    most: int = KEPT_KEYS
    forgotten: int = 0
    repeated: int = 0
    """Keys that came more than once."""
    excess: int = 0
    """Times that they came beyond the first."""
    _times: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def add(self, key: str) -> None:
        """It came once more."""
        times = self._times.pop(key, 0) + 1
        self._times[key] = times
        if times > 1:
            self.excess += 1
            self.repeated += times == 2
        if len(self._times) > self.most:
            self._times.popitem(last=False)
            self.forgotten += 1

    def told(self) -> Mapping[str, int]:
        """As JSON."""
        return {"keys": self.repeated, "excess": self.excess, "forgotten": self.forgotten}

    def often(self, most: int) -> Mapping[str, int]:
        """Keys that came more than once, and how often; some of them where there are many."""
        found: dict[str, int] = {}
        for key, times in self._times.items():
            if times > 1:
                found[key] = times
                if len(found) >= most:
                    break
        return found


@dataclass(slots=True)
class Ledger:
    """All that a provider has done."""

    received: int = 0
    billed: int = 0
    lost: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    refused: Counter[str] = field(default_factory=Counter)
    """By status and reason, such as `429 tokens`."""
    faults: Counter[str] = field(default_factory=Counter)
    open: int = 0
    """Received, and neither billed nor refused as yet."""
    flying: int = 0
    """Admitted, and being answered."""
    peak: int = 0
    """Most calls that were being answered at once."""
    by_key: Tally = field(default_factory=Tally)
    by_content: Tally = field(default_factory=Tally)
    _calls: deque[Record] = field(default_factory=lambda: deque(maxlen=KEPT_CALLS))

    def receive(self, record: Record) -> None:
        """A request has come."""
        self.received += 1
        self.open += 1
        self._calls.append(record)

    def begin(self) -> None:
        """One more is being answered."""
        self.flying += 1
        self.peak = max(self.peak, self.flying)

    def end(self) -> None:
        """One less is being answered."""
        self.flying -= 1

    def bill(self, record: Record, tokens: tuple[int, int], dollars: float, *, at: int) -> None:
        """The model has worked for it: tokens of input and output, and what they cost."""
        record.state, record.ended, record.dollars = "billed", at, dollars
        record.input_tokens, record.output_tokens = tokens
        self.open -= 1
        self.billed += 1
        self.input_tokens += tokens[0]
        self.output_tokens += tokens[1]
        self.dollars += dollars
        if record.key is not None:
            self.by_key.add(record.key)
        self.by_content.add(record.digest)

    def refuse(self, record: Record, status: int | None, why: str, *, at: int) -> None:
        """Nothing was done for it; without a status it had not even an answer."""
        record.state, record.status, record.why, record.ended = "refused", status, why, at
        self.open -= 1
        self.refused[f"{status or 'no answer'} {why}"] += 1

    def lose(self, record: Record) -> None:
        """The provider died before it knew how this ends."""
        record.state = "lost"
        self.open -= 1
        self.lost += 1

    def calls(self, after: int, most: int) -> Sequence[Record]:
        """Requests behind a number, oldest first."""
        found = []
        for record in self._calls:
            if record.call > after:
                found.append(record)
                if len(found) >= most:
                    break
        return found

    def totals(self) -> Mapping[str, Any]:
        """As JSON."""
        return {
            "received": self.received,
            "open": self.open,
            "lost": self.lost,
            "billed": {
                "calls": self.billed, "inputTokens": self.input_tokens,
                "outputTokens": self.output_tokens, "dollars": round(self.dollars, 9),
            },
            "refused": dict(self.refused),
            "faults": dict(self.faults),
            "concurrency": {"now": self.flying, "peak": self.peak},
            "billedTwice": {"byKey": self.by_key.told(), "byContent": self.by_content.told()},
        }  # fmt: skip
