"""Batches of children.

A child's end only leaves a note in `wakes`. Whoever works the notes off (`wake`) holds the parent's
row while it counts them, and a parent that begins to wait looks at the notes as well while it holds
the same row: so one of the two sees the child's end, and nobody ever waits for a lock in a circle.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import orjson

from stagepost import lifecycle
from stagepost.batch import Batch, Page, children_of
from stagepost.errors import CancelAsked, Conflict
from stagepost.lifecycle import Change
from stagepost.stores.batches import NOTE_EVERY, batch_of
from stagepost.stores.postgres import changes, quotas, submitting
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.quotas import Limits
from stagepost.stores.postgres.rows import MS, known
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.postgres.waking import COLUMNS, COUNTED, PLAIN
from stagepost.stores.wording import lease_lost
from stagepost.task import CancelRequest, Lease, Status, Task

_AT: Final = f"""
SELECT {COLUMNS} FROM {COUNTED}
WHERE b.parent_id = $1::uuid AND md5(b.path) = md5($2::text) AND b.path = $2::text
    AND b.dropped = 0"""

_INSERT: Final = """
INSERT INTO batches (id, parent_id, path, name, type, attempts, detached, steps, digest, low, high,
    message)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"""

_GROW: Final = """
WITH parent AS (
    UPDATE tasks SET saved_fence = fence, lost_claims = 0, waits = 0 WHERE id = $5::uuid
)
UPDATE batches SET made = made + $2, "left" = "left" + $2, digest = $3, sealed = $4 WHERE id = $1"""

_WAITED_FOR: Final = f"""
SELECT b.parent_id FROM (SELECT batch_id FROM wakes LIMIT $2::integer) AS w
JOIN batches AS b ON b.id = w.batch_id
UNION SELECT parent_id FROM batches WHERE owes AND noted_at <= {MS} - {NOTE_EVERY}
ORDER BY parent_id LIMIT $2::integer"""
_FORGET_STRAYS: Final = """
DELETE FROM wakes AS w WHERE NOT EXISTS (SELECT FROM batches AS b WHERE b.id = w.batch_id)"""
"""Notes for parents that are gone."""
_PARENTS: Final = f"""{changes.LOCKED} t.id = ANY($2::uuid[])
    ORDER BY t.id FOR UPDATE OF t SKIP LOCKED"""
_COUNT: Final = f"""
WITH gone AS (
    DELETE FROM wakes AS w USING batches AS b WHERE b.id = w.batch_id AND b.parent_id = ANY($1)
    RETURNING w.batch_id, w."left", w.failed
), sums AS (
    SELECT batch_id, sum("left")::integer AS "left", sum(failed)::integer AS failed, count(*) AS n
    FROM gone GROUP BY batch_id
)
UPDATE batches AS b SET "left" = b."left" + sums."left", failed = b.failed + sums.failed
FROM sums WHERE b.id = sums.batch_id
RETURNING sums.n, b.dropped, b.noted_at, {PLAIN}"""

_OWING: Final = f"""
SELECT 1, dropped, noted_at, {PLAIN} FROM batches AS b
WHERE owes AND noted_at <= $1::bigint - {NOTE_EVERY} AND parent_id = ANY($2::uuid[])
    AND NOT id = ANY($3::uuid[])"""
_TOLD: Final = """
UPDATE batches AS b SET owes = r.owes, noted_at = r.noted_at
FROM unnest($1::uuid[], $2::boolean[], $3::bigint[]) AS r (id, owes, noted_at) WHERE b.id = r.id"""

_NEXT_TO_CANCEL: Final = """
SELECT batch_id, request, place FROM cancelling ORDER BY batch_id LIMIT 1 FOR UPDATE SKIP LOCKED"""
_PAGE: Final = f"""{changes.LOCKED} t.id IN (
        SELECT id FROM tasks WHERE batch_id = $2::uuid AND place > $3::integer
        ORDER BY place LIMIT $4::integer)
    ORDER BY t.id FOR UPDATE OF t"""


async def find(db: Backend, parent_id: str, path: str) -> Batch | None:
    """The batch that a task knows under a path."""
    row = await db.fetchrow(_AT, parent_id, path)
    return None if row is None else batch_of(row)


async def spawn(tx: Transaction, lease: Lease, page: Page, limits: Limits) -> Batch:
    """Make a page of children."""
    async with tx.connection.transaction():
        parent = await _owner(tx, lease)
        batch = await find(tx.connection, parent.id, page.batch.path)
        if batch is not None and (batch.made > page.first or batch.sealed):
            return batch
        if parent.cancel is not None:
            raise CancelAsked(
                f"Task {parent.id} was asked to stop and starts no children any more."
            )
        if (batch.made, batch.digest) != (page.first, page.before) if batch else page.first != 0:
            raise Conflict(f'The children at "{page.batch.path}" do not go on from {page.first}.')
        batch_id = batch.id if batch is not None else await _begin(tx, parent, page)
        await submitting.submit_children(tx, children_of(parent, batch_id, page))
        await tx.connection.execute(
            _GROW, batch_id, len(page.children), page.after, page.last, parent.id
        )
        # Last, as it locks what the tenant's submits wait for.
        child_ids = [child_id for child_id, _ in page.children]
        await quotas.count_children(tx, parent, child_ids, limits)
        made = await find(tx.connection, parent.id, page.batch.path)
    assert made is not None, batch_id
    return made


async def _owner(tx: Transaction, lease: Lease) -> Task:
    sound = known(lease.task_id) and known(lease.lease_id)
    parent = (await changes.lock(tx, [lease.task_id])).get(lease.task_id) if sound else None
    if parent is None or not changes.owns(parent, lease):
        raise lease_lost(lease.task_id)
    return parent


async def _begin(tx: Transaction, parent: Task, page: Page) -> str:
    new = page.batch
    await tx.connection.execute(
        _INSERT, new.id, parent.id, new.path, new.name, new.type, new.attempts, new.detached,
        parent.saved_steps, page.before, new.low, new.high, new.message,
    )  # fmt: skip
    return new.id


async def wake(tx: Transaction, limit: int) -> int:
    """Count what children have left notes of, and let parents go on."""
    async with tx.connection.transaction():
        waited_for = [
            str(row[0]) for row in await tx.connection.fetch(_WAITED_FOR, tx.moment.last, limit)
        ]
        if not waited_for:
            await tx.connection.execute(_FORGET_STRAYS)
            return 0
        parents = await changes.take(tx, _PARENTS, waited_for)
        counted = await tx.connection.fetch(_COUNT, list(parents))
        already = [row[3] for row in counted]
        counted += await tx.connection.fetch(_OWING, tx.moment.last, list(parents), already)
        await _tell(tx, parents, [row for row in counted if not row[1]])
    return sum(row[0] for row in counted)


async def _tell(tx: Transaction, parents: dict[str, Task], counted: Iterable[Any]) -> None:
    now, told = tx.moment.last, []
    found: dict[str, Change] = {}
    for row in counted:
        batch = batch_of(row[3:])
        before = found.get(batch.parent_id) or Change(parents[batch.parent_id])
        change = lifecycle.children_changed(before.task, batch, now)
        owes = (
            change is not None
            and change.task.status is before.task.status
            and now - row[2] < NOTE_EVERY
        )
        told.append((batch.id, owes, row[2] if owes else now))
        if change is not None and not owes:
            found[batch.parent_id] = replace(change, facts=before.facts + change.facts)
    await changes.save(tx, [(parents[task_id], change) for task_id, change in found.items()])
    if told:
        await tx.connection.execute(_TOLD, *map(list, zip(*told, strict=True)))


async def cancel_some(tx: Transaction, limit: int) -> int:
    """A page of the children of one batch, cancelled with their parent."""
    async with tx.connection.transaction():
        found = await tx.connection.fetchrow(_NEXT_TO_CANCEL)
        if found is None:
            return 0
        batch_id, request, after = found
        children = await changes.take(tx, _PAGE, batch_id, after, limit)
        await _cancel(tx, children.values(), CancelRequest(**orjson.loads(request)))
        places = [child.place for child in children.values() if child.place is not None]
        if len(places) < limit:
            await tx.connection.execute("DELETE FROM cancelling WHERE batch_id = $1", batch_id)
        else:
            await tx.connection.execute(
                "UPDATE cancelling SET place = $2 WHERE batch_id = $1", batch_id, max(places)
            )
    # There may be another batch.
    return limit


async def _cancel(tx: Transaction, children: Iterable[Task], request: CancelRequest) -> None:
    dead = []
    pairs = []
    for child in children:
        change = lifecycle.cancelled_with_parent(child, request, tx.moment.last)
        if change is not None:
            pairs.append((child, change))
        elif child.status is Status.DEAD_LETTER:
            # It stays one, for a person to see; what it has started has lost its use all the same.
            dead.append((child.id, request))
    await changes.save(tx, pairs)
    await changes.cancel_children(tx, dead)


async def anything_to_wake(db: Backend, last: int) -> bool:
    """Whether children have left notes, or parents are behind with their progress."""
    statement = f"""SELECT EXISTS (SELECT FROM wakes) OR EXISTS (
        SELECT FROM batches WHERE owes AND noted_at <= {MS} - {NOTE_EVERY})"""
    return bool(await db.fetchval(statement, last))


async def anything_to_cancel(db: Backend) -> bool:
    """Whether children are to be cancelled."""
    return bool(await db.fetchval("SELECT EXISTS (SELECT FROM cancelling)"))
