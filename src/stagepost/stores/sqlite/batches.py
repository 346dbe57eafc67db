"""Batches of children.

One thread writes, so what a child's end means for its parent is done in the same transaction, once
for all children of a batch: see `tell_parents`.
"""

from collections.abc import Sequence
from typing import Final

import orjson

from stagepost import lifecycle
from stagepost.batch import Batch, Page, children_of
from stagepost.errors import CancelAsked, Conflict, StagepostError
from stagepost.stores.batches import BATCH_COLUMNS, NOTE_EVERY, batch_of
from stagepost.stores.sqlite import changes, quotas, submitting, uses, waking
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.wording import lease_lost
from stagepost.task import CancelRequest, Lease, Status, Task

_INSERT: Final = """
INSERT INTO batches (id, parent_id, path, name, type, attempts, detached, steps, digest, low, high,
    message)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

_GROW: Final = f"""
UPDATE batches SET made = made + ?2, "left" = "left" + ?2, digest = ?3, sealed = ?4 WHERE id = ?1
RETURNING {BATCH_COLUMNS}"""

_TELL: Final = f"""
UPDATE batches SET "left" = "left" + ?2, failed = failed + ?3 WHERE id = ?1
RETURNING dropped, noted_at, {BATCH_COLUMNS}"""


def spawn(
    tx: Transaction, arguments: list[tuple[Lease, Page, int | None]]
) -> Sequence[Batch | StagepostError]:
    """Pages of children, each with the quota of tenants that have none of their own."""
    return [_spawn(tx, *argument) for argument in arguments]


def _spawn(
    tx: Transaction, lease: Lease, page: Page, max_queued: int | None
) -> Batch | StagepostError:
    parent = changes.owned(tx, lease)
    if parent is None:
        return lease_lost(lease.task_id)
    batch = waking.find_batch(tx, parent.id, page.batch.path)
    if batch is not None and (batch.made > page.first or batch.sealed):
        return batch
    if parent.cancel is not None:
        return CancelAsked(f"Task {parent.id} was asked to stop and starts no children any more.")
    if (batch.made, batch.digest) != (page.first, page.before) if batch else page.first != 0:
        return Conflict(f'The children at "{page.batch.path}" do not go on from {page.first}.')
    gone = uses.missing(tx, [each.upload_id for named in page.uploads.values() for each in named])
    if gone is not None:
        return gone
    quotas.count_children(tx, parent, [child_id for child_id, _ in page.children], max_queued)
    return _make(tx, parent, batch.id if batch else _begin(tx, parent, page), page)


def _begin(tx: Transaction, parent: Task, page: Page) -> str:
    new = page.batch
    row = (
        new.id, parent.id, new.path, new.name, new.type, new.attempts, int(new.detached),
        parent.saved_steps, page.before, new.low, new.high, new.message,
    )  # fmt: skip
    tx.execute(_INSERT, row)
    return new.id


def _make(tx: Transaction, parent: Task, batch_id: str, page: Page) -> Batch:
    submitting.submit_children(tx, children_of(parent, batch_id, page))
    tx.execute(
        "UPDATE tasks SET saved_fence = fence, lost_claims = 0, waits = 0 WHERE id = ?",
        (parent.id,),
    )
    grown = tx.row(_GROW, (batch_id, len(page.children), page.after, int(page.last)))
    assert grown is not None, batch_id
    return batch_of(grown)


def tell_parents(tx: Transaction) -> None:
    """Count what has become of children, and let the parents go on that have waited for that."""
    deltas, tx.deltas = tx.deltas, {}
    for batch_id, (left, failed) in deltas.items():
        row = tx.row(_TELL, (batch_id, left, failed))
        if row is not None and not row[0]:
            _tell_parent(tx, batch_of(row[2:]), row[1])


def tell_progress(tx: Transaction, arguments: list[int]) -> Sequence[int]:
    """Progress of parents that was held back, since others had been told just before."""
    return [_tell_progress(tx, limit) for limit in arguments]


def _tell_progress(tx: Transaction, limit: int) -> int:
    owing = tx.rows(OWING, (tx.now - NOTE_EVERY, limit))
    for noted_at, *row in owing:
        tx.execute("UPDATE batches SET owes = 0 WHERE id = ?", (row[0],))
        _tell_parent(tx, batch_of(row), noted_at)
    return len(owing)


OWING: Final = f"""
SELECT noted_at, {BATCH_COLUMNS} FROM batches WHERE owes = 1 AND noted_at <= ? LIMIT ?"""


def _tell_parent(tx: Transaction, batch: Batch, noted_at: int) -> None:
    parent = changes.find(tx, batch.parent_id)
    change = None if parent is None else lifecycle.children_changed(parent, batch, tx.now)
    if parent is None or change is None:
        return
    owes = change.task.status is parent.status and tx.now - noted_at < NOTE_EVERY
    row = (int(owes), noted_at if owes else tx.now, batch.id)
    tx.execute("UPDATE batches SET owes = ?, noted_at = ? WHERE id = ?", row)
    if not owes:
        changes.save(tx, parent, change)


def cancel_some(tx: Transaction, arguments: list[int]) -> Sequence[int]:
    """Pages of children that are cancelled with their parents."""
    return [_cancel_page(tx, limit) for limit in arguments]


def _cancel_page(tx: Transaction, limit: int) -> int:
    looked = 0
    while looked < limit:
        found = tx.row("SELECT batch_id, request, place FROM cancelling ORDER BY batch_id LIMIT 1")
        if found is None:
            break
        batch_id, request, after = found
        children = tx.rows(
            """SELECT id, place FROM tasks WHERE batch_id = ? AND place > ?
               ORDER BY place LIMIT ?""",
            (batch_id, after, limit - looked),
        )
        if children:
            tx.execute("UPDATE cancelling SET place = ? WHERE batch_id = ?",
                       (children[-1][1], batch_id))  # fmt: skip
        else:
            tx.execute("DELETE FROM cancelling WHERE batch_id = ?", (batch_id,))
        for child_id, _ in children:
            _cancel(tx, changes.load(tx, child_id), CancelRequest(**orjson.loads(request)))
        looked += max(1, len(children))
    return looked


def _cancel(tx: Transaction, child: Task, request: CancelRequest) -> None:
    change = lifecycle.cancelled_with_parent(child, request, tx.now)
    if change is not None:
        changes.save(tx, child, change)
    elif child.status is Status.DEAD_LETTER:
        # It stays one, for a person to see; what it has started has lost its use all the same.
        changes.cancel_children(tx, child.id, request)
