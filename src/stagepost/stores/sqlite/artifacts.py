"""Files that running tasks keep for their users."""

from collections.abc import Sequence

from stagepost.errors import LeaseLost
from stagepost.records import Artifact
from stagepost.stores.sqlite import changes
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.wording import lease_lost
from stagepost.task import Lease


def attach(tx: Transaction, arguments: list[tuple[Lease, Artifact]]) -> Sequence[LeaseLost | None]:
    """Artifacts of running tasks."""
    results: list[LeaseLost | None] = []
    for lease, artifact in arguments:
        if changes.owned(tx, lease) is None:
            results.append(lease_lost(lease.task_id))
            continue
        tx.execute(
            """UPDATE blobs SET kept = 0, staged_at = ?3 WHERE key IN
                   (SELECT blob FROM artifacts WHERE task_id = ?1 AND name = ?2)""",
            (lease.task_id, artifact.name, tx.now),
        )
        row = (
            lease.task_id, artifact.name, artifact.media_type, artifact.size, artifact.sha256,
            artifact.blob, tx.now,
        )  # fmt: skip
        tx.execute("INSERT OR REPLACE INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        changes.keep_blob(tx, artifact.blob)
        results.append(None)
    return results
