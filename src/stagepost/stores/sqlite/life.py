"""Workers' lives, staged blobs and API keys."""

from collections.abc import Sequence
from typing import Final

import orjson

from stagepost.errors import Conflict, NotFound
from stagepost.records import ApiKey, Beat, UploadRecord, WorkerRecord
from stagepost.stores.rows import json, versions_text
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import CancelRequest

_REGISTER: Final = """
INSERT INTO workers (id, name, lanes, types, slots, version, state, started_at, beat_at, versions)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


def register(tx: Transaction, arguments: list[WorkerRecord]) -> Sequence[None]:
    """Workers that start to live."""
    for worker in arguments:
        row = (
            worker.id, worker.name, json(worker.lanes), json(worker.types), worker.slots,
            worker.version, worker.state, tx.now, tx.now, versions_text(worker.versions),
        )  # fmt: skip
        tx.execute(_REGISTER, row)
    return [None] * len(arguments)


def beat(tx: Transaction, arguments: list[tuple[str, str]]) -> Sequence[Beat]:
    """Heartbeats: one row each, however many tasks the worker runs."""
    return [_beat(tx, *argument) for argument in arguments]


def _beat(tx: Transaction, worker_id: str, state: str) -> Beat:
    known = tx.rows(
        "UPDATE workers SET beat_at = ?, state = ? WHERE id = ? RETURNING id",
        (tx.now, state, worker_id),
    )
    asked = tx.rows(
        "SELECT id, cancel FROM tasks WHERE worker_id = ? AND cancel IS NOT NULL", (worker_id,)
    )
    cancels = tuple((row[0], CancelRequest(**orjson.loads(row[1]))) for row in asked)
    return Beat(known=bool(known), cancels=cancels)


def stage(tx: Transaction, arguments: list[str]) -> Sequence[None]:
    """Blobs that are about to be written."""
    for key in arguments:
        tx.execute("INSERT INTO blobs (key, staged_at) VALUES (?, ?)", (key, tx.now))
    return [None] * len(arguments)


def ping(tx: Transaction, arguments: list[None]) -> Sequence[int]:
    """A write that proves that writes are taken; its instant."""
    tx.execute("INSERT OR REPLACE INTO meta VALUES ('pinged', ?)", (str(tx.now),))
    return [tx.now] * len(arguments)


def keep_upload(tx: Transaction, arguments: list[UploadRecord]) -> Sequence[None]:
    """Files that no task names yet: for a day, as any blob that nothing refers to."""
    for upload in arguments:
        row = (
            upload.upload_id, upload.tenant, None, upload.name, upload.media_type, upload.size,
            upload.sha256, tx.now,
        )  # fmt: skip
        tx.execute("INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        tx.execute("UPDATE blobs SET staged_at = ? WHERE key = ?", (tx.now, upload.upload_id))
    return [None] * len(arguments)


def add_key(tx: Transaction, arguments: list[ApiKey]) -> Sequence[int | Conflict]:
    """New keys; answers the instant of each."""
    results: list[int | Conflict] = []
    for key in arguments:
        row = (key.id, key.hash, key.name, key.tenant, key.user, json(key.roles), tx.now, None)
        added = tx.rows(
            """INSERT INTO api_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?)
               ON CONFLICT (hash) DO NOTHING RETURNING id""",
            row,
        )
        results.append(tx.now if added else Conflict("This key was used before; make a new one."))
    return results


def revoke_key(tx: Transaction, arguments: list[tuple[str, str]]) -> Sequence[NotFound | None]:
    """Keys that end."""
    results: list[NotFound | None] = []
    for key_id, tenant in arguments:
        ended = tx.rows(
            """UPDATE api_keys SET revoked_at = ?
               WHERE id = ? AND tenant = ? AND revoked_at IS NULL RETURNING id""",
            (tx.now, key_id, tenant),
        )
        results.append(None if ended else NotFound(f"There is no key {key_id}."))
    return results
