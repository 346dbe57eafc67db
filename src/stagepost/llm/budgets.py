"""What may be spent on models, as models.toml says it. Pure.

    [budgets]
    tenant = ["20/day", "300/month"]    # each tenant, in US dollars
    user = "5/day"                      # each user of a tenant
    type = "100/month"                  # each type of task, over all tenants
    task = "2"                          # each task, for ever
    [budgets.tenants]
    acme = "1000/month"                 # this one, instead of what each has
    [budgets.types]
    contract-review = "50/day"

A day and a month are those of UTC.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from stagepost.limit import MOST_OF_A_BUDGET, Calendar

MOST_NAMED: Final = 10_000
"""Tenants, or types, with amounts of their own."""

_AMOUNT: Final = re.compile(r"(\d{1,10}(?:\.\d{1,6})?)(?:/(day|month))?", re.ASCII)
_MILLIONTHS: Final = 1_000_000


class Amount(NamedTuple):
    """So many US dollars in each period."""

    dollars: float
    calendar: Calendar

    @classmethod
    def parse(cls, text: str) -> "Amount":
        """From `20/day`, `300/month`, or `2` for ever. Raises ValueError with the remedy."""
        match = _AMOUNT.fullmatch(text)
        if match is None or not 1 <= float(match[1]) * _MILLIONTHS <= MOST_OF_A_BUDGET:
            raise ValueError(
                f'"{text}" is no budget; write US dollars and a period, such as 20/day or '
                "300/month, and for a task the dollars alone"
            )
        return cls(float(match[1]), Calendar(match[2] or Calendar.EVER))

    @property
    def words(self) -> str:
        """As `parse` reads it."""
        dollars = f"{self.dollars:.6f}".rstrip("0").rstrip(".")
        return dollars if self.calendar is Calendar.EVER else f"{dollars}/{self.calendar}"


def amounts(value: Any) -> Sequence[Amount]:
    """One amount or several, each with a period of its own. Raises ValueError."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in texts):
        raise ValueError('write a text such as "20/day", or a list of them')
    found = [Amount.parse(text) for text in texts]
    if len({each.calendar for each in found}) < len(found):
        raise ValueError("write one amount for each period")
    return tuple(found)


def periodic(value: Any) -> Sequence[Amount]:
    """The same, of days and months. Raises ValueError."""
    found = amounts(value)
    if any(each.calendar is Calendar.EVER for each in found):
        raise ValueError("say in which period, such as 20/day or 300/month")
    return found


def _endless(value: Any) -> Sequence[Amount]:
    found = amounts(value)
    if any(each.calendar is not Calendar.EVER for each in found):
        raise ValueError("a task's budget has no period: write the dollars alone")
    return found


Periodic = Annotated[tuple[Amount, ...], BeforeValidator(periodic)]
Endless = Annotated[tuple[Amount, ...], BeforeValidator(_endless)]
Named = Annotated[str, StringConstraints(min_length=1, max_length=128)]
ByName = Annotated[dict[Named, Periodic], Field(max_length=MOST_NAMED)]


class Budgets(BaseModel):
    """Amounts of each payer, and of those that have their own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tenant: Periodic = ()
    user: Periodic = ()
    type: Periodic = ()
    task: Endless = ()
    tenants: ByName = {}
    types: ByName = {}


NO_BUDGETS: Final = Budgets()
