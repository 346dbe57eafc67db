"""PORT. What an operator says of lanes, types and tenants while the engine runs."""

from collections.abc import Sequence
from typing import Protocol

from stagepost.rules import Rule, RuleKind, Running


class RuleBook(Protocol):
    """The rules, as `Store.rules`. Every process claims by a change within about a second."""

    async def find(self, kind: RuleKind, after: str = "", limit: int = 1_000) -> Sequence[Rule]:
        """Those that say something, by name, behind the name `after`."""
        ...

    async def get(self, kind: RuleKind, name: str) -> Rule:
        """One rule; it says nothing where none was made."""
        ...

    async def put(self, rule: Rule) -> Rule:
        """Make a rule, or replace it; whether it is paused stays as it was."""
        ...

    async def pause(self, kind: RuleKind, name: str, *, paused: bool) -> Rule:
        """Start no task of this lane or type any more, or start them again."""
        ...

    async def running(self) -> Sequence[Running]:
        """What runs now in the whole fleet, as limits count it."""
        ...
