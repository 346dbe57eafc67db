"""Which tasks use which uploads: an upload without a task is as unreferenced as any blob.

Whoever changes what refers to an upload locks its row in `blobs` first, and only then looks: so two
that do it at once see each other's outcome.
"""

from collections.abc import Sequence
from typing import Any, Final

from stagepost.records import UploadRecord
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.tombstones import swept

_LOCK: Final = "SELECT key FROM blobs WHERE key = ANY($1::text[]) ORDER BY key FOR UPDATE"
_UPLOADS: Final = """
INSERT INTO uploads (created_at, id, tenant, task_id, name, media_type, size, sha256)
SELECT $1::bigint, u.* FROM unnest($2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[],
    $7::bigint[], $8::text[]) AS u
ON CONFLICT (id) DO NOTHING"""
_USE: Final = """
WITH kept AS (UPDATE blobs SET kept = true WHERE key = ANY($2::text[]))
INSERT INTO upload_uses SELECT * FROM unnest($1::uuid[], $2::text[]) ON CONFLICT DO NOTHING"""
_USED: Final = "SELECT DISTINCT upload_id FROM upload_uses WHERE task_id = ANY($1::uuid[])"
_FREE: Final = """
UPDATE blobs SET kept = false, staged_at = $2::bigint WHERE kept AND key = ANY($1::text[])
    AND NOT EXISTS (SELECT FROM upload_uses WHERE upload_id = key) RETURNING key"""


async def lock(tx: Transaction, upload_ids: Sequence[str]) -> None:
    """See that these files are there, and stay until the transaction ends.

    Raises UploadSwept for one that was swept.
    """
    if not upload_ids:
        return
    rows = await tx.connection.fetch(_LOCK, list(upload_ids))
    known = {row[0] for row in rows}
    for upload_id in upload_ids:
        if upload_id not in known:
            raise swept(upload_id)


async def use(
    tx: Transaction, named: Sequence[tuple[str, Sequence[UploadRecord]]], now: int
) -> None:
    """The inputs of these tasks name these uploads from now on; they are locked."""
    rows: list[tuple[Any, ...]] = [
        (each.upload_id, each.tenant, task_id, each.name, each.media_type, each.size, each.sha256)
        for task_id, uploads in named
        for each in uploads
    ]
    if not rows:
        return
    # A file that was kept before any task named it stays as it is: several may share it.
    columns = [list(column) for column in zip(*rows, strict=True)]
    await tx.connection.execute(_UPLOADS, now, *columns)
    await tx.connection.execute(_USE, columns[2], columns[0])


async def release(tx: Transaction, task_ids: Sequence[str], since: int) -> list[str]:
    """These tasks use no upload any more; answers those that nobody else uses.

    They count as unreferenced since that instant.
    """
    used = [row[0] for row in await tx.connection.fetch(_USED, list(task_ids))]
    if not used:
        return []
    await tx.connection.fetch(_LOCK, used)
    await tx.connection.execute(
        "DELETE FROM upload_uses WHERE task_id = ANY($1::uuid[])", list(task_ids)
    )
    return [row[0] for row in await tx.connection.fetch(_FREE, used, since)]
