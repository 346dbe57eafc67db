"""A simulated provider that runs: what a test holds in its hand."""

from collections.abc import Mapping
from typing import Any

from stagepost.clock import Clock
from stagepost.simulated.batches import Batches
from stagepost.simulated.calls import Calls
from stagepost.simulated.faults import check_rates
from stagepost.simulated.files import Files
from stagepost.simulated.judge import Judge
from stagepost.simulated.ledger import Ledger
from stagepost.simulated.lending import Book, Change
from stagepost.simulated.provider import SimulatedProvider
from stagepost.simulated.script import Script, Step


class Simulation:
    """Its ledger, its script and its limits; `url` is empty until it is served."""

    def __init__(self, provider: SimulatedProvider, clock: Clock) -> None:
        self.provider = provider
        self.url = ""
        self.script = Script(provider.script)
        self.judge = Judge(clock, provider.price, provider.ledger)
        self._clock = clock
        self._begun = clock.monotonic()
        self._book = Book(provider.lending, provider.speed)
        self.calls = Calls(
            provider, self.judge, clock, self._book, self.script, dict(provider.faults)
        )

        self.batches = Batches(Files(clock), clock)

    @property
    def base_url(self) -> str:
        """What a client of OpenAI's takes as base_url; Anthropic's takes `url`."""
        return f"{self.url}/v1"

    @property
    def ledger(self) -> Ledger:
        """What it has done."""
        return self.judge.ledger

    @property
    def faults(self) -> Mapping[str, float]:
        """The share of the calls that each fault takes."""
        return self.calls.faults

    def then(self, *steps: Step) -> None:
        """Let this happen to the next calls, behind what was to happen before."""
        self.script.add(steps)

    def change(self, change: Change) -> None:
        """Lend more or less from now on."""
        self._book.change(change, self._clock.monotonic())

    def set_faults(self, rates: Mapping[str, float]) -> None:
        """Other rates from now on. Raises ValueError."""
        check_rates(rates)
        self.calls.faults = dict(rates)

    def summary(self) -> Mapping[str, Any]:
        """What it has done, in totals and by minute of the provider, as JSON."""
        now = self._clock.monotonic()
        lending = self._book.lending
        return {
            **self.ledger.totals(),
            "minutes": round((now - self._begun) / self._book.minute, 3),
            "limits": {
                "requests": lending.requests,
                "tokens": lending.tokens,
                "concurrency": lending.concurrency,
                "kind": lending.kind.value,
                "charge": lending.charge,
                "speed": self.provider.speed,
            },
            "used": list(self._book.shares(now)),
        }
