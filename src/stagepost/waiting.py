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


@dataclass(frozen=True, slots=True)
class BudgetTurns:
    """A budget is used up for the next `delay` seconds, which count from the settlement.

    `turns` is the instant at which it is whole again, or None if it never is by itself. Whoever has
    set it may raise it before, so the wait ends `until` then at the latest, and may begin again.
    """

    kind: ClassVar[str] = "budget"
    name: str
    delay: float
    until: int | None = None
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class ChildrenOver:
    """All children of the batch at `path` settle; with `stop`, or one of them fails."""

    kind: ClassVar[str] = "child"
    name: str
    path: str
    stop: bool
    until: int | None = None


Condition = TimeComes | SignalSent | LimitFree | BudgetTurns | ChildrenOver

_TIMED: Final = TimeComes | LimitFree | BudgetTurns

_KINDS: Final[dict[str, type[Condition]]] = {
    kind.kind: kind for kind in (TimeComes, SignalSent, LimitFree, BudgetTurns, ChildrenOver)
}

_LONGEST: Final = 10 * 365 * 86_400_000
"""Milliseconds; a longer delay is an endless one."""

ENDLESS: Final = _LONGEST / 1000
"""The same in seconds, for a wait that no time ends."""

_LOOK: Final = 3_600_000
"""Milliseconds between two looks at a budget that has not turned."""


def milliseconds(seconds: float) -> int:
    """A delay as milliseconds: none below zero, and ten years at most."""
    # `not >` also catches what is no number.
    if not seconds > 0:
        return 0
    return round(min(seconds * 1000, _LONGEST))


def begun(conditions: Iterable[Condition], now: int) -> tuple[Condition, ...]:
    """The conditions of a wait that begins now; of those that only pass with time, the first."""
    fixed = [_fixed(condition, now) for condition in conditions]
    timed = [condition for condition in fixed if isinstance(condition, _TIMED)]
    first = sorted(timed, key=lambda condition: condition.until or now)[:1]
    others = [condition for condition in fixed if condition not in timed]
    return (*first, *others)


def shown_until(condition: Condition) -> int | None:
    """The instant that people are told a wait lasts to, if there is one."""
    return condition.turns if isinstance(condition, BudgetTurns) else condition.until


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
        case BudgetTurns(delay=delay, until=None):
            length = milliseconds(delay)
            turns = None if length >= _LONGEST else now + length
            return replace(condition, delay=0.0, until=now + min(length, _LOOK), turns=turns)
        case _:
            return condition
