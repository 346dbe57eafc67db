"""What an operator says of lanes, types and tenants while the engine runs. Pure data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

MOST_WEIGHT: Final = 1_000
MOST_CONCURRENCY: Final = 1_000_000


class RuleKind(StrEnum):
    """What a rule is about."""

    LANE = "lane"
    TYPE = "type"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True)
class Rule:
    """One lane's, type's or tenant's rule; by default it says nothing.

    `weight` is a tenant's share beside the others of its lane, or a lane's beside the others of a
    worker, from 1 to MOST_WEIGHT; None is 1 for a tenant, and what the workers' settings say for a
    lane. `concurrency`
    is how many of its tasks run at once in the whole fleet, None for any number (of a type: as its
    code says). `key_concurrency` is the same for the tasks of a tenant that have one
    `concurrency_key`. What is `paused` starts no task; what runs goes on. Tenants are not paused.
    """

    kind: RuleKind
    name: str
    weight: int | None = None
    concurrency: int | None = None
    key_concurrency: int = 1
    paused: bool = False

    @property
    def silent(self) -> bool:
        """Whether it says nothing, so that nothing need be kept of it."""
        return self == Rule(self.kind, self.name)


class Running(NamedTuple):
    """How many tasks of a lane, tenant and type run: what limits count."""

    lane: str
    tenant: str
    type: str
    many: int


class Rules:
    """All rules at one moment."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._rules: Mapping[tuple[RuleKind, str], Rule] = {
            (rule.kind, rule.name): rule for rule in rules
        }
        self.limit: Final = any(rule.concurrency is not None for rule in self._rules.values())
        """Whether what runs has to be counted."""
        self.restrict: Final = self.limit or any(rule.paused for rule in self._rules.values())
        """Whether any of them can hold back a task."""
        self.lane_weights: Final[Mapping[str, int]] = {
            rule.name: rule.weight
            for rule in self._rules.values()
            if rule.kind is RuleKind.LANE and rule.weight is not None
        }
        """The weights of lanes that are not those of the workers' settings."""

    def of(self, kind: RuleKind, name: str) -> Rule:
        """The rule of one of them."""
        return self._rules.get((kind, name)) or Rule(kind, name)

    def weight(self, tenant: str) -> int:
        """A tenant's weight."""
        return self.of(RuleKind.TENANT, tenant).weight or 1


NO_RULES: Final = Rules()
