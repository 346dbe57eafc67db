"""What the provider lends to whom: one quota for each model and key, changed while it runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from stagepost.simulated.quota import MINUTE, Charge, Kind, Meter, Quota
from stagepost.simulated.shares import Shares

MOST_KEYS: Final = 1_000
"""Pairs of a model and a key that have a quota."""

Units = Annotated[int, Field(ge=1, le=1_000_000_000)]


@dataclass(frozen=True, slots=True)
class Lending:
    """A minute's worth of one model for one key; what is None is not limited.

    `burst` is how many minutes' worth a bucket holds. With `counts_refused` each refusal uses up a
    request, where one is left, as OpenAI has it: who asks again and again gets nothing.
    """

    requests: int | None = None
    tokens: int | None = None
    concurrency: int | None = None
    kind: Kind = Kind.BUCKET
    charge: Charge = "reserved"
    burst: float = 1.0
    counts_refused: bool = False

    def __post_init__(self) -> None:
        """Refuse what lends nothing. Raises ValueError."""
        for name in ("requests", "tokens", "concurrency"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= 1_000_000_000:
                raise ValueError(f"{name} is {value}; give a number from 1 to 1000000000, or none.")
        if not 0 < self.burst <= 60:
            raise ValueError(f"burst is {self.burst}; give minutes above 0, at most 60.")


class Change(BaseModel):
    """New limits from now on, of one model or of all; what is left out stays as it is."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    requests: Units | None = None
    tokens: Units | None = None
    concurrency: Units | None = None
    model: Annotated[str, Field(max_length=200)] | None = None

    def applied(self, lending: Lending) -> Lending:
        """The limits as they are then."""
        return replace(
            lending,
            requests=self.requests or lending.requests,
            tokens=self.tokens or lending.tokens,
            concurrency=self.concurrency or lending.concurrency,
        )


@dataclass(slots=True)
class Lent:
    """One quota, and how well it was used."""

    quota: Quota
    requests: Shares
    tokens: Shares


@dataclass(slots=True)
class Book:
    """All quotas. Instants are in seconds of one clock that only rises."""

    lending: Lending
    speed: float
    _of_model: dict[str, Lending] = field(default_factory=dict, init=False)
    _lent: dict[tuple[str, str], Lent] = field(default_factory=dict, init=False)

    @property
    def minute(self) -> float:
        """How long a minute of the provider takes, in seconds."""
        return MINUTE / self.speed

    def of(self, model: str, credential: str, now: float) -> Lent | None:
        """The quota of a model for a key; None where there are too many."""
        found = self._lent.get((model, credential))
        if found is not None or len(self._lent) >= MOST_KEYS:
            return found
        found = self._open(self._of_model.get(model, self.lending), now)
        self._lent[model, credential] = found
        return found

    def change(self, change: Change, now: float) -> None:
        """Lend more or less from now on."""
        if change.model is None:
            self.lending = change.applied(self.lending)
            self._of_model = {
                model: change.applied(lending) for model, lending in self._of_model.items()
            }
        else:
            before = self._of_model.get(change.model, self.lending)
            self._of_model[change.model] = change.applied(before)
        for (model, _), lent in self._lent.items():
            if change.model in {None, model}:
                self._alter(lent, self._of_model.get(model, self.lending), now)

    def shares(self, now: float) -> Iterator[Mapping[str, object]]:
        """How well each quota was used, minute by minute."""
        for (model, credential), lent in self._lent.items():
            yield {
                "model": model,
                "credential": credential,
                "requests": lent.requests.told(now),
                "tokens": lent.tokens.told(now),
            }

    def _open(self, lending: Lending, now: float) -> Lent:
        quota = Quota(
            self._meter(lending.requests, lending),
            self._meter(lending.tokens, lending),
            lending.concurrency,
            lending.charge,
            lending.counts_refused,
        )
        # A window's minutes are those of the clock; a bucket's begin with its first call.
        window = lending.kind is Kind.WINDOW
        begun = now // self.minute * self.minute if window else now
        return Lent(
            quota,
            Shares(self.minute, begun, lending.requests, window),
            Shares(self.minute, begun, lending.tokens, window),
        )

    def _meter(self, units: int | None, lending: Lending) -> Meter | None:
        if units is None:
            return None
        return Meter(units, lending.kind, self.minute, lending.burst)

    def _alter(self, lent: Lent, lending: Lending, now: float) -> None:
        quota = lent.quota
        quota.requests = self._altered(quota.requests, lending.requests, lending, now)
        quota.tokens = self._altered(quota.tokens, lending.tokens, lending, now)
        quota.concurrency = lending.concurrency
        lent.requests.change(lending.requests, now)
        lent.tokens.change(lending.tokens, now)

    def _altered(
        self, meter: Meter | None, units: int | None, lending: Lending, now: float
    ) -> Meter | None:
        if meter is None or units is None:
            return self._meter(units, lending)
        meter.change(units, now)
        return meter
