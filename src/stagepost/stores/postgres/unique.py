"""Unique keys: of a tenant, type and key there is one task that is not over.

Whoever may change who has a key holds the key's lock until its transaction ends. A submit does not
wait for it, so that a batch is not kept back by one of its keys; a redrive waits, for its one key.
The end of a task needs no lock: once it is over it stays so, but for a redrive, which asks for the
key.
"""

import hashlib
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

MOST_LOCKS: Final = 256
"""Keys of one batch: each has a lock, and the server has room for a few thousand."""

_PLACE: Final = "n # hashtextextended('unique keys of ' || current_schema(), 0)"
_LOCK: Final = f"SELECT pg_advisory_xact_lock({_PLACE}) FROM unnest($1::bigint[]) AS n"
_HELD: Final = f"""
SELECT n FROM unnest($1::bigint[]) AS n WHERE NOT pg_try_advisory_xact_lock({_PLACE})"""
_HOLDERS: Final = f"""
SELECT u.tenant, u.type, u.key, u.task_id, {TASK_COLUMNS}
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, type, key)
JOIN unique_keys AS u USING (tenant, type, key) LEFT JOIN tasks AS t ON t.id = u.task_id
WHERE u.holds"""
_HOLD: Final = """
INSERT INTO unique_keys (tenant, type, key, task_id, holds)
SELECT k.*, true FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) AS k"""
_LET_GO: Final = "UPDATE unique_keys SET holds = false WHERE task_id = ANY($1::uuid[])"
_FORGET: Final = "DELETE FROM unique_keys WHERE task_id = ANY($1::uuid[])"
_INPUT: Final = """
UPDATE tasks SET input = $2::text, upload_bytes = $3::bigint WHERE id = $1::uuid"""

_OF_TASK: Final = "SELECT key FROM unique_keys WHERE task_id = $1::uuid"
_HOLD_AGAIN: Final = "UPDATE unique_keys SET holds = true WHERE task_id = $1::uuid"

Key = tuple[str, str, str]
"""A tenant, a type of task and a unique key."""


class UniqueKeyHeld(StoreUnavailable):
    """A transaction that has not ended yet holds the lock of a submit's unique key."""

    def __init__(self) -> None:
        super().__init__("Another request with this unique key has not ended; try it in a moment.")


async def ask(tx: Transaction, batch: Batch) -> list[tuple[NewTask, str]]:
    """Answer those whose key another task has; the keys of the others are theirs now.

    Those whose key's lock is held are answered with UniqueKeyHeld. Returns those that have put off
    a task that has their key, with its id.
    """
    wanting = await _lock_free_ones(tx, batch)
    if not wanting:
        return []
    held = await _held(tx, [key_of(new) for new in wanting])
    fresh = [new for new in wanting if key_of(new) not in held]
    if fresh:
        await tx.connection.execute(_HOLD, *_columns((*key_of(new), new.id) for new in fresh))
    found = {new.id: held[key_of(new)] for new in wanting if key_of(new) in held}
    off = [new for new in wanting if new.debounce and new.id in found]
    put_off = await _put_off(tx, off, found) if off else []
    batch.answer({task_id: _answer(task_id, task) for task_id, task in found.items()})
    return put_off


async def _lock_free_ones(tx: Transaction, batch: Batch) -> list[NewTask]:
    """Lock the keys that no other has locked."""
    locks = {new.id: _lock_of(key_of(new)) for new in batch.left if new.unique_key is not None}
    if not locks:
        return []
    held = {row[0] for row in await tx.connection.fetch(_HELD, sorted({*locks.values()}))}
    batch.answer({each: UniqueKeyHeld() for each, lock in locks.items() if lock in held})
    return [new for new in batch.left if new.id in locks]


async def forget(tx: Transaction, news: Iterable[NewTask]) -> None:
    """Some were refused, and hold no key."""
    ids = [new.id for new in news if new.unique_key is not None]
    if ids:
        await tx.connection.execute(_FORGET, ids)


async def hold_again(tx: Transaction, task: Task) -> None:
    """A dead letter that goes on takes its key back. Raises Conflict if another needs it."""
    row = await tx.connection.fetchrow(_OF_TASK, task.id)
    if row is None:
        return
    key = (task.tenant, task.type, row[0])
    await tx.connection.execute(_LOCK, [_lock_of(key)])
    other = (await _held(tx, [key])).get(key)
    if other is not None:
        raise key_taken(other.id)
    await tx.connection.execute(_HOLD_AGAIN, task.id)


async def _held(tx: Transaction, keys: Sequence[Key]) -> dict[Key, Task]:
    """The tasks that have some of these keys, which are locked; those that are over have let go."""
    rows = [tuple(row) for row in await tx.connection.fetch(_HOLDERS, *_columns(keys))]
    tasks = {row[:3]: task_of(row[4:]) for row in rows if row[4] is not None}
    alive = {key: task for key, task in tasks.items() if task.status not in SETTLED}
    over = [row[3] for row in rows if row[:3] not in alive]
    if over:
        await tx.connection.execute(_LET_GO, over)
    return alive


def _lock_of(key: Key) -> int:
    drawn = hashlib.blake2b("\0".join(key).encode(), digest_size=8).digest()
    return int.from_bytes(drawn, signed=True)


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


def key_of(new: NewTask) -> Key:
    """The key of a submit that has one."""
    assert new.unique_key is not None
    return (new.tenant, new.type, new.unique_key)


def _columns(found: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*found, strict=True)]
