"""Whether something that a task waits for has happened already. The tasks are locked."""

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from stagepost.lifecycle import waits_for
from stagepost.signals import OpenWait, Signal, heard
from stagepost.stores.batches import BATCH_FIELDS, batch_of
from stagepost.stores.postgres.transaction import Transaction
from stagepost.waiting import ChildrenOver, Condition, SignalSent

PLAIN: Final = ", ".join(f"b.{name}" for name in BATCH_FIELDS)
COLUMNS: Final = PLAIN.replace('b."left"', 'b."left" + w."left"').replace(
    "b.failed", "b.failed + w.failed"
)
"""A batch as it is when the notes that are still there have been worked off."""

COUNTED: Final = """batches AS b CROSS JOIN LATERAL (
    SELECT coalesce(sum("left"), 0)::integer AS "left", coalesce(sum(failed), 0)::integer AS failed
    FROM wakes WHERE batch_id = b.id) AS w"""

_BATCHES: Final = f"""
SELECT {COLUMNS} FROM unnest($1::uuid[], $2::text[]) AS r (id, path) CROSS JOIN {COUNTED}
WHERE b.parent_id = r.id AND md5(b.path) = md5(r.path) AND b.path = r.path AND b.dropped = 0"""
_WAITS: Final = """
SELECT task_id, path, name, until, approvers FROM waits WHERE task_id = ANY($1::uuid[])"""
_SIGNALS: Final = """
SELECT task_id, id, name, body, sender, roles, sent_at FROM signals
WHERE task_id = ANY($1::uuid[]) AND NOT taken ORDER BY task_id, n"""


async def holding(tx: Transaction, waiting: Mapping[str, Sequence[Condition]]) -> set[str]:
    """The tasks of which one condition holds; those that pass with time are the scheduler's."""
    return await _heard(tx, waiting) | await _children_over(tx, waiting)


async def _children_over(tx: Transaction, waiting: Mapping[str, Sequence[Condition]]) -> set[str]:
    parents = [
        (task_id, each.path)
        for task_id, conditions in waiting.items()
        for each in conditions
        if isinstance(each, ChildrenOver)
    ]
    if not parents:
        return set()
    rows = await tx.connection.fetch(_BATCHES, *map(list, zip(*parents, strict=True)))
    batches = map(batch_of, rows)
    return {each.parent_id for each in batches if waits_for(waiting[each.parent_id], each)}


async def _heard(tx: Transaction, waiting: Mapping[str, Sequence[Condition]]) -> set[str]:
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
