"""Rules in PostgreSQL, and what this process knows of them."""

import time
from collections.abc import Sequence
from typing import Any, Final

from uuid_utils import uuid7

from stagepost.rules import NO_RULES, Rule, RuleKind, Rules, Running
from stagepost.stores.postgres import keyed
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.transaction import Transaction

_FRESH: Final = 1.0  # seconds for which rules are believed

_VERSION: Final = "SELECT value FROM meta WHERE name = 'rules'"
"""Another text after each change of a rule."""
_RULE: Final = "SELECT kind, name, weight, concurrency, key_concurrency, paused FROM rules"
_RUNNING: Final = """
SELECT t.lane, t.tenant, t.type, count(*)
FROM claims AS c CROSS JOIN LATERAL unnest(c.tasks) AS u (id)
    JOIN tasks AS t ON t.id = u.id AND t.lease_id = c.lease_id
WHERE t.status = 'RUNNING' GROUP BY 1, 2, 3"""
_KEEP: Final = """
INSERT INTO rules (kind, name, weight, concurrency, key_concurrency, paused)
VALUES ($1::text, $2::text, $3::integer, $4::integer, $5::integer, $6::boolean)"""
_CHANGED: Final = """
INSERT INTO meta (name, value) VALUES ('rules', $1::text)
ON CONFLICT (name) DO UPDATE SET value = excluded.value"""


class KnownRules:
    """The rules as they were read at most a second ago."""

    def __init__(self) -> None:
        self.rules: Rules = NO_RULES
        self.crowded = False
        """Whether a lane has more queues than one statement looks at."""
        self._version: str | None = None
        self._until = 0.0

    def forget(self) -> None:
        """Read them again before the next claim."""
        self._until = 0.0

    async def refresh(self, db: Backend) -> None:
        """Read them again, if it is time and they have changed."""
        if time.monotonic() < self._until:
            return
        version = await db.fetchval(_VERSION)
        if version != self._version:
            self.rules = Rules([_rule_of(row) for row in await db.fetch(_RULE)])
            self._version = version
        self._until = time.monotonic() + _FRESH


async def find(db: Backend, kind: RuleKind, after: str, limit: int) -> Sequence[Rule]:
    """A page of the rules of one kind, by name."""
    statement = f"{_RULE} WHERE kind = $1::text AND name > $2::text ORDER BY name LIMIT $3::bigint"
    return [_rule_of(row) for row in await db.fetch(statement, kind.value, after, limit)]


async def get(db: Backend, kind: RuleKind, name: str) -> Rule:
    """One rule, silent where none was made."""
    row = await db.fetchrow(f"{_RULE} WHERE kind = $1::text AND name = $2::text", kind.value, name)
    return Rule(kind, name) if row is None else _rule_of(row)


async def running(db: Backend) -> Sequence[Running]:
    """What runs now."""
    return [Running(*row) for row in await db.fetch(_RUNNING)]


async def put(tx: Transaction, rule: Rule) -> Rule:
    """A rule as it shall be, but for what is paused."""
    async with tx.connection.transaction():
        earlier = await _locked(tx, rule.kind, rule.name)
        return await _keep(tx, rule, paused=earlier.paused)


async def pause(tx: Transaction, kind: RuleKind, name: str, *, paused: bool) -> Rule:
    """What shall start no task, or start them again."""
    async with tx.connection.transaction():
        return await _keep(tx, await _locked(tx, kind, name), paused=paused)


async def _locked(tx: Transaction, kind: RuleKind, name: str) -> Rule:
    # Changes of rules are rare, and go one after the other.
    await tx.connection.execute("LOCK TABLE rules IN SHARE ROW EXCLUSIVE MODE")
    return await get(tx.connection, kind, name)


async def _keep(tx: Transaction, rule: Rule, *, paused: bool) -> Rule:
    kept = Rule(rule.kind, rule.name, rule.weight, rule.concurrency, rule.key_concurrency, paused)
    await tx.connection.execute(
        "DELETE FROM rules WHERE kind = $1::text AND name = $2::text", kept.kind.value, kept.name
    )
    if not kept.silent:
        row = (kept.kind.value, kept.name, kept.weight, kept.concurrency, kept.key_concurrency)
        await tx.connection.execute(_KEEP, *row, kept.paused)
    await tx.connection.execute(_CHANGED, str(uuid7()))
    if kept.kind is RuleKind.TENANT:
        await keyed.let_in(tx, kept.name)
    return kept


def _rule_of(row: Any) -> Rule:
    kind, name, weight, concurrency, key_concurrency, paused = row
    return Rule(RuleKind(kind), name, weight, concurrency, key_concurrency, paused)
