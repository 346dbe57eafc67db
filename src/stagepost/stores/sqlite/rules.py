"""The rules' port over the embedded store."""

from collections.abc import Sequence

from stagepost.rules import Rule, RuleKind, Running
from stagepost.stores.sqlite import ruling
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.writer import Writer


class SqliteRules:
    """The RuleBook port."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def find(self, kind: RuleKind, after: str = "", limit: int = 1_000) -> Sequence[Rule]:
        """A page of rules."""
        return await self._readers.call(lambda db: ruling.find(db, kind, after, limit))

    async def get(self, kind: RuleKind, name: str) -> Rule:
        """One rule."""
        return await self._readers.call(lambda db: ruling.get(db, kind, name))

    async def put(self, rule: Rule) -> Rule:
        """Make a rule."""
        kept: Rule = await self._writer.call(Kind.CHANGE, ruling.put, rule)
        return kept

    async def pause(self, kind: RuleKind, name: str, *, paused: bool) -> Rule:
        """Pause or resume."""
        kept: Rule = await self._writer.call(Kind.CHANGE, ruling.pause, (kind, name, paused))
        return kept

    async def running(self) -> Sequence[Running]:
        """What runs, as limits count it."""
        return await self._readers.call(ruling.running)
