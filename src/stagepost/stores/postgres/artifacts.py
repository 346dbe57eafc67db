"""Files that running tasks keep for their users."""

from typing import Final

from stagepost.records import Artifact
from stagepost.stores.postgres import changes
from stagepost.stores.postgres.fenced import Answer, sound
from stagepost.stores.postgres.rows import MS
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.wording import lease_lost
from stagepost.task import Lease

_ATTACH: Final = f"""
WITH old AS (
    UPDATE blobs SET kept = false, staged_at = {MS} WHERE key IN (
        SELECT blob FROM artifacts WHERE task_id = $2::uuid AND name = $3::text)
        AND key <> $7::text
), kept AS (
    UPDATE blobs SET kept = true WHERE key = $7::text
)
INSERT INTO artifacts (task_id, name, media_type, size, sha256, blob, created_at)
VALUES ($2::uuid, $3::text, $4::text, $5::bigint, $6::text, $7::text, {MS})
ON CONFLICT (task_id, name) DO UPDATE SET media_type = excluded.media_type, size = excluded.size,
    sha256 = excluded.sha256, blob = excluded.blob, created_at = excluded.created_at"""


async def attach(tx: Transaction, lease: Lease, artifact: Artifact) -> Answer:
    """An artifact of a running task; one of the same name is replaced."""
    tasks = await changes.lock(tx, [lease.task_id]) if sound(lease) else {}
    if not changes.owns(tasks.get(lease.task_id), lease):
        return lease_lost(lease.task_id)
    await tx.connection.execute(
        _ATTACH, tx.moment.last, lease.task_id, artifact.name, artifact.media_type, artifact.size,
        artifact.sha256, artifact.blob,
    )  # fmt: skip
    return None
