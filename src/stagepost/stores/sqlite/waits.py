"""Sleeps and signals, in the writer's thread; see the port for what each verb promises."""

from collections.abc import Sequence
from dataclasses import replace

from stagepost import lifecycle
from stagepost.errors import Conflict, LeaseLost, NotAllowed
from stagepost.records import Checkpoint, Scope
from stagepost.signals import (
    NewWait,
    OpenWait,
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
from stagepost.stores.rows import json
from stagepost.stores.sqlite import bulk, changes, reading, waking
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.sqlite.writer import Writer
from stagepost.stores.tombstones import absence
from stagepost.stores.wording import absent, lease_lost
from stagepost.task import Lease, Payload, Task
from stagepost.waiting import milliseconds


class SqliteWaits:
    """The Waits port over the store's writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def sleep(self, lease: Lease, path: str, seconds: float) -> Pending:
        """How long a sleep still lasts."""
        left: Pending = await self._writer.call(Kind.STEP, _sleep, (lease, path, seconds))
        return left

    async def listen(self, lease: Lease, wait: NewWait) -> Pending | str:
        """Take a signal, or go on waiting."""
        answer: Pending | str = await self._writer.call(Kind.STEP, _listen, (lease, wait))
        return answer

    async def send(self, task_id: str, scope: Scope, signal: Signal) -> Task:
        """Keep a signal."""
        argument = (task_id, scope, signal)
        task: Task = await self._writer.call(Kind.CHANGE, _send, argument, len(signal.body))
        return task


def _sleep(
    tx: Transaction, arguments: list[tuple[Lease, str, float]]
) -> Sequence[Pending | LeaseLost]:
    return [_sleep_one(tx, *argument) for argument in arguments]


def _sleep_one(tx: Transaction, lease: Lease, path: str, seconds: float) -> Pending | LeaseLost:
    if not changes.owns(tx, lease):
        return lease_lost(lease.task_id)
    until = tx.value("SELECT until FROM waits WHERE task_id = ? AND path = ?", (lease[0], path))
    if until is None:
        until = tx.now + milliseconds(seconds)
        _begin(tx, lease.task_id, OpenWait(path, None, until))
    return pending(until, tx.now)


def _begin(tx: Transaction, task_id: str, wait: OpenWait) -> None:
    approvers = None if wait.approvers is None else json(wait.approvers)
    row = (task_id, wait.path, wait.name, wait.until, approvers, tx.now)
    tx.execute("INSERT INTO waits VALUES (?, ?, ?, ?, ?, ?)", row)


def _listen(
    tx: Transaction, arguments: list[tuple[Lease, NewWait]]
) -> Sequence[Pending | str | Conflict]:
    return [_listen_one(tx, *argument) for argument in arguments]


def _listen_one(tx: Transaction, lease: Lease, wanted: NewWait) -> Pending | str | Conflict:
    if not changes.owns(tx, lease):
        return lease_lost(lease.task_id)
    wait = next((w for w in waking.open_waits(tx, lease.task_id) if w.path == wanted.path), None)
    if wait is None:
        wait = wanted.opened(tx.now)
        _begin(tx, lease.task_id, wait)
    end = end_of(wait, waking.signals(tx, lease.task_id), tx.now)
    if end is None:
        return pending(wait.until, tx.now)
    signal, text = end
    return _save(tx, lease, wanted, text, signal)


def _save(
    tx: Transaction, lease: Lease, wanted: NewWait, text: str, signal: Signal | None
) -> str | Conflict:
    key = (lease.task_id, wanted.path)
    took = tx.now - tx.value("SELECT begun_at FROM waits WHERE task_id = ? AND path = ?", key)
    value = Payload(text, len(text.encode()))
    step = Checkpoint(wanted.path, wanted.name, wanted.input_hash, value, took)
    (refusal,) = bulk.save_steps(tx, [(lease, step, None)])
    if refusal is not None:
        return refusal
    tx.execute("DELETE FROM waits WHERE task_id = ? AND path = ?", key)
    if signal is not None:
        tx.execute(
            "UPDATE signals SET taken = 1, body = ? WHERE task_id = ? AND id = ?",
            (digest_of(signal.body), lease.task_id, signal.id),
        )
    return text


def _send(
    tx: Transaction, arguments: list[tuple[str, Scope, Signal]]
) -> Sequence[Task | Exception]:
    return [_send_one(tx, *argument) for argument in arguments]


def _send_one(tx: Transaction, task_id: str, scope: Scope, signal: Signal) -> Task | Exception:
    task = changes.find(tx, task_id)
    waits = waking.open_waits(tx, task_id)
    if task is None:
        return absence(task_id, scope, reading.stone_of(tx.connection, task_id))
    if not can_send(task, scope, signal, waits):
        return absent(task_id)
    sent = tx.row(
        "SELECT name, body, taken FROM signals WHERE task_id = ? AND id = ?", (task_id, signal.id)
    )
    signal = replace(signal, sent_at=tx.now)
    try:
        if sent is not None:
            check_same(signal, str(sent[0]), str(sent[1]), taken=bool(sent[2]))
            return task
        check_sent(task, signal, waits, waking.signals(tx, task_id))
    except (Conflict, NotAllowed) as error:
        return error
    tx.execute(
        """INSERT INTO signals (task_id, n, id, name, body, sender, roles, sent_at)
           VALUES (?1, 1 + coalesce((SELECT max(n) FROM signals WHERE task_id = ?1), 0),
               ?2, ?3, ?4, ?5, ?6, ?7)""",
        (task_id, signal.id, signal.name, signal.body, signal.sender, json(signal.roles), tx.now),
    )
    change = lifecycle.woken(task, tx.now) if wakes(task, signal, waits) else None
    return task if change is None else changes.save(tx, task, change)
