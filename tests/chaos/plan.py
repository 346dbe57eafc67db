"""What one life of an engine process has before it; travels as JSON on the command line."""

import json
from dataclasses import asdict, dataclass
from typing import Self

from chaos.faults import Fault
from stagepost.part import EVERYTHING


@dataclass(frozen=True)
class Plan:
    """`breaks` names what is broken on purpose: early-answer, no-sync, no-fence, forgetful,
    forgetful-calls, early-end.
    """

    data: str
    power: str
    store: str = ""
    """The address of a store that outlives the process; none: SQLite in the data folder."""
    models: str = ""
    """The models.toml; none: it asks no models."""
    parts: tuple[str, ...] = tuple(sorted(EVERYTHING))
    faults: tuple[Fault, ...] = ()
    breaks: tuple[str, ...] = ()
    concurrency: int = 6
    lease: float = 1.0
    deaf_for: float = 0.0
    """Seconds for which the heartbeats of the worker are not taken."""
    stand_in: bool = False
    """Whether a second worker in the same process takes over from it."""

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Self:
        given = json.loads(text)
        given["faults"] = tuple(Fault(**fault) for fault in given["faults"])
        for name in ("breaks", "parts"):
            given[name] = tuple(given[name])
        return cls(**given)
