"""Where in a lane a task stands that is too far behind to be counted each time. Pure.

A store counts the places of the first COUNTED tasks of a lane one by one, for each who asks. For
those behind them it tells where every so-manieth of a queue stands; that is read once for many.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

COUNTED: Final = 10_000
"""Places that a store counts; behind them it says this number plus one."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The ready tasks of a lane, tenant and type: how many, and the score of every `step`-th.

    A score is when the task came into the pool less its head start, in milliseconds.
    """

    tenant: str
    many: int
    marks: Sequence[int]


@dataclass(frozen=True, slots=True)
class Backlog:
    """All of a lane, as it was at one moment."""

    step: int
    stretches: Sequence[Stretch]

    def place(self, tenant: str, score: int) -> int:
        """The place of a tenant's task with this score, from 1.

        The tenants take turns as if all had the same weight. Of each of its own tenant's stretches
        fewer than `step` tasks may be before it that are not counted; it is never too large, and
        never smaller than that of a task of the tenant that is before it.
        """
        others: Counter[str] = Counter()
        own = 0
        for stretch in self.stretches:
            if stretch.tenant == tenant:
                own += self.step * bisect_left(stretch.marks, score)
            else:
                others[stretch.tenant] += stretch.many
        return own + sum(min(many, own + 1) for many in others.values()) + 1
