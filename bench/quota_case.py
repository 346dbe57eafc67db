"""What a provider lends, and the calls that want more of it than that; all from the case alone.

Only the standard library, since the peers' callers read it in their own environment.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

SPEED = 10.0
"""How much shorter the provider's minute is."""

MINUTE = 60.0 / SPEED
"""And how long that takes, in seconds."""

MODEL = "sim-large"
ANSWER = 300
"""Tokens that an answer may have; it has half of them on average."""

OVERLOAD = 1.5
"""So many times what is lent is wanted."""

LOWERED = 0.5
"""What is left of a limit that is lowered."""

_MIDWAY = 4.6  # minutes
_PROMPT = (50, 250)  # tokens
_TOKEN = 4  # characters
_KINDS, _CHARGES = ("bucket", "window"), ("reserved", "actual")


@dataclass(frozen=True, slots=True)
class Case:
    """A provider's limits a minute. `lowered` is in minutes from the first call; None: never.

    Where it is `compared` the peers call it too.
    """

    name: str
    kind: str
    charge: str
    requests: int
    tokens: int
    lowered: float | None = None
    compared: bool = False

    @property
    def binding(self) -> str:
        """The limit that runs out first."""
        return "tokens" if self.tokens / _each(self.charge) < self.requests else "requests"

    @property
    def lent(self) -> float:
        """Calls a minute that are lent, about."""
        return min(self.requests, self.tokens / _each(self.charge))


@dataclass(frozen=True, slots=True)
class Call:
    """`at` is in seconds from the begin."""

    at: float
    prompt: str


def calls(case: Case, minutes: float) -> Iterator[Call]:
    """What is wanted of the provider, the same in every run of a case; oldest first."""
    draw = Random(case.name)  # no secret depends on it
    at, every = 0.0, MINUTE / (case.lent * OVERLOAD)
    while at < minutes * MINUTE:
        length = draw.randint(*_PROMPT) * _TOKEN
        yield Call(at, f"{draw.getrandbits(64):016x} ".ljust(length, "x"))
        at += draw.expovariate(1.0) * every


def cases() -> dict[str, Case]:
    """All of them, by name."""
    both = [(kind, charge) for kind in _KINDS for charge in _CHARGES]
    some = both[1:3]  # of each kind, and of each charge
    found = [
        Case(f"{kind}, {charge}{name}", kind, charge, 600, 100_000, lowered, (kind, charge) in some)
        for name, lowered in (("", None), (", lowered", _MIDWAY))
        for kind, charge in both
    ]
    found += [
        Case(f"{kind}, {charge}, requests", kind, charge, 240, 1_000_000) for kind, charge in some
    ]
    return {case.name: case for case in found}


def _each(charge: str) -> float:
    answer = ANSWER if charge == "reserved" else ANSWER / 2
    return sum(_PROMPT) / 2 + answer
