"""Sleeps and signals; see the port for what each verb promises.

What a replay asks again and again is one statement without a lock. It may miss a signal that is
sent at the same moment: the settlement that follows looks once more, with the task locked.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stagepost import lifecycle
from stagepost.errors import StagepostError
from stagepost.records import Checkpoint, Scope
from stagepost.signals import (
    NewWait,
    Pending,
    Signal,
    can_send,
    check_same,
    check_sent,
    digest_of,
    end_of,
    pending,
    wakes,
)
from stagepost.stores.postgres import changes, checkpoints, reading, waking
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.fenced import Kind, Write
from stagepost.stores.postgres.rows import MS, known
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.rows import json
from stagepost.stores.tombstones import absence
from stagepost.stores.wording import absent, lease_lost
from stagepost.task import Lease, Payload, Task
from stagepost.waiting import milliseconds

_BEGIN: Final = f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), owned AS (
    SELECT id FROM tasks WHERE id = $2::uuid AND fence = $3::integer AND lease_id = $4::uuid
        AND status = 'RUNNING'
), begun AS (
    INSERT INTO waits (task_id, path, name, until, approvers, begun_at)
    SELECT id, $5::text, $6::text, n.ms + $7::bigint, $8::text, n.ms FROM owned, n
    WHERE NOT EXISTS (SELECT FROM waits AS w
        WHERE w.task_id = $2::uuid AND md5(w.path) = md5($5::text))
    ON CONFLICT DO NOTHING
)
SELECT n.ms, owned.id IS NOT NULL, w.path IS NOT NULL, w.until,
    EXISTS (SELECT FROM signals AS s
        WHERE s.task_id = $2::uuid AND s.name = $6::text AND NOT s.taken)
FROM n LEFT JOIN owned ON true
LEFT JOIN waits AS w ON w.task_id = $2::uuid AND md5(w.path) = md5($5::text)"""
_SAVED: Final = """
SELECT value FROM steps WHERE task_id = $1::uuid AND md5(path) = md5($2::text) AND fence = $3"""
_OVER: Final = """
DELETE FROM waits WHERE task_id = $1::uuid AND md5(path) = md5($2::text) RETURNING begun_at"""
_TAKE: Final = """
UPDATE signals SET taken = true, body = $3::text WHERE task_id = $1::uuid AND id = $2::uuid"""
_SENT: Final = """
SELECT name, body, taken FROM signals WHERE task_id = $1::uuid AND id = $2::uuid"""
_SEND: Final = """
INSERT INTO signals (task_id, n, id, name, body, sender, roles, sent_at)
SELECT $1::uuid, 1 + coalesce((SELECT max(n) FROM signals WHERE task_id = $1::uuid), 0),
    $2::uuid, $3::text, $4::text, $5::text, $6::text, $7::bigint"""


class PostgresWaits:
    """The Waits port over the store's engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def sleep(self, lease: Lease, path: str, seconds: float) -> Pending:
        """How long a sleep still lasts."""
        return await self._engine.change(lambda tx: _sleep(tx, lease, path, seconds))

    async def listen(self, lease: Lease, wait: NewWait) -> Pending | str:
        """Take a signal, or go on waiting."""
        return await self._engine.change(lambda tx: _listen(tx, lease, wait))

    async def send(self, task_id: str, scope: Scope, signal: Signal) -> Task:
        """Keep a signal."""
        return await self._engine.change(lambda tx: _send(tx, task_id, scope, signal))


async def _sleep(tx: Transaction, lease: Lease, path: str, seconds: float) -> Pending:
    going, _ = await _begin(tx, lease, path, None, seconds, None)
    return going


async def _begin(
    tx: Transaction,
    lease: Lease,
    path: str,
    name: str | None,
    seconds: float | None,
    approvers: Sequence[str] | None,
) -> tuple[Pending, bool]:
    """The wait, and whether there is a signal of its name; it begins if it has not yet."""
    if not (known(lease.task_id) and known(lease.lease_id)):
        raise lease_lost(lease.task_id)
    length = None if seconds is None else milliseconds(seconds)
    named = None if approvers is None else json(approvers)
    row = await tx.connection.fetchrow(_BEGIN, tx.moment.last, *lease, path, name, length, named)
    assert row is not None
    now = tx.moment.saw(row[0])
    if not row[1]:
        raise lease_lost(lease.task_id)
    until = row[3]
    if not row[2] and length is not None:
        until = now + length
    return pending(until, now), bool(row[4])


async def _listen(tx: Transaction, lease: Lease, wanted: NewWait) -> Pending | str:
    path, _, _, signal, timeout, approvers = wanted
    going, is_sent = await _begin(tx, lease, path, signal, timeout, approvers)
    if not is_sent and (going.left is None or going.left > 0) and not tx.again:
        return going
    async with tx.connection.transaction():
        return await _end(tx, lease, wanted)


async def _end(tx: Transaction, lease: Lease, wanted: NewWait) -> Pending | str:
    tasks = await changes.lock(tx, [lease.task_id])
    if not changes.owns(tasks.get(lease.task_id), lease):
        raise lease_lost(lease.task_id)
    if tx.again:
        # An earlier try, whose answer was lost, may have ended it.
        text = await tx.connection.fetchval(_SAVED, lease.task_id, wanted.path, lease.fence)
        if text is not None:
            return str(text)
    now = tx.moment.last
    waits = (await waking.open_waits(tx, [lease.task_id])).get(lease.task_id, [])
    wait = next(each for each in waits if each.path == wanted.path)
    sent = (await waking.signals(tx, [lease.task_id])).get(lease.task_id, [])
    end = end_of(wait, sent, now)
    if end is None:
        return pending(wait.until, now)
    signal, text = end
    begun_at = await tx.connection.fetchval(_OVER, lease.task_id, wanted.path)
    await _save(tx, lease, wanted, text, now - begun_at)
    if signal is not None:
        await tx.connection.execute(_TAKE, lease.task_id, signal.id, digest_of(signal.body))
    return text


async def _save(tx: Transaction, lease: Lease, wanted: NewWait, text: str, took: int) -> None:
    value = Payload(text, len(text.encode()))
    step = Checkpoint(wanted.path, wanted.name, wanted.input_hash, value, took)
    answers = await checkpoints.save(tx, [(0, Write(Kind.STEP, lease, step))])
    if isinstance(answers[0], StagepostError):
        raise answers[0]


async def _send(tx: Transaction, task_id: str, scope: Scope, signal: Signal) -> Task:
    if not known(task_id):
        raise absent(task_id)
    async with tx.connection.transaction():
        task = (await changes.lock(tx, [task_id])).get(task_id)
        waits = (await waking.open_waits(tx, [task_id])).get(task_id, [])
        if task is None:
            raise absence(task_id, scope, await reading.stone_of(tx.connection, task_id))
        if not can_send(task, scope, signal, waits):
            raise absent(task_id)
        sent = await tx.connection.fetchrow(_SENT, task_id, signal.id)
        if sent is not None:
            check_same(signal, sent["name"], sent["body"], taken=sent["taken"])
            return task
        untaken = (await waking.signals(tx, [task_id])).get(task_id, [])
        signal = replace(signal, sent_at=tx.moment.last)
        check_sent(task, signal, waits, untaken)
        await tx.connection.execute(
            _SEND, task_id, signal.id, signal.name, signal.body, signal.sender,
            json(signal.roles), signal.sent_at,
        )  # fmt: skip
        change = lifecycle.woken(task, signal.sent_at) if wakes(task, signal, waits) else None
        if change is None:
            return task
        await changes.save(tx, [(task, change)])
        return change.task
