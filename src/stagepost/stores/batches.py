"""What every store reads of a batch."""

from collections.abc import Sequence
from typing import Any, Final

from stagepost.batch import Batch, ChildRecord
from stagepost.stores.rows import payload_of
from stagepost.task import Status

BATCH_FIELDS: Final = (
    "id", "parent_id", "path", "type", "made", "sealed", '"left"', "failed", "digest", "low",
    "high", "message",
)  # fmt: skip

BATCH_COLUMNS: Final = ", ".join(BATCH_FIELDS)

NOTE_EVERY: Final = 250
"""Milliseconds between two progress events that a parent owes to its children."""


def batch_of(row: Sequence[Any]) -> Batch:
    """A Batch from BATCH_FIELDS."""
    batch_id, parent_id, path, kind, made, sealed, *rest = row
    return Batch(str(batch_id), str(parent_id), path, kind, made, bool(sealed), *rest)


def child_of(row: Sequence[Any]) -> ChildRecord:
    """A ChildRecord from (place, id, status, result, size, blob, failure kind, message)."""
    place, task_id, status, text, size, blob, kind, message = row
    done = Status(status)
    result = payload_of(text, size, blob) if done is Status.COMPLETED else None
    return ChildRecord(place, str(task_id), done, result, kind, message)
