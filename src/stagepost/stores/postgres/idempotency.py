"""Idempotency-Keys: which task each was answered with."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from asyncpg import exceptions as pg

from stagepost.errors import IdempotencyInProgress
from stagepost.records import NewTask, Submitted
from stagepost.stores.accepting import IDEMPOTENCY_KEPT, gone, other_content
from stagepost.stores.postgres.batch import Answer, Batch
from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import Status

PATIENCE: Final = "5s"
"""How long a submit waits for another one with the same key."""

_CAREFUL: Final = "50ms"
_CAREFUL_LIMIT: Final = 5.0  # seconds; then the keys that were not asked for count as held

_OWN: Final = f"""
INSERT INTO idempotency AS i (created_at, tenant, "user", scope, key, fingerprint, task_id)
SELECT $1::bigint, k.* FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
    $7::uuid[]) AS k
ON CONFLICT (tenant, "user", scope, key) DO UPDATE SET created_at = excluded.created_at,
    fingerprint = excluded.fingerprint, task_id = excluded.task_id
    WHERE i.created_at < excluded.created_at - {IDEMPOTENCY_KEPT}
RETURNING task_id"""
_KEYS: Final = "unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::uuid[])"
_EARLIER: Final = f"""
SELECT k.id, i.fingerprint, i.task_id, i.created_at, coalesce(t.status, s.status), t.created_at,
    t.lane
FROM {_KEYS} AS k (tenant, "user", scope, key, id)
JOIN idempotency AS i USING (tenant, "user", scope, key) LEFT JOIN tasks AS t ON t.id = i.task_id
LEFT JOIN tombstones AS s ON t.id IS NULL AND s.task_id = i.task_id"""
_POINT: Final = f"""
UPDATE idempotency AS i SET task_id = k.id FROM {_KEYS} AS k (tenant, "user", scope, key, id)
WHERE i.tenant = k.tenant AND i."user" = k."user" AND i.scope = k.scope AND i.key = k.key"""
_FORGET: Final = f"""
DELETE FROM idempotency AS i USING {_KEYS} AS k (tenant, "user", scope, key, id)
WHERE i.tenant = k.tenant AND i."user" = k."user" AND i.scope = k.scope AND i.key = k.key"""
_OLD: Final = """
DELETE FROM idempotency WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency WHERE created_at < $1::bigint ORDER BY created_at LIMIT $2
    FOR UPDATE SKIP LOCKED))"""
"""Each new key clears out a few that have had their time, so the table stays bounded."""


class KeyHeld(Exception):
    """Some key of the batch has been held by another transaction for all of PATIENCE."""


async def ask(tx: Transaction, batch: Batch, *, careful: bool) -> None:
    """Answer those whose key was used before; the keys of the others are theirs now.

    Raises KeyHeld, after which the transaction is lost, unless it is to be `careful`: then those
    keys are looked for, and their submits refused.
    """
    # In one order everywhere, so that two batches with the same keys wait for each other in turn.
    keyed = sorted((new for new in batch.left if new.idempotency is not None), key=_key_of)
    if not keyed:
        return
    held: list[NewTask] = []
    if careful:
        until = time.monotonic() + _CAREFUL_LIMIT
        await _set_patience(tx, _CAREFUL)
        won = await _own_free_ones(tx, keyed, batch.now, held, until)
        await _set_patience(tx, PATIENCE)
    else:
        try:
            won = await _own(tx, keyed, batch.now)
        except pg.LockNotAvailableError as error:
            raise KeyHeld from error
    await tx.connection.execute(_OLD, batch.now - IDEMPOTENCY_KEPT, 4 * len(keyed))
    batch.answer({new.id: _in_progress() for new in held})
    late = [new for new in keyed if new.id not in won and new.id not in batch.answers]
    if late:
        batch.answer(await _earlier(tx, late))


async def point_at(tx: Transaction, answered: Iterable[tuple[NewTask, str]]) -> None:
    """Some were answered with other tasks than their own."""
    rows = [(*_key_of(new), task_id) for new, task_id in answered if new.idempotency is not None]
    if rows:
        await tx.connection.execute(_POINT, *_columns(rows))


async def forget(tx: Transaction, news: Iterable[NewTask]) -> None:
    """Some were refused, and have used no key."""
    rows = [(*_key_of(new), new.id) for new in news if new.idempotency is not None]
    if rows:
        await tx.connection.execute(_FORGET, *_columns(rows))


async def _set_patience(tx: Transaction, patience: str) -> None:
    await tx.connection.execute("SELECT set_config('lock_timeout', $1::text, true)", patience)


async def _own(tx: Transaction, news: Sequence[NewTask], now: int) -> set[str]:
    """The tasks whose keys are theirs now."""
    rows = [
        (*_key_of(new), new.idempotency.fingerprint, new.id)
        for new in news
        if new.idempotency is not None
    ]
    return {str(row[0]) for row in await tx.connection.fetch(_OWN, now, *_columns(rows))}


async def _own_free_ones(
    tx: Transaction, news: Sequence[NewTask], now: int, held: list[NewTask], until: float
) -> set[str]:
    """The same, but for those whose keys are held: they are put into `held`."""
    if time.monotonic() > until:
        held.extend(news)
        return set()
    try:
        async with tx.connection.transaction():
            return await _own(tx, news, now)
    except pg.LockNotAvailableError:
        if len(news) == 1:
            held.extend(news)
            return set()
    middle = len(news) // 2
    first = await _own_free_ones(tx, news[:middle], now, held, until)
    return first | await _own_free_ones(tx, news[middle:], now, held, until)


async def _earlier(tx: Transaction, news: Sequence[NewTask]) -> dict[str, Answer]:
    found = await tx.connection.fetch(_EARLIER, *_columns((*_key_of(new), new.id) for new in news))
    there = {str(row[0]): tuple(row)[1:] for row in found}
    # What is not there was taken away in between, since it was just then a day old.
    return {new.id: _replay(new, there[new.id]) for new in news if new.id in there} | {
        new.id: _in_progress() for new in news if new.id not in there
    }


def _replay(new: NewTask, row: Sequence[Any]) -> Answer:
    fingerprint, task_id, key_born, last, born, lane = row
    assert new.idempotency is not None
    if fingerprint != new.idempotency.fingerprint:
        return other_content()
    # It is its own forerunner when an earlier try has kept it and the answer was lost.
    replayed = str(task_id) != new.id
    status = None if last is None else Status(last)
    if born is None or status is None:
        return gone(str(task_id), status, key_born)._replace(replayed=replayed)
    return Submitted(str(task_id), status, born, replayed, lane if replayed else "")


def _in_progress() -> IdempotencyInProgress:
    return IdempotencyInProgress(
        "Another request with this Idempotency-Key has not ended yet; try again in a moment."
    )


def _key_of(new: NewTask) -> tuple[str, str, str, str]:
    assert new.idempotency is not None
    return (new.tenant, new.user, new.idempotency.scope, new.idempotency.key)


def _columns(found: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*found, strict=True)]
