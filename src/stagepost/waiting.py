"""What a task can wait for without a worker. Pure.

A handler is unwound once all its branches wait; the task then keeps one *condition* for each of
them, and goes back to its lane as soon as any of them holds: the handler replays, and waits again
if it must. A new kind of condition is a class here, a line in `Condition` and in `_KINDS`, and
whoever makes it come true (`lifecycle.woken`).

Every condition has a `name` for people, and `until`: the instant at which the wait ends in any
case, or None.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, ClassVar, Final

MOST_BRANCHES: Final = 1_000
"""Branches of one handler that may wait at the same time."""


@dataclass(frozen=True, slots=True)
class TimeComes:
    """An instant that the store has fixed."""

    kind: ClassVar[str] = "timer"
    name: str
    until: int


@dataclass(frozen=True, slots=True)
class SignalSent:
    """Somebody sends a signal of this name; `path` is the wait's identity within the task."""

    kind: ClassVar[str] = "signal"
    name: str
    path: str
    until: int | None = None


@dataclass(frozen=True, slots=True)
class LimitFree:
    """Somebody's limit is used up for the next `delay` seconds, which count from the settlement."""

    kind: ClassVar[str] = "limit"
    name: str
    delay: float
    until: int | None = None


Condition = TimeComes | SignalSent | LimitFree

_KINDS: Final[dict[str, type[Condition]]] = {
    kind.kind: kind for kind in (TimeComes, SignalSent, LimitFree)
}

_LONGEST: Final = 10 * 365 * 86_400_000
"""Milliseconds; a longer delay is an endless one."""


def milliseconds(seconds: float) -> int:
    """A delay as milliseconds: none below zero, and ten years at most."""
    # `not >` also catches what is no number.
    if not seconds > 0:
        return 0
    return round(min(seconds * 1000, _LONGEST))


def begun(conditions: Iterable[Condition], now: int) -> tuple[Condition, ...]:
    """The conditions of a wait that begins now; of those that only pass with time, the first."""
    fixed = [_fixed(condition, now) for condition in conditions]
    timed = [condition for condition in fixed if isinstance(condition, TimeComes | LimitFree)]
    first = sorted(timed, key=lambda condition: condition.until or now)[:1]
    others = [condition for condition in fixed if condition not in timed]
    return (*first, *others)


def nearest(conditions: Sequence[Condition]) -> Condition:
    """The one that people are shown: what ends first, else the first."""
    ending = [condition for condition in conditions if condition.until is not None]
    return min(ending, key=lambda condition: condition.until or 0) if ending else conditions[0]


def ends_at(conditions: Iterable[Condition]) -> int | None:
    """The instant at which the first of them ends in any case."""
    return min((c.until for c in conditions if c.until is not None), default=None)


def packed(conditions: Iterable[Condition]) -> list[list[Any]]:
    """As plain data, for a store to keep."""
    return [[condition.kind, *astuple(condition)] for condition in conditions]


def unpacked(rows: Iterable[Sequence[Any]]) -> tuple[Condition, ...]:
    """From `packed` data."""
    return tuple(_KINDS[kind](*values) for kind, *values in rows)


def _fixed(condition: Condition, now: int) -> Condition:
    match condition:
        case LimitFree(delay=delay, until=None):
            return replace(condition, delay=0.0, until=now + milliseconds(delay))
        case _:
            return condition
