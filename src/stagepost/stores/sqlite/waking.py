"""Whether something that a task waits for has happened already."""

from collections.abc import Iterable
from dataclasses import replace

import orjson

from stagepost.batch import Batch
from stagepost.lifecycle import waits_for
from stagepost.signals import OpenWait, Signal, heard
from stagepost.stores.batches import BATCH_COLUMNS, batch_of
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.waiting import ChildrenOver, Condition, SignalSent


def holds(tx: Transaction, task_id: str, conditions: Iterable[Condition]) -> bool:
    """Whether one of the conditions holds; those that pass with time are the scheduler's."""
    conditions = tuple(conditions)
    return _heard(tx, task_id, conditions) or _children_over(tx, task_id, conditions)


def _children_over(tx: Transaction, task_id: str, conditions: Iterable[Condition]) -> bool:
    paths = {each.path for each in conditions if isinstance(each, ChildrenOver)}
    batches = (find_batch(tx, task_id, path) for path in paths)
    return any(batch is not None and waits_for(conditions, batch) for batch in batches)


def find_batch(tx: Transaction, parent_id: str, path: str) -> Batch | None:
    """The batch that a task knows under a path."""
    row = tx.row(
        f"SELECT {BATCH_COLUMNS} FROM batches WHERE parent_id = ? AND path = ? AND dropped = 0",
        (parent_id, path),
    )
    if row is None:
        return None
    batch = batch_of(row)
    left, failed = tx.deltas.get(batch.id, (0, 0))
    return replace(batch, left=batch.left + left, failed=batch.failed + failed)


def _heard(tx: Transaction, task_id: str, conditions: Iterable[Condition]) -> bool:
    paths = {each.path for each in conditions if isinstance(each, SignalSent)}
    if not paths:
        return False
    sent = signals(tx, task_id)
    return any(heard(wait, sent) for wait in open_waits(tx, task_id) if wait.path in paths)


def open_waits(tx: Transaction, task_id: str) -> list[OpenWait]:
    """The waits that a task has begun and not ended."""
    rows = tx.rows("SELECT path, name, until, approvers FROM waits WHERE task_id = ?", (task_id,))
    return [
        OpenWait(path, name, until, None if approvers is None else tuple(orjson.loads(approvers)))
        for path, name, until, approvers in rows
    ]


def signals(tx: Transaction, task_id: str) -> list[Signal]:
    """What was sent to a task and not taken, in that order."""
    rows = tx.rows(
        """SELECT id, name, body, sender, roles, sent_at FROM signals
           WHERE task_id = ? AND taken = 0 ORDER BY n""",
        (task_id,),
    )
    return [
        Signal(signal_id, name, body, sender, tuple(orjson.loads(roles)), sent_at)
        for signal_id, name, body, sender, roles, sent_at in rows
    ]
