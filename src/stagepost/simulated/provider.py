"""What a simulated provider is like: all its settings, as one value."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stagepost.simulated.answers import AnswerFunction
from stagepost.simulated.faults import check_rates
from stagepost.simulated.lending import Lending
from stagepost.simulated.script import Step
from stagepost.simulated.shapes import RetryAfter
from stagepost.simulated.timing import Timing

MODELS: Final = ("sim-large", "sim-small", "sim-embedding")
_NAME: Final = re.compile(r"[^\s\"'\\\x00-\x1f\x7f]{1,200}")
_FASTEST: Final = 1_000.0


@dataclass(frozen=True, slots=True)
class SimulatedProvider:
    """Settings. Raises ValueError for those that make no sense.

    `speed` shortens the provider's minute, its times and the waits that it asks for. `length` is
    how many tokens a plain answer has, about. `context` is how many tokens fit with the answer.
    `price` is in US dollars a million tokens, input and output. `headers`: whether it tells what is
    left. `retry_after` is how it tells waits; left out, both headers, and the one with milliseconds
    alone where `speed` makes a second too coarse. `ledger` is the file that outlives the process.
    `answer` may give an answer of your own. `api_key`, if given, must be sent. `batch_seconds` is
    how long a batch takes, in seconds of the provider.
    """

    lending: Lending = field(default_factory=Lending)
    timing: Timing = field(default_factory=Timing)
    speed: float = 1.0
    seed: int = 0
    models: Sequence[str] = MODELS
    length: int = 60
    context: int = 128_000
    price: tuple[float, float] = (2.5, 10.0)
    faults: Mapping[str, float] = field(default_factory=dict)
    script: Sequence[Step] = ()
    headers: bool = True
    retry_after: RetryAfter | None = None
    ledger: Path | None = None
    answer: AnswerFunction | None = None
    api_key: str | None = None
    batch_seconds: float = 60.0

    def __post_init__(self) -> None:
        """Check what their types do not."""
        if not (math.isfinite(self.speed) and 0 < self.speed <= _FASTEST):
            raise ValueError(f"speed is {self.speed}; give a number above 0, at most 1000.")
        if not self.models or len(self.models) > 100:
            raise ValueError("A provider has from 1 to 100 models.")
        for name in self.models:
            if not _NAME.fullmatch(name):
                raise ValueError(f'"{name}" is no name of a model: no spaces, quotes, backslashes.')
        if not 1 <= self.length <= 100_000:
            raise ValueError(f"length is {self.length}; give tokens from 1 to 100000.")
        if not 1 <= self.context <= 100_000_000:
            raise ValueError(f"context is {self.context}; give tokens from 1 to 100000000.")
        if min(self.price) < 0 or not 0 <= self.batch_seconds <= 86_400:
            raise ValueError("Prices are not below 0, and batch_seconds from 0 to 86400.")
        check_rates(self.faults)

    @property
    def tells_waits(self) -> RetryAfter:
        """How it tells waits."""
        return self.retry_after or ("both" if self.speed == 1 else "ms")
