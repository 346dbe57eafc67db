"""Accepting tasks: the plain ones apart, the others by a few statements for the whole batch."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from stagepost import lifecycle
from stagepost.lifecycle import Change
from stagepost.records import NewTask, Submitted, UploadRecord
from stagepost.stores.accepting import is_plain, task_of
from stagepost.stores.postgres import (
    changes,
    idempotency,
    keyed,
    plain_submits,
    quotas,
    unique,
    uses,
)
from stagepost.stores.postgres.batch import Answer, Batch
from stagepost.stores.postgres.idempotency import PATIENCE, KeyHeld
from stagepost.stores.postgres.quotas import Limits
from stagepost.stores.postgres.rows import MS, TASK_NAMES, TASK_TYPES, columns_of
from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import Status

_ARRAYS: Final = ", ".join(
    f"${number}::{kind}[]"
    for number, kind in enumerate((*TASK_TYPES, "boolean", "boolean", "text"), 1)
)
_INSERT: Final = f"""
INSERT INTO tasks ({", ".join(TASK_NAMES)}, dead, tagged, input) SELECT * FROM unnest({_ARRAYS})
ON CONFLICT (id) DO NOTHING RETURNING id"""

_POOL: Final = """
INSERT INTO pool (lane, tenant, type, score, task_id, deadline, pooled_at, hard)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::uuid[], $6::bigint[],
    $7::bigint[], $8::boolean[])"""
_EVENTS: Final = """
INSERT INTO events (task_id, seq, kind, data, at)
SELECT e.*, $1::bigint FROM unnest($2::uuid[], $3::integer[], $4::text[], $5::text[]) AS e"""
_TAGS: Final = """
INSERT INTO tags (tenant, tag, task_id) SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[])
ON CONFLICT DO NOTHING"""

_NOW: Final = f"SELECT {MS}"
_NOW_PATIENTLY: Final = f"SELECT {MS}, set_config('lock_timeout', '{PATIENCE}', true)"


def is_named(new: NewTask) -> bool:
    """Whether a submit has a key, by which it may be another's."""
    return new.idempotency is not None or new.unique_key is not None


def seconds(news: Iterable[NewTask]) -> set[int]:
    """Which of some submits, by their `id()`, have a key that one before them has as well.

    They have to wait until it is known what becomes of that one; and so have those with unique keys
    beyond the first MOST_LOCKS.
    """
    seen: set[tuple[str, ...]] = set()
    later: set[int] = set()
    locks = 0
    for new in news:
        names = _names(new)
        locked = new.unique_key is not None
        if seen.isdisjoint(names) and locks + locked <= unique.MOST_LOCKS:
            seen |= names
            locks += locked
        else:
            later.add(id(new))
    return later


def _names(new: NewTask) -> set[tuple[str, ...]]:
    names: set[tuple[str, ...]] = set()
    if new.idempotency is not None:
        names.add(("once", new.tenant, new.user, new.idempotency.scope, new.idempotency.key))
    if new.unique_key is not None:
        names.add(("unique", new.tenant, new.type, new.unique_key))
    return names


async def submit(tx: Transaction, news: Sequence[NewTask], limits: Limits) -> list[Answer]:
    """Accept a batch of tasks, of which no two have the same key."""
    if limits.old:
        await limits.read(tx.connection)
    plain = [new for new in news if is_plain(new)]
    if not limits.none:
        plain = [new for new in plain if limits.of(new.tenant) is None]
    if len(plain) == len(news):
        return await plain_submits.submit(tx, plain, alone=True)
    try:
        return await _submit_all(tx, news, plain, limits, careful=False)
    except KeyHeld:
        return await _submit_all(tx, news, plain, limits, careful=True)


async def _submit_all(
    tx: Transaction,
    news: Sequence[NewTask],
    plain: list[NewTask],
    limits: Limits,
    *,
    careful: bool,
) -> list[Answer]:
    apart = {id(new) for new in plain}
    others = [new for new in news if id(new) not in apart]
    async with tx.connection.transaction():
        # First what may wait for others, and be undone.
        batch = await _asked(tx, others, limits, careful=careful)
        bulk = plain + [new for new in batch.left if is_plain(new)]
        rest = [new for new in batch.left if not is_plain(new)]
        answers = batch.answers | (await _accept(tx, rest, batch.now) if rest else {})
        accepted = await plain_submits.submit(tx, bulk) if bulk else []
    done = dict(zip(map(id, bulk), accepted, strict=True))
    return [done[id(new)] if id(new) in done else answers[new.id] for new in news]


async def _asked(tx: Transaction, news: list[NewTask], limits: Limits, *, careful: bool) -> Batch:
    """What has to be known before these can be accepted."""
    if len({new.id for new in news}) < len(news):
        raise plain_submits.taken()
    named = any(map(is_named, news))
    now = await tx.connection.fetchval(_NOW_PATIENTLY if named else _NOW, tx.moment.last)
    batch = Batch(tx.moment.saw(now), news)
    if tx.again:
        batch.answer(dict(await plain_submits.there(tx, news)))
    await idempotency.ask(tx, batch, careful=careful)
    asked = batch.left
    put_off = await unique.ask(tx, batch)
    await quotas.ask(tx, batch, limits)
    await _tidy_keys(tx, batch, asked)
    await _use_instead(tx, {task_id: new.uploads for new, task_id in put_off}, batch.now)
    return batch


async def _use_instead(
    tx: Transaction, named: dict[str, tuple[UploadRecord, ...]], now: int
) -> None:
    """These tasks have new inputs; the files of those before may be nobody's now."""
    if named:
        await uses.lock(tx, [each.upload_id for uploads in named.values() for each in uploads])
        await uses.release(tx, list(named), now)
        await uses.use(tx, list(named.items()), now)


async def _tidy_keys(tx: Transaction, batch: Batch, asked: list[NewTask]) -> None:
    """What was refused has used no key; what was answered with another task's id points there."""
    refused: list[NewTask] = []
    elsewhere: list[tuple[NewTask, str]] = []
    for new in asked:
        match batch.answers.get(new.id):
            case Exception():
                refused.append(new)
            case Submitted(task_id=task_id) if task_id != new.id:
                elsewhere.append((new, task_id))
    await idempotency.point_at(tx, elsewhere)
    await idempotency.forget(tx, refused)
    await unique.forget(tx, refused)


async def submit_children(tx: Transaction, news: list[NewTask]) -> None:
    """Accept children of one batch, which have ids of their own."""
    kin = [new.kin for new in news if new.kin is not None]
    if any(not is_plain(new._replace(kin=None)) for new in news):
        await _accept(tx, news, tx.moment.last)
        return
    await plain_submits.submit_children(tx, news, kin)


async def _accept(tx: Transaction, news: list[NewTask], now: int) -> dict[str, Answer]:
    made = {new.id: lifecycle.accepted(task_of(new, now), now) for new in news}
    await uses.lock(tx, [upload.upload_id for new in news for upload in new.uploads])
    kept = await _insert(tx, news, made)
    left = [new for new in news if new.id not in kept]
    answers: dict[str, Answer] = {}
    if left and tx.again:
        answers |= await plain_submits.there(tx, left)
    if len(kept) + len(answers) < len(news):
        # Undoes the keys as well.
        raise plain_submits.taken()
    await _insert_details(tx, [new for new in news if new.id in kept], now)
    return answers | {
        task_id: Submitted(task_id, made[task_id].task.status, now) for task_id in kept
    }


async def _insert(tx: Transaction, news: list[NewTask], made: dict[str, Change]) -> set[str]:
    tasks = [made[new.id].task for new in news]
    tagged, inputs = [bool(new.tags) for new in news], [new.input for new in news]
    rows = await tx.connection.fetch(_INSERT, *columns_of(tasks), tagged, inputs)
    kept = {str(row[0]) for row in rows}
    pairs = [
        (replace(task, status=Status.PENDING), made[task.id]) for task in tasks if task.id in kept
    ]
    queued = [task for task in tasks if task.id in kept and task.status is Status.QUEUED]
    free = [task for task in queued if task.concurrency_key is None]
    if free:
        await tx.connection.execute(_POOL, *_columns(map(changes.place_of, free)))
    if queued:
        facts = _columns(changes.facts_of(pairs))
        await tx.connection.execute(_EVENTS, tx.moment.last, *facts)
    await keyed.moved(tx, [task for task in queued if task.concurrency_key is not None], ())
    changes.announce(tx, pairs)
    return kept


async def _insert_details(tx: Transaction, news: list[NewTask], now: int) -> None:
    tags = [(new.tenant, tag, new.id) for new in news for tag in new.tags]
    if tags:
        await tx.connection.execute(_TAGS, *_columns(tags))
    await uses.use(tx, [(new.id, new.uploads) for new in news], now)


def _columns(found: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*found, strict=True)]
