"""Between rows and the domain's data."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

import orjson

from stagepost.event import Event
from stagepost.records import WorkerRecord
from stagepost.task import CancelRequest, Payload, Status, Task, Wait
from stagepost.versions import Versions
from stagepost.waiting import packed, unpacked

TASK_FIELDS: Final = tuple(field.name for field in fields(Task))
TASK_COLUMNS: Final = ", ".join(TASK_FIELDS)
"""Every field of a Task is a column of the same name."""

STAMPED_COUNTED: Final = 10_000
"""Rows of the pool looked at most for what a missing version of the code holds up."""

HISTORY_ROWS: Final = 10_000
HISTORY_UNUSED: Final = 90 * 86_400_000
"""Milliseconds after which a row of the history that got no new times is forgotten."""

_STATUS: Final = TASK_FIELDS.index("status")
_HARD: Final = TASK_FIELDS.index("hard_deadline")
_WAIT: Final = TASK_FIELDS.index("wait")
_CONDITIONS: Final = TASK_FIELDS.index("conditions")
_CANCEL: Final = TASK_FIELDS.index("cancel")


def json(value: Any) -> str:
    """JSON text."""
    return orjson.dumps(value).decode()


def mended(text: str) -> str:
    """Text for people, without the halves of characters that no store can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def task_of(row: Sequence[Any]) -> Task:
    """A Task from a row whose first columns are TASK_COLUMNS."""
    values = list(row[: len(TASK_FIELDS)])
    values[_STATUS] = Status(values[_STATUS])
    values[_HARD] = bool(values[_HARD])
    values[_WAIT] = None if values[_WAIT] is None else Wait(**orjson.loads(values[_WAIT]))
    conditions = values[_CONDITIONS]
    values[_CONDITIONS] = () if conditions is None else unpacked(orjson.loads(conditions))
    cancel = values[_CANCEL]
    values[_CANCEL] = None if cancel is None else CancelRequest(**orjson.loads(cancel))
    return Task(**dict(zip(TASK_FIELDS, values, strict=True)))


def row_of(task: Task) -> list[Any]:
    """The values of TASK_COLUMNS."""
    values: list[Any] = [getattr(task, name) for name in TASK_FIELDS]
    values[_STATUS] = task.status.value
    values[_WAIT] = None if task.wait is None else json(task.wait)
    values[_CONDITIONS] = json(packed(task.conditions)) if task.conditions else None
    values[_CANCEL] = None if task.cancel is None else json(task.cancel)
    return values


def versions_text(versions: Versions) -> str:
    """What a worker's `versions` are kept as."""
    return json({name: list(numbers) for name, numbers in versions.items()})


def versions_of(text: str) -> Versions:
    """A worker's `versions`, as they were kept."""
    return {name: tuple(numbers) for name, numbers in orjson.loads(text).items()}


def worker_of(row: Sequence[Any]) -> WorkerRecord:
    """A WorkerRecord from its fields in their order, sequences and `versions` as JSON."""
    lanes, types = (tuple(orjson.loads(text)) for text in row[2:4])
    *counts, versions = row[4:]
    fields = (str(row[0]), row[1], lanes, types, *counts, versions_of(versions))
    return WorkerRecord(*fields)


def event_of(row: Sequence[Any]) -> Event:
    """An Event from (seq, kind, data, at)."""
    seq, kind, data, at = row
    return Event(seq, kind, orjson.loads(data), at)


def payload_of(text: str | None, size: int | None, blob: str | None) -> Payload | None:
    """A Payload from its three columns; None when there is none."""
    return None if size is None else Payload(text, size, blob)
