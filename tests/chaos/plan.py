"""What one life of an engine process has before it; travels as JSON on the command line."""

import json
from dataclasses import asdict, dataclass
from typing import Self

from chaos.faults import Fault


@dataclass(frozen=True)
class Plan:
    """`breaks` names guarantees that are broken on purpose: early-answer, no-sync, no-fence."""

    data: str
    power: str
    faults: tuple[Fault, ...] = ()
    breaks: tuple[str, ...] = ()
    concurrency: int = 6
    deaf_for: float = 0.0
    """Seconds for which the heartbeats of the worker are not taken, and a second one takes over."""

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Self:
        given = json.loads(text)
        given["faults"] = tuple(Fault(**fault) for fault in given["faults"])
        given["breaks"] = tuple(given["breaks"])
        return cls(**given)
