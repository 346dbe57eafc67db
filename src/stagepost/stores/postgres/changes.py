"""Changes by the lifecycle: lock the tasks, ask it, and write what it answers in one statement."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from stagepost.batch import delta_of
from stagepost.lifecycle import Change
from stagepost.outcome import Failed
from stagepost.records import Scope
from stagepost.stores.postgres import keyed, reading
from stagepost.stores.postgres.rows import (
    MS,
    TASK_COLUMNS,
    TASK_NAMES,
    TASK_TYPES,
    columns_of,
    task_of,
)
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.rows import json
from stagepost.task import CancelRequest, Lease, Status, Task

_FIXED: Final = {
    "id", "tenant", '"user"', "type", "lane", "created_at", "upload_bytes", "trace_id", "parent_id",
    "batch_id", "place", "concurrency_key",
}  # fmt: skip
_COUNT: Final = len(TASK_NAMES)

PLACE_TYPES: Final = ("text", "text", "text", "bigint", "uuid", "bigint", "bigint", "boolean")
"""Of the columns of the pool, as `place_of` has them."""

LOCKED: Final = f"SELECT {MS}, {TASK_COLUMNS} FROM tasks AS t WHERE"
"""The start of a statement that locks tasks, in the order of their ids: see `take`."""

_BY_ID: Final = f"{LOCKED} t.id = ANY($2::uuid[]) ORDER BY t.id FOR UPDATE OF t"

_ARRAYS: Final = ", ".join(
    f"${number}::{kind}[]" for number, kind in enumerate((*TASK_TYPES, "boolean"), 2)
)
_NEXT: Final = _COUNT + 3
"""The first parameter behind those of the tasks; $1 is the instant."""


def _unnest(first: int, *kinds: str) -> str:
    return ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(kinds, first))


_SAVE: Final = f"""
WITH changed AS (
    UPDATE tasks SET {", ".join(f"{name} = c.{name}" for name in TASK_NAMES if name not in _FIXED)},
        dead = c.dead
    FROM unnest({_ARRAYS}) AS c ({", ".join(TASK_NAMES)}, dead) WHERE tasks.id = c.id
), told AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT e.*, $1::bigint FROM unnest({_unnest(_NEXT, "uuid", "integer", "text", "text")}) AS e
), pooled AS (
    INSERT INTO pool (lane, tenant, type, score, task_id, deadline, pooled_at, hard)
    SELECT * FROM unnest({_unnest(_NEXT + 4, *PLACE_TYPES)})
), unpooled AS (
    -- One that a claim holds is left to it: it finds the task changed, and drops the row.
    DELETE FROM pool WHERE ctid = ANY(ARRAY(
        SELECT p.ctid FROM unnest({_unnest(_NEXT + 12, *PLACE_TYPES[:5])})
            AS l (lane, tenant, type, score, task_id) CROSS JOIN LATERAL (
            SELECT ctid FROM pool AS p WHERE p.lane = l.lane AND p.tenant = l.tenant
                AND p.type = l.type AND p.score = l.score AND p.task_id = l.task_id
            FOR UPDATE SKIP LOCKED) AS p))
), over AS (
    DELETE FROM claims WHERE lease_id = ANY(${_NEXT + 17}::uuid[])
)
INSERT INTO failures (task_id, fence, attempt, kind, message, trace, at)
SELECT f.*, $1::bigint FROM unnest({
    _unnest(_NEXT + 18, "uuid", "integer", "integer", "text", "text", "text")
}) AS f
ON CONFLICT (task_id, fence) DO UPDATE SET attempt = excluded.attempt, kind = excluded.kind,
    message = excluded.message, trace = excluded.trace, at = excluded.at"""

Pair = tuple[Task, Change]


async def lock(tx: Transaction, task_ids: Iterable[str]) -> dict[str, Task]:
    """The tasks of these ids, which nobody else changes before the transaction ends."""
    return await take(tx, _BY_ID, sorted(set(task_ids)))


async def take(tx: Transaction, statement: str, *arguments: Any) -> dict[str, Task]:
    """The tasks that a statement which starts with LOCKED finds."""
    found = await tx.connection.fetch(statement, tx.moment.last, *arguments)
    if found:
        tx.moment.saw(max(row[0] for row in found))
    tasks = [task_of(row[1:]) for row in map(tuple, found)]
    return {task.id: task for task in tasks}


async def save(
    tx: Transaction,
    pairs: Sequence[Pair],
    failures: Sequence[tuple[Task, Failed]] = (),
    over: Iterable[str] = (),
) -> None:
    """Write changed tasks, their facts and their places in the pool; `over` are ended leases."""
    if not pairs:
        return
    tasks = [change.task for _, change in pairs]
    entered = [
        task for (before, _), task in zip(pairs, tasks, strict=True)
        if task.status is Status.QUEUED and before.status is not Status.QUEUED
        and (task.concurrency_key is None or before.status in keyed.IN_LINE)
    ]  # fmt: skip
    left = [
        before for before, change in pairs
        if before.status is Status.QUEUED and change.task.status is not Status.QUEUED
    ]  # fmt: skip
    await tx.connection.execute(
        _SAVE,
        tx.moment.last,
        *columns_of(tasks),
        *_columns(4, facts_of(pairs)),
        *_columns(8, map(place_of, entered)),
        *_columns(5, (place_of(task)[:5] for task in left)),
        list(over),
        *_columns(6, (_failure_of(*failure) for failure in failures)),
    )
    await keyed.moved(tx, *_in_and_out(pairs))
    announce(tx, pairs)
    await _tell_batches(tx, pairs)
    await cancel_children(
        tx,
        [
            (change.task.id, change.task.cancel)
            for before, change in pairs
            if change.task.cancel is not None and before.cancel is None
        ],
    )


async def _tell_batches(tx: Transaction, pairs: Sequence[Pair]) -> None:
    deltas = [
        (change.task.batch_id, delta_of(before.status, change.task.status))
        for before, change in pairs
        if change.task.batch_id is not None
    ]
    rows = [(batch_id, *delta) for batch_id, delta in deltas if delta is not None]
    if rows:
        await tx.connection.execute(_WAKES, *_columns(3, rows))
        tx.woken = True


_WAKES: Final = """
INSERT INTO wakes (batch_id, "left", failed)
SELECT batch_id, sum("left"), sum(failed)
FROM unnest($1::uuid[], $2::integer[], $3::integer[]) AS r (batch_id, "left", failed)
GROUP BY batch_id"""


async def cancel_children(tx: Transaction, asked: Sequence[tuple[str, CancelRequest]]) -> None:
    """Have the children of tasks cancelled, by `children.cancel_some`, but for detached ones."""
    if asked:
        rows = [(task_id, json(request)) for task_id, request in asked]
        await tx.connection.execute(_CANCEL_CHILDREN, *_columns(2, rows))


_CANCEL_CHILDREN: Final = """
INSERT INTO cancelling (batch_id, request)
SELECT b.id, r.request FROM unnest($1::uuid[], $2::text[]) AS r (id, request)
JOIN batches AS b ON b.parent_id = r.id WHERE NOT b.detached
ON CONFLICT DO NOTHING"""


def _in_and_out(pairs: Sequence[Pair]) -> tuple[list[Task], list[tuple[keyed.Key, str]]]:
    """Keyed tasks that come into the line for their keys, and those that leave it."""
    came, gone = [], []
    for before, change in pairs:
        task = change.task
        if task.concurrency_key is not None:
            was, is_now = before.status in keyed.IN_LINE, task.status in keyed.IN_LINE
            if is_now and not was:
                came.append(task)
            elif was and not is_now:
                gone.append((keyed.key_of(task), task.id))
    return came, gone


def facts_of(pairs: Iterable[Pair]) -> list[tuple[str, int, str, str]]:
    """Rows of events without their instant."""
    found = []
    for _, change in pairs:
        first = change.task.seq - len(change.facts) + 1
        for seq, fact in enumerate(change.facts, first):
            found.append((change.task.id, seq, fact.kind, json(fact.data())))
    return found


def place_of(task: Task) -> tuple[str, str, str, int, str, int, int, bool]:
    """A row of the pool; the first five say where it is."""
    assert task.pooled_at is not None
    score = task.pooled_at - task.priority * 1000
    at, hard = task.pooled_at, task.hard_deadline
    return (task.lane, task.tenant, task.pool_type, score, task.id, task.deadline, at, hard)


def announce(tx: Transaction, pairs: Iterable[Pair]) -> None:
    """Note what the doorbells will say."""
    for before, change in pairs:
        task = change.task
        for fact in change.facts:
            tx.counts[task.type, task.lane, fact.kind] += 1
        if change.facts:
            tx.events.append(task.id)
        if task.status is Status.QUEUED and before.status is not Status.QUEUED:
            tx.pooled.add(task.lane)
        if task.cancel is not None and before.cancel is None and task.status is Status.RUNNING:
            tx.cancels.append(task.id)
        if before.lease_id is not None and task.lease_id is None:
            tx.over.append((before.lease_id, task.id))


def _failure_of(task: Task, outcome: Failed) -> tuple[Any, ...]:
    failure = outcome.failure
    kind = failure.kind.value
    return (task.id, task.fence, task.attempt, kind, failure.message, failure.trace)


def _columns(width: int, found: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    columns = [list(column) for column in zip(*found, strict=True)]
    return columns or [[] for _ in range(width)]


async def change_each(
    tx: Transaction, tasks: Iterable[Task], change: Callable[[Task, int], Change | None]
) -> int:
    """Apply a lifecycle function to locked tasks; where it answers None nothing is done."""
    found = [(task, change(task, tx.moment.last)) for task in tasks]
    pairs = [(task, outcome) for task, outcome in found if outcome is not None]
    await save(tx, pairs)
    return len(pairs)


async def for_caller(
    tx: Transaction, task_id: str, scope: Scope, change: Callable[[Task, int], Change | None]
) -> Task:
    """Apply a lifecycle function to a task that a caller names. Raises NotFound, Conflict."""
    task = await find(tx, task_id, scope)
    outcome = change(task, tx.moment.last)
    if outcome is None:
        return task
    await save(tx, [(task, outcome)])
    return outcome.task


async def find(tx: Transaction, task_id: str, scope: Scope) -> Task:
    """A task that a caller may see, locked. Raises NotFound, Gone."""
    task = (await lock(tx, [task_id])).get(task_id)
    if task is None or not scope.holds(task):
        raise await reading.why_absent(tx.connection, task_id, scope, task)
    return task


def owns(task: Task | None, lease: Lease) -> bool:
    """Whether a lease opens a task."""
    return task is not None and task.status is Status.RUNNING and task.lease == lease
