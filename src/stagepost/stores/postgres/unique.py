"""Unique keys: of a tenant, type and key there is one task that is not over.

Whoever looks at a key's task has the row of the key locked, and so has a redrive. What an end of a
task needs no lock for: once it is over it stays so, but for a redrive.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from stagepost import lifecycle
from stagepost.errors import StoreUnavailable
from stagepost.records import NewTask, Submitted
from stagepost.stores.accepting import key_taken
from stagepost.stores.accepting import task_of as task_made_of
from stagepost.stores.postgres import changes
from stagepost.stores.postgres.batch import Answer, Batch
from stagepost.stores.postgres.rows import TASK_COLUMNS, task_of
from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import SETTLED, Status, Task

_TRIES: Final = 10
"""Looks at keys that keep changing hands."""

_KEYS: Final = "unnest($1::text[], $2::text[], $3::text[])"
_HOLD: Final = """
INSERT INTO unique_keys (tenant, type, key, task_id, holds)
SELECT k.*, true FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) AS k
ON CONFLICT DO NOTHING RETURNING task_id"""
_LOCK: Final = f"""
SELECT u.tenant, u.type, u.key, u.task_id FROM {_KEYS} AS k (tenant, type, key)
JOIN unique_keys AS u USING (tenant, type, key) WHERE u.holds
ORDER BY u.tenant, u.type, u.key FOR UPDATE OF u"""
_TASKS: Final = f"SELECT {TASK_COLUMNS} FROM tasks AS t WHERE t.id = ANY($1::uuid[])"
_LET_GO: Final = "UPDATE unique_keys SET holds = false WHERE task_id = ANY($1::uuid[])"
_FORGET: Final = "DELETE FROM unique_keys WHERE task_id = ANY($1::uuid[])"
_INPUT: Final = """
UPDATE tasks SET input = $2::text, upload_bytes = $3::bigint WHERE id = $1::uuid"""

_OF_TASK: Final = "SELECT key, holds FROM unique_keys WHERE task_id = $1::uuid FOR UPDATE"
_HOLD_AGAIN: Final = "UPDATE unique_keys SET holds = true WHERE task_id = $1::uuid"

_Key = tuple[str, str, str]


async def ask(tx: Transaction, batch: Batch) -> list[tuple[NewTask, str]]:
    """Answer those whose key another task has; the keys of the others are theirs now.

    Returns those that have put off such a task, with its id.
    """
    wanting = sorted((new for new in batch.left if new.unique_key is not None), key=_key_of)
    found: dict[str, Task] = {}
    asked = list(wanting)
    for _ in range(_TRIES):
        won = await _hold(tx, wanting) if wanting else set()
        wanting = [new for new in wanting if new.id not in won]
        if wanting:
            found |= await _holders(tx, wanting)
            wanting = [new for new in wanting if new.id not in found]
        if not wanting:
            break
    else:
        raise StoreUnavailable("Many want the same unique keys; try again in a moment.")
    off = [new for new in asked if new.debounce and new.id in found]
    put_off = await _put_off(tx, off, found) if off else []
    batch.answer({task_id: _answer(task_id, task) for task_id, task in found.items()})
    return put_off


async def forget(tx: Transaction, news: Iterable[NewTask]) -> None:
    """Some were refused, and hold no key."""
    ids = [new.id for new in news if new.unique_key is not None]
    if ids:
        await tx.connection.execute(_FORGET, ids)


async def hold_again(tx: Transaction, task: Task) -> None:
    """A dead letter that goes on takes its key back. Raises Conflict if another needs it."""
    row = await tx.connection.fetchrow(_OF_TASK, task.id)
    if row is None or row[1]:
        return
    holder = await tx.connection.fetchrow(_LOCK, [task.tenant], [task.type], [row[0]])
    if holder is not None:
        other = (await _tasks(tx, [str(holder[3])])).get(str(holder[3]))
        if other is not None and other.status not in SETTLED:
            raise key_taken(other.id)
        await tx.connection.execute(_LET_GO, [holder[3]])
    await tx.connection.execute(_HOLD_AGAIN, task.id)


async def _hold(tx: Transaction, news: Sequence[NewTask]) -> set[str]:
    """The tasks whose keys nobody had."""
    rows = [(*_key_of(new), new.id) for new in news]
    return {str(row[0]) for row in await tx.connection.fetch(_HOLD, *_columns(rows))}


async def _holders(tx: Transaction, news: Sequence[NewTask]) -> dict[str, Task]:
    """The tasks that have the keys of these, by the ids of these; those that are over let go."""
    locked = await tx.connection.fetch(_LOCK, *_columns(_key_of(new) for new in news))
    # Read only now that nobody else changes who has the keys.
    tasks = await _tasks(tx, [str(row[3]) for row in locked])
    alive = {id_: task for id_, task in tasks.items() if task.status not in SETTLED}
    over = [row[3] for row in locked if str(row[3]) not in alive]
    if over:
        await tx.connection.execute(_LET_GO, over)
    by_key = {tuple(row)[:3]: alive.get(str(row[3])) for row in locked}
    found = {new.id: by_key.get(_key_of(new)) for new in news}
    return {task_id: task for task_id, task in found.items() if task is not None}


async def _tasks(tx: Transaction, task_ids: list[str]) -> dict[str, Task]:
    found = await tx.connection.fetch(_TASKS, task_ids)
    return {task.id: task for task in map(task_of, map(tuple, found))}


async def _put_off(
    tx: Transaction, news: Sequence[NewTask], found: dict[str, Task]
) -> list[tuple[NewTask, str]]:
    """Those of the tasks found that are PENDING take the inputs and run times of these."""
    # What does not wait any more will not do so again, and needs no lock.
    waiting = {found[new.id].id: new for new in news if found[new.id].status is Status.PENDING}
    locked = await changes.lock(tx, waiting) if waiting else {}
    pairs = []
    for task_id, task in locked.items():
        new = waiting[task_id]
        found[new.id] = task
        if task.status is Status.PENDING:
            pairs.append((task, lifecycle.debounced(task, task_made_of(new, tx.moment.last))))
    await changes.save(tx, pairs)
    for _, change in pairs:
        new, task = waiting[change.task.id], change.task
        await tx.connection.execute(_INPUT, task.id, new.input, task.upload_bytes)
    return [(waiting[task.id], task.id) for task, _ in pairs]


def _answer(task_id: str, task: Task) -> Answer:
    # It is its own forerunner when an earlier try has kept it and the answer was lost.
    replayed = task_id != task.id
    return Submitted(task.id, task.status, task.created_at, replayed, task.lane if replayed else "")


def _key_of(new: NewTask) -> _Key:
    assert new.unique_key is not None
    return (new.tenant, new.type, new.unique_key)


def _columns(found: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*found, strict=True)]
