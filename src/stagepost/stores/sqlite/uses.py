"""Which tasks use which uploads: an upload without a task is as unreferenced as any blob."""

from collections.abc import Sequence

from stagepost.errors import UploadSwept
from stagepost.records import UploadRecord
from stagepost.stores.rows import json
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.tombstones import swept


def missing(tx: Transaction, upload_ids: Sequence[str]) -> UploadSwept | None:
    """The refusal of an input that names a file which has been swept in the meantime."""
    if not upload_ids:
        return None
    known = tx.column(
        "SELECT key FROM blobs WHERE key IN (SELECT value FROM json_each(?))",
        (json(list(upload_ids)),),
    )
    gone = next((upload_id for upload_id in upload_ids if upload_id not in known), None)
    return None if gone is None else swept(gone)


def use(tx: Transaction, task_id: str, uploads: Sequence[UploadRecord]) -> None:
    """A task's input names these uploads from now on; they are not `missing`."""
    for upload in uploads:
        row = (
            upload.upload_id, upload.tenant, task_id, upload.name, upload.media_type, upload.size,
            upload.sha256, tx.now,
        )  # fmt: skip
        # A file that was kept before any task named it stays as it is: several may share it.
        tx.execute("INSERT OR IGNORE INTO uploads VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        tx.execute("INSERT OR IGNORE INTO upload_uses VALUES (?, ?)", (task_id, upload.upload_id))
        tx.execute("UPDATE blobs SET kept = 1 WHERE key = ?", (upload.upload_id,))


def release(tx: Transaction, task_ids: Sequence[str], since: int) -> list[str]:
    """These tasks use no upload any more; answers those that nobody else uses.

    They count as unreferenced since that instant.
    """
    ids = json(list(task_ids))
    released = tx.column(
        """DELETE FROM upload_uses WHERE task_id IN (SELECT value FROM json_each(?))
           RETURNING upload_id""",
        (ids,),
    )
    if not released:
        return []
    return tx.column(
        """UPDATE blobs SET kept = 0, staged_at = ?2 WHERE kept = 1
               AND key IN (SELECT value FROM json_each(?1))
               AND NOT EXISTS (SELECT 1 FROM upload_uses WHERE upload_id = blobs.key)
           RETURNING key""",
        (json(released), since),
    )
