"""What /metrics tells of calls to models.

Models are those that models.toml names; one that a handler names in full is `other`, and so is the
type of a task that is not registered.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry

from stagepost.calls import CallEnd, CallState, NewCall
from stagepost.llm.breaker import State
from stagepost.web.metric_row import Maker, Row

_MICRO: Final = 1_000_000
_OTHER: Final = "other"
_STATES: Final = {State.CLOSED: "closed", State.OPEN: "open", State.HALF_OPEN: "half-open"}
_SECONDS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600)

TABLE: Final[Mapping[str, Row]] = {
    "stagepost_calls_total": Row(
        "counter", ("type", "model", "state"), "How often a call of the type came into the state."
    ),
    "stagepost_call_seconds": Row(
        "histogram", ("type", "model"), "Time from the sending of a call to its end."
    ),
    "stagepost_call_tokens_total": Row(
        "counter",
        ("type", "model", "direction"),
        "Tokens that calls have used, as the ledger counts them.",
    ),
    "stagepost_call_cost_dollars_total": Row(
        "counter", ("type", "model"), "What calls have cost in US dollars, as the ledger counts it."
    ),
    "stagepost_call_wait_seconds": Row(
        "histogram",
        ("model",),
        "How long a call waited for its model's limits, with or without a worker.",
    ),
    "stagepost_calls_unknown_total": Row(
        "gauge", ("type",), "Calls in the ledger of which nobody knows how they ended."
    ),
    "stagepost_call_breaker": Row(
        "gauge", ("model", "state"), "1 for the state of the model's breaker in this process."
    ),
}


class CallMetrics:
    """The process's own counts of calls (see llm.watching.Watcher), and gauges for a scrape."""

    def __init__(
        self, registry: CollectorRegistry, types: Iterable[str], models: Iterable[str]
    ) -> None:
        make = Maker(TABLE, registry)
        self._types = frozenset(types)
        self._models = frozenset(models)
        self._calls = make.counter("stagepost_calls_total")
        self._seconds = make.histogram("stagepost_call_seconds", _SECONDS)
        self._tokens = make.counter("stagepost_call_tokens_total")
        self._cost = make.counter("stagepost_call_cost_dollars_total")
        self._waits = make.histogram("stagepost_call_wait_seconds", _SECONDS)
        self._unknown = make.gauge("stagepost_calls_unknown_total")
        self._breakers = make.gauge("stagepost_call_breaker")

    def waited(self, model: str, seconds: float) -> None:
        """A call has waited, or has to; a wait for ever is none that could be summed up."""
        if math.isfinite(seconds):
            self._waits.labels(self._model(model)).observe(seconds)

    def sent(self, type_name: str, model: str) -> None:
        """A call goes out."""
        self._came(type_name, model, CallState.INTENT)

    def ended(self, type_name: str, call: NewCall, end: CallEnd) -> None:
        """A call has ended: what the provider did not tell counts by the estimate."""
        model = f"{call.provider}/{call.model}"
        self._came(type_name, model, end.state)
        labels = self._type(type_name), self._model(model)
        self._seconds.labels(*labels).observe(end.took / 1_000)
        counted = [
            estimate if told is None else told
            for told, estimate in zip(end.counted, call.estimate, strict=True)
        ]
        self._tokens.labels(*labels, "input").inc(counted[0])
        self._tokens.labels(*labels, "output").inc(counted[1])
        self._cost.labels(*labels).inc(counted[2] / _MICRO)

    def rejected(self, type_name: str, model: str) -> None:
        """An answer turns out not to be usable."""
        self._came(type_name, model, CallState.REJECTED)

    def unknown(self, counts: Mapping[str, int]) -> None:
        """Fill in how many calls of each type are UNKNOWN."""
        sums = dict.fromkeys((*self._types, _OTHER), 0)
        for type_name, count in counts.items():
            sums[self._type(type_name)] += count
        for type_name, count in sums.items():
            self._unknown.labels(type_name).set(count)

    def breakers(self, states: Collection[tuple[str, State]]) -> None:
        """Fill in how the breakers stand; one that was never used is closed."""
        used = {name: state for name, state in states if name in self._models}
        for model in self._models:
            now = used.get(model, State.CLOSED)
            for state, word in _STATES.items():
                self._breakers.labels(model, word).set(state is now)

    def _came(self, type_name: str, model: str, state: CallState) -> None:
        self._calls.labels(self._type(type_name), self._model(model), state.value).inc()

    def _type(self, name: str) -> str:
        return name if name in self._types else _OTHER

    def _model(self, name: str) -> str:
        return name if name in self._models else _OTHER
