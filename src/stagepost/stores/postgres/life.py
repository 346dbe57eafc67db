"""Workers' lives, files and API keys: one statement each."""

from typing import Any, Final

import orjson

from stagepost.errors import Conflict, NotFound
from stagepost.records import ApiKey, Beat, UploadRecord, WorkerRecord
from stagepost.stores.postgres.rows import MS, known
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.rows import json, versions_text
from stagepost.task import CancelRequest

_REGISTER: Final = f"""
INSERT INTO workers
    (id, name, lanes, types, slots, version, state, versions, started_at, beat_at)
VALUES ($2::uuid, $3::text, $4::text, $5::text, $6::integer, $7::text, $8::text, $9::text, {MS},
    {MS})
ON CONFLICT (id) DO NOTHING RETURNING id"""
_BEAT: Final = f"""
WITH b AS (
    UPDATE workers SET beat_at = {MS}, state = $3::text WHERE id = $2::uuid RETURNING beat_at
)
SELECT (SELECT beat_at FROM b), t.id, t.cancel FROM (SELECT 1) AS one LEFT JOIN (
    SELECT t.id, t.cancel FROM claims AS c CROSS JOIN LATERAL unnest(c.tasks) AS u (id)
    JOIN tasks AS t ON t.id = u.id AND t.lease_id = c.lease_id
    WHERE c.worker_id = $2::uuid AND t.cancel IS NOT NULL AND t.status = 'RUNNING') AS t ON true
ORDER BY t.id"""
_STAGE: Final = f"""
INSERT INTO blobs (key, staged_at) VALUES ($2::text, {MS}) ON CONFLICT DO NOTHING RETURNING key"""
_UPLOAD: Final = f"""
WITH up AS (
    INSERT INTO uploads (id, tenant, name, media_type, size, sha256, created_at)
    VALUES ($2::text, $3::text, $4::text, $5::text, $6::bigint, $7::text, {MS})
    ON CONFLICT (id) DO NOTHING RETURNING id
), kept AS (UPDATE blobs SET staged_at = {MS} WHERE key IN (SELECT id FROM up))
SELECT id FROM up"""
_ADD_KEY: Final = f"""
INSERT INTO api_keys (id, hash, name, tenant, "user", roles, created_at)
VALUES ($2::text, $3::text, $4::text, $5::text, $6::text, $7::text, {MS})
ON CONFLICT DO NOTHING RETURNING created_at"""
_OWN_KEY: Final = "SELECT created_at FROM api_keys WHERE id = $1::text AND hash = $2::text"
_REVOKE: Final = f"""
UPDATE api_keys SET revoked_at = {MS}
WHERE id = $2::text AND tenant = $3::text AND revoked_at IS NULL RETURNING id"""
_PING: Final = f"""
INSERT INTO meta (name, value) VALUES ('pinged', {MS}::text)
ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING value"""


async def register(tx: Transaction, worker: WorkerRecord) -> None:
    """A worker that starts to live."""
    row = (worker.id, worker.name, json(worker.lanes), json(worker.types), worker.slots,
           worker.version, worker.state, versions_text(worker.versions))  # fmt: skip
    _taken_unless(tx, await _value(tx, _REGISTER, *row))


async def beat(tx: Transaction, worker_id: str, state: str) -> Beat:
    """A heartbeat: one statement, however many tasks the worker runs."""
    if not known(worker_id):
        return Beat(known=False)
    rows = await tx.connection.fetch(_BEAT, tx.moment.last, worker_id, state)
    beat_at = rows[0][0]
    if beat_at is not None:
        tx.moment.saw(beat_at)
    asked = [(str(row[1]), row[2]) for row in rows if row[1] is not None]
    cancels = tuple((task_id, CancelRequest(**orjson.loads(text))) for task_id, text in asked)
    return Beat(known=beat_at is not None, cancels=cancels)


async def stage(tx: Transaction, blob: str) -> None:
    """A blob that is about to be written."""
    _taken_unless(tx, await _value(tx, _STAGE, blob))


async def keep_upload(tx: Transaction, upload: UploadRecord) -> None:
    """A file that no task names yet: for a day, as any blob that nothing refers to."""
    _taken_unless(tx, await _value(tx, _UPLOAD, *upload))


async def add_key(tx: Transaction, key: ApiKey) -> int:
    """A new key; answers its instant."""
    row = (key.id, key.hash, key.name, key.tenant, key.user, json(key.roles))
    created_at = await _value(tx, _ADD_KEY, *row)
    if created_at is None and tx.again:
        created_at = await tx.connection.fetchval(_OWN_KEY, key.id, key.hash)
    if created_at is None:
        raise Conflict("This key was used before; make a new one.")
    return int(created_at)


async def revoke_key(tx: Transaction, key_id: str, tenant: str) -> None:
    """A key that ends."""
    if await _value(tx, _REVOKE, key_id, tenant) is None and not tx.again:
        raise NotFound(f"There is no key {key_id}.")


async def ping(tx: Transaction) -> int:
    """A write that proves that writes are taken; its instant."""
    return tx.moment.saw(int(await _value(tx, _PING)))


async def _value(tx: Transaction, statement: str, *row: Any) -> Any:
    return await tx.connection.fetchval(statement, tx.moment.last, *row)


def _taken_unless(tx: Transaction, added: Any) -> None:
    # After a try whose answer was lost, what is there is what that try has put there.
    if added is None and not tx.again:
        raise Conflict("Something of this id or name is there already.")
