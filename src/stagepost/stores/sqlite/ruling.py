"""Rules in the embedded store."""

from collections.abc import Sequence
from typing import Any, Final

import apsw
from uuid_utils import uuid7

from stagepost.rules import Rule, RuleKind, Rules, Running
from stagepost.stores.sqlite.transaction import Transaction

VERSION: Final = "SELECT value FROM meta WHERE name = 'rules'"
"""Another text after each change of a rule."""

_RULE: Final = "SELECT kind, name, weight, concurrency, key_concurrency, paused FROM rules"
_FORGET: Final = "DELETE FROM rules WHERE kind = ? AND name = ?"
_BLOCKED_KEYS: Final = "SELECT DISTINCT tenant, key FROM keyed WHERE tenant = ? AND holds = 0"
_RUNNING: Final = """
SELECT lane, tenant, type, count(*) FROM tasks WHERE worker_id IS NOT NULL GROUP BY 1, 2, 3"""
_KEEP: Final = "INSERT INTO rules VALUES (?, ?, ?, ?, ?, ?)"


def all_of(db: apsw.Connection) -> Rules:
    """Every rule."""
    return Rules([_rule_of(row) for row in db.execute(_RULE)])


def find(db: apsw.Connection, kind: RuleKind, after: str, limit: int) -> Sequence[Rule]:
    """A page of the rules of one kind, by name."""
    rows = db.execute(
        f"{_RULE} WHERE kind = ? AND name > ? ORDER BY name LIMIT ?", (kind.value, after, limit)
    )
    return [_rule_of(row) for row in rows]


def get(db: apsw.Connection, kind: RuleKind, name: str) -> Rule:
    """One rule, silent where none was made."""
    row = db.execute(f"{_RULE} WHERE kind = ? AND name = ?", (kind.value, name)).fetchone()
    return Rule(kind, name) if row is None else _rule_of(row)


def running(db: apsw.Connection) -> Sequence[Running]:
    """What runs now."""
    return list(map(Running._make, db.execute(_RUNNING)))


def put(tx: Transaction, arguments: list[Rule]) -> Sequence[Rule]:
    """Rules as they shall be, but for what is paused."""
    return [_keep(tx, rule, paused=_earlier(tx, rule).paused) for rule in arguments]


def pause(tx: Transaction, arguments: list[tuple[RuleKind, str, bool]]) -> Sequence[Rule]:
    """What shall start no task, or start them again."""
    return [
        _keep(tx, _earlier(tx, Rule(kind, name)), paused=paused) for kind, name, paused in arguments
    ]


def _earlier(tx: Transaction, rule: Rule) -> Rule:
    return get(tx.connection, rule.kind, rule.name)


def _keep(tx: Transaction, rule: Rule, *, paused: bool) -> Rule:
    kept = Rule(rule.kind, rule.name, rule.weight, rule.concurrency, rule.key_concurrency, paused)
    tx.execute(_FORGET, (kept.kind.value, kept.name))
    if not kept.silent:
        row = (kept.kind.value, kept.name, kept.weight, kept.concurrency, kept.key_concurrency,
               int(kept.paused))  # fmt: skip
        tx.execute(_KEEP, row)
    tx.execute("INSERT OR REPLACE INTO meta VALUES ('rules', ?)", (str(uuid7()),))
    if kept.kind is RuleKind.TENANT:
        tx.keys.update(tx.rows(_BLOCKED_KEYS, (kept.name,)))
    # What it held back may be taken now.
    tx.pooled = True
    return kept


def _rule_of(row: Sequence[Any]) -> Rule:
    kind, name, weight, concurrency, key_concurrency, paused = row
    return Rule(RuleKind(kind), name, weight, concurrency, key_concurrency, bool(paused))
