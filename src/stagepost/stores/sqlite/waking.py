"""Whether something that a task waits for has happened already."""

from collections.abc import Iterable

import orjson

from stagepost.signals import OpenWait, Signal, heard
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.waiting import Condition, SignalSent


def holds(tx: Transaction, task_id: str, conditions: Iterable[Condition]) -> bool:
    """Whether one of the conditions holds; those that pass with time are the scheduler's."""
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
