"""The rules' port over PostgreSQL."""

from collections.abc import Sequence

from stagepost.rules import Rule, RuleKind, Running
from stagepost.stores.postgres import ruling
from stagepost.stores.postgres.engine import Engine


class PostgresRules:
    """The RuleBook port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def find(self, kind: RuleKind, after: str = "", limit: int = 1_000) -> Sequence[Rule]:
        """A page of rules."""
        return await self._engine.read(lambda db: ruling.find(db, kind, after, limit))

    async def get(self, kind: RuleKind, name: str) -> Rule:
        """One rule."""
        return await self._engine.read(lambda db: ruling.get(db, kind, name))

    async def put(self, rule: Rule) -> Rule:
        """Make a rule."""
        kept = await self._engine.change(lambda tx: ruling.put(tx, rule))
        self._engine.rules_changed()
        return kept

    async def pause(self, kind: RuleKind, name: str, *, paused: bool) -> Rule:
        """Pause or resume."""
        kept = await self._engine.change(lambda tx: ruling.pause(tx, kind, name, paused=paused))
        self._engine.rules_changed()
        return kept

    async def running(self) -> Sequence[Running]:
        """What runs, as limits count it."""
        return await self._engine.read(ruling.running)
