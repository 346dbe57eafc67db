"""Unique keys: of a tenant, type and key there is one task that is not over."""

from typing import Final

from stagepost.records import NewTask
from stagepost.stores.accepting import key_taken
from stagepost.stores.rows import TASK_COLUMNS, task_of
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import SETTLED, Task

_HELD: Final = "tenant = ? AND type = ? AND key = ? AND holds = 1"
_HOLDER: Final = f"""
SELECT {TASK_COLUMNS} FROM tasks WHERE id = (SELECT task_id FROM unique_keys WHERE {_HELD})"""


def holder(tx: Transaction, new: NewTask) -> Task | None:
    """The task that is to be answered in place of a new one, if there is any."""
    if new.unique_key is None:
        return None
    return _holder(tx, (new.tenant, new.type, new.unique_key))


def _holder(tx: Transaction, key: tuple[str, str, str]) -> Task | None:
    row = tx.row(_HOLDER, key)
    task = None if row is None else task_of(row)
    return None if task is None or task.status in SETTLED else task


def hold(tx: Transaction, new: NewTask) -> None:
    """A new task takes its key; the one that had it is over."""
    if new.unique_key is None:
        return
    key = (new.tenant, new.type, new.unique_key)
    tx.execute(f"UPDATE unique_keys SET holds = 0 WHERE {_HELD}", key)
    tx.execute("INSERT INTO unique_keys VALUES (?, ?, ?, ?, 1)", (new.id, *key))


def hold_again(tx: Transaction, task: Task) -> None:
    """A dead letter that goes on takes its key back. Raises Conflict if another needs it."""
    row = tx.row("SELECT key FROM unique_keys WHERE task_id = ? AND holds = 0", (task.id,))
    if row is None:
        return
    key = (task.tenant, task.type, row[0])
    other = _holder(tx, key)
    if other is not None:
        raise key_taken(other.id)
    tx.execute(f"UPDATE unique_keys SET holds = 0 WHERE {_HELD}", key)
    tx.execute("UPDATE unique_keys SET holds = 1 WHERE task_id = ?", (task.id,))
