"""Erasing a task: its content goes at once, its hashes and a tombstone stay."""

import logging
from collections.abc import Sequence
from hashlib import sha256

from stagepost.blobs import Blobs
from stagepost.errors import Gone, NotFound, StoreUnavailable
from stagepost.records import Scope, TaskView
from stagepost.retention import UNREFERENCED_KEPT, Erasure, Tombstone
from stagepost.store import Store

_log = logging.getLogger("stagepost.erasing")


async def erase(store: Store, blobs: Blobs, task_id: str, scope: Scope, by: str) -> Tombstone:
    """Erase a settled task; one that was erased before answers as it did then.

    Its row and all rows of its are gone when this returns, and so are its files, unless the blob
    store is away: then the sweeper removes them when it is back. Raises NotFound, Gone for a task
    that was pruned, Conflict for one that is not settled or changes meanwhile.
    """
    try:
        view = await store.get(task_id, scope)
    except Gone:
        stone = await store.retention.tombstone(task_id, scope)
        if stone is None or stone.by is None:
            raise
        return stone
    given = sha256(view.input.encode()).hexdigest()
    wish = Erasure(by, view.task.seq, given, await _hash_of_result(view, blobs))
    stone, keys = await store.retention.erase(task_id, scope, wish)
    try:
        await remove(store, blobs, keys)
    except StoreUnavailable as error:
        _log.warning("files of the erased task %s are left to the sweeper: %s", task_id, error)
    return stone


async def remove(store: Store, blobs: Blobs, keys: Sequence[str]) -> Sequence[str]:
    """Remove those of these blobs to which nothing has referred for a day; answers which.

    The row goes first: then nothing can refer to the blob any more, and what is left of it after a
    crash is a file that no row knows.
    """
    gone = await store.retention.forget_blobs(keys, older_than=UNREFERENCED_KEPT)
    for key in gone:
        await blobs.delete(key)
    return gone


async def _hash_of_result(view: TaskView, blobs: Blobs) -> str | None:
    if view.result is None:
        return None
    if view.result.blob is None:
        return sha256((view.result.text or "null").encode()).hexdigest()
    digest = sha256()
    try:
        async for piece in blobs.stream(view.result.blob):
            digest.update(piece)
    except NotFound:
        # It was lost before; there is nothing to erase, and nothing to hash.
        return None
    return digest.hexdigest()
