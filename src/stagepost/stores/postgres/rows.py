"""Between PostgreSQL's rows and the domain's data: what differs from `stagepost.stores.rows`."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import orjson

from stagepost.errors import Unwritable
from stagepost.stores import rows
from stagepost.stores.rows import TASK_FIELDS, row_of
from stagepost.task import Status, Task

_TYPES: Final = {
    **dict.fromkeys(("id", "lease_id", "worker_id", "parent_id", "batch_id"), "uuid"),
    **dict.fromkeys(
        ("tenant", "user", "type", "lane", "status", "step", "wait", "conditions", "cancel",
         "failure_kind", "error_message", "trace_id", "concurrency_key"), "text",
    ),
    **dict.fromkeys(
        ("created_at", "deadline", "ttl", "run_at", "due_at", "pooled_at", "waiting_since",
         "started_at", "ended_at", "upload_bytes"), "bigint",
    ),
    **dict.fromkeys(
        ("max_attempts", "attempt", "priority", "fence", "seq", "progress", "saved_steps",
         "saved_fence", "lost_claims", "waits", "place", "code_version"),
        "integer",
    ),
    "hard_deadline": "boolean",
}  # fmt: skip
TASK_TYPES: Final = tuple(_TYPES[name] for name in TASK_FIELDS)
"""The type of each field's column."""

TASK_NAMES: Final = tuple('"user"' if name == "user" else name for name in TASK_FIELDS)
TASK_COLUMNS: Final = ", ".join(f"t.{name}" for name in TASK_NAMES)
"""Every field of a Task, of a table called t."""

_IDS: Final = tuple(TASK_FIELDS.index(name) for name, kind in _TYPES.items() if kind == "uuid")

_ID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

MS: Final = "greatest(now_ms(), $1::bigint)"
"""Now, as a statement takes it that is given the latest instant seen as its first parameter."""


def task_of(row: Sequence[Any]) -> Task:
    """A Task from a row whose first columns are TASK_COLUMNS."""
    values = list(row[: len(TASK_FIELDS)])
    for place in _IDS:
        if values[place] is not None:
            values[place] = str(values[place])
    return rows.task_of(values)


def columns_of(tasks: Iterable[Task]) -> list[list[Any]]:
    """One list for each of TASK_COLUMNS, then one that says which are dead letters."""
    listed = list(tasks)
    columns = [list(column) for column in zip(*map(row_of, listed), strict=True)]
    if not columns:
        columns = [[] for _ in TASK_FIELDS]
    return [*columns, [task.status is Status.DEAD_LETTER for task in listed]]


Idle = tuple[str, tuple[Any, ...]]
"""A statement, and parameters with which it changes nothing."""


def uuids(values: Iterable[str]) -> str:
    """Ids as the text of an array, for `$n::text::uuid[]`; unsound ones are refused there.

    This and the two below are for the statements on every task's path: the driver looks at each
    element of an array by itself, which costs several times as much.
    """
    return f"{{{','.join(values)}}}"


def numbers(values: Iterable[int | None]) -> str:
    """The same of numbers, for `$n::text::bigint[]`."""
    return f"{{{','.join(['NULL' if value is None else str(value) for value in values])}}}"


def texts(values: Sequence[str | None]) -> str:
    """Texts as one JSON array, for `unfolded(n)`."""
    return orjson.dumps(values).decode()


def unfolded(number: int) -> str:
    """What unfolds a parameter that `texts` has made."""
    return f"json_array_elements_text(${number}::text::json)"


def mended(text: str) -> str:
    """Text for people, without what PostgreSQL can't hold."""
    return rows.mended(text).replace("\0", "\N{REPLACEMENT CHARACTER}")


def known(task_id: str) -> bool:
    """Whether a text can be an id at all: what is none names nothing.

    Raises Unwritable for what is no text either.
    """
    if _ID.fullmatch(task_id):
        return True
    try:
        task_id.encode()
    except UnicodeEncodeError as error:
        raise Unwritable(f"The store can't keep this ({error}).") from error
    return False
