"""What calls have cost, summed up. Pure data; units as in `stagepost.calls`."""

from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from stagepost.calls import PAGE_MOST
from stagepost.errors import Unwritable

GROUPS: Final = ("day", "tenant", "user", "type", "model")
"""By what usage can be summed up, in this order."""

Group = Literal["day", "tenant", "user", "type", "model"]


@dataclass(frozen=True, slots=True)
class Spent:
    """A sum over calls that have ended or are UNKNOWN; the latter count by their estimates.

    `calls` counts all of them, and the three after it those that were no RESULT; `unknown_cost` is
    the part of `cost` that nobody knows for certain.
    """

    calls: int = 0
    rejected: int = 0
    refused: int = 0
    unknown: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    cost: int = 0
    unknown_cost: int = 0


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """Which usage, from the first day to the last, both of them in, and by what it is summed up.

    Days are those of UTC, and a call counts on the day on which it was begun. Raises Unwritable.
    """

    first: date
    last: date
    by: tuple[Group, ...] = ()
    type: str | None = None
    limit: int = PAGE_MOST

    def __post_init__(self) -> None:
        """Check what it is summed up by."""
        unknown = set(self.by) - set(GROUPS)
        if unknown:
            raise Unwritable(f"Usage is summed up by {', '.join(GROUPS)}, not by {unknown.pop()}.")


@dataclass(frozen=True, slots=True)
class UsageSum:
    """What was spent; of those things by which it is not summed up it says nothing (None).

    With the model it names the provider, too.
    """

    spent: Spent
    day: date | None = None
    tenant: str | None = None
    user: str | None = None
    type: str | None = None
    provider: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class StepSpent:
    """What the calls of one step of a task have cost."""

    path: str
    spent: Spent
