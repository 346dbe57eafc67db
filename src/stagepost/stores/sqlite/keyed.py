"""Tasks with a concurrency key: of those that are QUEUED or RUNNING only some hold their key.

A holder is in the pool or runs; the others are blocked, and cost a claim nothing. Keys are handed
over at the end of each transaction, to the blocked tasks with the lowest scores.
"""

from collections.abc import Iterable
from typing import Final

from stagepost.rules import RuleKind
from stagepost.stores.rows import json
from stagepost.stores.sqlite import pooling, ruling
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import Status, Task

_IN_LINE: Final = frozenset({Status.QUEUED, Status.RUNNING})

_ENTER: Final = "INSERT INTO keyed VALUES (?, ?, 0, ?, ?, ?, ?, ?)"
_LEAVE: Final = """
DELETE FROM keyed WHERE task_id IN (SELECT value FROM json_each(?)) RETURNING tenant, key"""
_HOLDERS: Final = "SELECT count(*) FROM keyed WHERE tenant = ? AND key = ? AND holds = 1"
_NEXT: Final = """
SELECT task_id FROM keyed WHERE tenant = ? AND key = ? AND holds = 0
ORDER BY score, task_id LIMIT ?"""
_HOLD: Final = "UPDATE keyed SET holds = 1 WHERE task_id = ?"


def moved(tx: Transaction, before: Task | None, task: Task) -> None:
    """A keyed task is new or has changed its status: it comes into the line or leaves it."""
    was = before is not None and before.status in _IN_LINE
    if task.status in _IN_LINE:
        if not was:
            _enter(tx, task)
        elif task.status is Status.QUEUED:
            # It was given back, and holds its key as before.
            pooling.enter(tx, task)
    elif was:
        left(tx, [task.id])


def _enter(tx: Transaction, task: Task) -> None:
    assert task.concurrency_key is not None
    row = (
        task.tenant, task.concurrency_key, pooling.score(task), task.id, task.lane, task.deadline,
        int(task.hard_deadline),
    )  # fmt: skip
    tx.execute(_ENTER, row)
    tx.keys.add((task.tenant, task.concurrency_key))


def left(tx: Transaction, task_ids: Iterable[str]) -> None:
    """Tasks that are neither queued nor running any more; those without a key may be among them."""
    if tx.row("SELECT 1 FROM keyed LIMIT 1") is not None:
        tx.keys.update(tx.rows(_LEAVE, (json(list(task_ids)),)))


def hand_over(tx: Transaction) -> None:
    """Blocked tasks come into the pool where a key is free."""
    keys, tx.keys = tx.keys, set()
    for tenant, key in sorted(keys):
        most = ruling.get(tx.connection, RuleKind.TENANT, tenant).key_concurrency
        free = most - tx.value(_HOLDERS, (tenant, key))
        for (task_id,) in tx.rows(_NEXT, (tenant, key, max(0, free))):
            tx.execute(_HOLD, (task_id,))
            pooling.enter_by_id(tx, task_id)
