"""Whether something that a task waits for has happened already. The tasks are locked."""

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from stagepost.signals import OpenWait, Signal, heard
from stagepost.stores.postgres.transaction import Transaction
from stagepost.waiting import Condition, SignalSent

_WAITS: Final = """
SELECT task_id, path, name, until, approvers FROM waits WHERE task_id = ANY($1::uuid[])"""
_SIGNALS: Final = """
SELECT task_id, id, name, body, sender, roles, sent_at FROM signals
WHERE task_id = ANY($1::uuid[]) AND NOT taken ORDER BY task_id, n"""


async def holding(tx: Transaction, waiting: Mapping[str, Sequence[Condition]]) -> set[str]:
    """The tasks of which one condition holds; those that pass with time are the scheduler's."""
    paths = {
        task_id: {each.path for each in conditions if isinstance(each, SignalSent)}
        for task_id, conditions in waiting.items()
    }
    listening = [task_id for task_id in paths if paths[task_id]]
    if not listening:
        return set()
    sent = await signals(tx, listening)
    waits = await open_waits(tx, listening)
    return {
        task_id
        for task_id in listening
        if any(
            heard(wait, sent.get(task_id, ()))
            for wait in waits.get(task_id, ())
            if wait.path in paths[task_id]
        )
    }


async def open_waits(tx: Transaction, task_ids: Sequence[str]) -> dict[str, list[OpenWait]]:
    """The waits that tasks have begun and not ended."""
    found: dict[str, list[OpenWait]] = {}
    for task_id, path, name, until, approvers in await tx.connection.fetch(_WAITS, task_ids):
        named = None if approvers is None else tuple(orjson.loads(approvers))
        found.setdefault(str(task_id), []).append(OpenWait(path, name, until, named))
    return found


async def signals(tx: Transaction, task_ids: Sequence[str]) -> dict[str, list[Signal]]:
    """What was sent to tasks and not taken, in that order."""
    found: dict[str, list[Signal]] = {}
    for row in await tx.connection.fetch(_SIGNALS, task_ids):
        task_id, signal_id, name, body, sender, roles, sent_at = row
        signal = Signal(str(signal_id), name, body, sender, tuple(orjson.loads(roles)), sent_at)
        found.setdefault(str(task_id), []).append(signal)
    return found
