"""What a benchmark found: tables, figures, and whether what must be reached was reached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text for people."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Target:
    """Something that must be reached. `aim` is what is hoped for beyond that."""

    what: str
    wanted: str
    measured: str
    met: bool
    aim: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark's outcome. `figures` is the whole of it as JSON data.

    `load` is the machine's before and after it. `shown` is a table for the README, too.
    """

    name: str
    tables: Sequence[Table]
    targets: Sequence[Target]
    figures: Mapping[str, object]
    load: tuple[float, float] = (0.0, 0.0)
    shown: Table | None = None


def at_least(what: str, measured: float, bound: float, unit: str = "", aim: str = "") -> Target:
    """A figure that must not be below its bound."""
    wanted = f">= {_text(bound)}{unit}"
    return Target(what, wanted, f"{_text(measured)}{unit}", measured >= bound, aim)


def at_most(what: str, measured: float, bound: float, unit: str = "") -> Target:
    """A figure that must not be above its bound."""
    return Target(what, f"<= {_text(bound)}{unit}", f"{_text(measured)}{unit}", measured <= bound)


def below(what: str, measured: float, bound: float, unit: str = "") -> Target:
    """A figure that must be below its bound."""
    return Target(what, f"< {_text(bound)}{unit}", f"{_text(measured)}{unit}", measured < bound)


def above(what: str, measured: float, bound: float, unit: str = "") -> Target:
    """A figure that must be above its bound."""
    return Target(what, f"> {_text(bound)}{unit}", f"{_text(measured)}{unit}", measured > bound)


def _text(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 or number == round(number) else f"{number:.3g}"
