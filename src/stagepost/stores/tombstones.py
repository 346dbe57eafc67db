"""What every store makes of the tasks that are not kept."""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from stagepost.errors import Conflict, Gone, NotFound, UploadSwept
from stagepost.event import rfc3339
from stagepost.records import Scope
from stagepost.retention import Erasure, Hashes, Tombstone
from stagepost.stores.rows import json
from stagepost.task import FINAL, SETTLED, Status, Task

OWNED: Final = {
    "inputs": "task_id",
    "events": "task_id",
    "steps": "task_id",
    "failures": "task_id",
    "tags": "task_id",
    "artifacts": "task_id",
    "waits": "task_id",
    "signals": "task_id",
    "batches": "parent_id",
    "call_bodies": "task_id",
}
"""Tables whose rows go with their task, and the column that names it; a store may have fewer."""

STONE_COLUMNS: Final = 'task_id, tenant, "user", at, by, hashes, status'


def tombstone_of(row: Any) -> Tombstone:
    """A Tombstone from a row of STONE_COLUMNS."""
    task_id, tenant, user, at, by, text, last = row
    status = None if last is None else Status(last)
    return Tombstone(str(task_id), tenant, user, at, by, text and _hashes_of(text), status)


def _hashes_of(text: str) -> Hashes:
    kept = orjson.loads(text)
    return Hashes(kept["input"], kept["result"], tuple(kept["uploads"]), tuple(kept["artifacts"]))


def hashes_text(hashes: Hashes) -> str:
    """How hashes stand in a row."""
    return json(hashes)


def holds(scope: Scope, stone: Tombstone) -> bool:
    """Whether a tombstone lies in a scope."""
    return scope.tenant in {None, stone.tenant} and scope.user in {None, stone.user}


def absence(task_id: str, scope: Scope, stone: Tombstone | None) -> NotFound:
    """The refusal for a task that is not there, or not for this caller."""
    if stone is None or not holds(scope, stone):
        return NotFound(f"There is no task {task_id}.")
    when = rfc3339(stone.at)
    if stone.by is None:
        return Gone(f"The task {task_id} was pruned on {when}: it had been over for long enough.")
    return Gone(f"The task {task_id} was erased on {when}, on request; only its hashes are kept.")


def unerasable(task: Task, erasure: Erasure) -> Conflict | None:
    """Why a task can't be erased, if it can't."""
    if task.status not in SETTLED:
        return Conflict(
            f"The task is {task.status}; cancel it first, and erase it when it is over."
        )
    if task.seq != erasure.seq:
        return changed_meanwhile()
    return None


def changed_meanwhile() -> Conflict:
    """The refusal of one that was not quick enough."""
    return Conflict("The task has changed in the meantime; look at it and try again.")


def going(found: Iterable[tuple[str, str | None]]) -> list[str]:
    """Of tasks that may go by themselves, each with its parent if that is there: which do go.

    No child goes before its parent, but it may go with it.
    """
    parents = dict(found)
    while True:
        kept = [each for each, parent in parents.items() if parent and parent not in parents]
        if not kept:
            return list(parents)
        for each in kept:
            del parents[each]


def needed_by_parent(parent: Task | None) -> Conflict | None:
    """Why a child can't be erased for its parent's sake, which may still ask for its result."""
    if parent is None or parent.status in FINAL:
        return None
    if parent.status is Status.DEAD_LETTER:
        remedy = "it is a dead letter: discard or erase it first"
    else:
        remedy = f"it is {parent.status}: cancel it first, or wait for its end"
    return Conflict(f"The task {parent.id} may still need what this one, its child, has; {remedy}.")


def has_open_children() -> Conflict:
    """Why a parent can't be erased while its children go on."""
    return Conflict(
        "The task has started others that are not over; cancel them first, and erase it when they "
        "are over."
    )


def swept(upload_id: str) -> UploadSwept:
    """The refusal of an input that names this file."""
    return UploadSwept(
        f"The file {upload_id} is not kept any more, since no task has named it; send it again."
    )
