"""How claims end: plain successes in one statement, every other end by the lifecycle."""

from collections.abc import Iterable, Sequence
from typing import Final

from stagepost import lifecycle
from stagepost.outcome import Cancelled, Drained, Failed, Outcome, Succeeded, Waiting
from stagepost.stores.postgres import changes, checkpoints, keyed, waking
from stagepost.stores.postgres.fenced import Answer, Kind, Numbered, Write, sound
from stagepost.stores.postgres.held import Held, Key
from stagepost.stores.postgres.rows import MS, Idle, numbers, texts, unfolded, uuids
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.rows import json
from stagepost.stores.wording import lease_lost
from stagepost.task import Task
from stagepost.waiting import Condition

_SUCCEED: Final = f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), done AS (
    UPDATE tasks AS t SET status = 'COMPLETED', lease_id = NULL, worker_id = NULL, progress = 100,
        cancel = NULL, failure_kind = NULL, error_message = NULL, seq = t.seq + 1, ended_at = n.ms,
        result = r.result, result_size = r.size, result_blob = r.blob
    FROM ROWS FROM (unnest($2::text::uuid[]), unnest($3::text::integer[]),
        unnest($4::text::uuid[]), {unfolded(5)}, unnest($6::text::bigint[]), {unfolded(7)})
        AS r (id, fence, lease_id, result, size, blob), n
    WHERE t.id = r.id AND t.fence = r.fence AND t.lease_id = r.lease_id AND t.status = 'RUNNING'
        -- Always true, and taken by the planner for one row in 200: so it looks each task up by its
        -- id. It would rather read the whole table where that was small when it made its plan.
        AND r.fence % 1 = 0
    RETURNING t.id, t.seq, t.started_at, t.trace_id, t.batch_id, r.blob
), told AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT id, seq, 'completed', '{{"progress":100,"model":null,"processingMs":'
        || (n.ms - coalesce(started_at, n.ms)) || ',"traceId":' || to_json(trace_id) || '}}', n.ms
    FROM done, n
), kept AS (
    UPDATE blobs SET kept = true
    WHERE key = ANY(ARRAY(SELECT blob FROM done WHERE blob IS NOT NULL))
), over AS (
    DELETE FROM claims WHERE lease_id = ANY($8::uuid[])
), woken AS (
    INSERT INTO wakes (batch_id, "left", failed)
    SELECT batch_id, -count(*), 0 FROM done WHERE batch_id IS NOT NULL GROUP BY batch_id
)
SELECT n.ms, CASE WHEN (SELECT count(*) FROM done) < $9::integer
    THEN ARRAY(SELECT id FROM done) END, EXISTS (SELECT FROM done WHERE batch_id IS NOT NULL)
FROM n"""

IDLE: Final[Idle] = (
    _SUCCEED,
    (0, "{}", "{}", "{}", "[]", "{}", "[]", [], 0),
)
"""No ends; see `warming`."""

_PLACES: Final = (
    "SELECT id, type, lane, tenant, concurrency_key FROM tasks WHERE id = ANY($1::uuid[])"
)

_DONE: Final = """
SELECT t.id, t.fence, t.status, e.kind, e.data FROM tasks AS t
JOIN events AS e ON e.task_id = t.id AND e.seq = t.seq WHERE t.id = ANY($1::uuid[])"""


async def settle(tx: Transaction, writes: Numbered, held: Held) -> dict[int, Answer]:
    """Write any ends, each with its progress first, by their numbers."""
    noted = [(n, Write(Kind.PROGRESS, each.lease, None, each.note)) for n, each in writes
             if each.note is not None]  # fmt: skip
    if noted:
        await checkpoints.save(tx, noted)
    good = [(n, each) for n, each in writes if type(each.what) is Succeeded and sound(each.lease)]
    others = [(n, each) for n, each in writes if type(each.what) is not Succeeded]
    answers: dict[int, Answer] = {n: lease_lost(each.lease.task_id) for n, each in writes}
    if good:
        found = await succeed(tx, [each for _, each in good], held)
        answers |= dict(zip((n for n, _ in good), found, strict=True))
    if others:
        answers |= await _settle_others(tx, others, held)
    return answers


async def succeed(tx: Transaction, writes: Sequence[Write], held: Held) -> list[Answer]:
    """Write successes that have no progress to be written; no two of one task."""
    # In the order of their ids, so that two batches with the same tasks don't lock crosswise.
    ordered = sorted(writes, key=lambda each: each.lease.task_id)
    leases = [each.lease for each in ordered]
    ends = [(lease.lease_id, lease.task_id) for lease in leases]
    result, size, blob = zip(*[each.what.result for each in ordered], strict=True)
    row = await tx.connection.fetchrow(
        _SUCCEED,
        tx.moment.last,
        uuids(lease.task_id for lease in leases),
        numbers(lease.fence for lease in leases),
        uuids(lease.lease_id for lease in leases),
        texts(result),
        numbers(size),
        texts(blob),
        held.finished_by(ends),
        len(ordered),
    )
    assert row is not None
    tx.moment.saw(row[0])
    tx.over += ends
    tx.woken = tx.woken or row[2]
    if row[1] is None:
        await _announce(tx, writes, held)
        return [None] * len(writes)
    done = {str(task_id) for task_id in row[1]}
    if tx.again:
        done |= await _ended_so(tx, [each for each in writes if each.lease.task_id not in done])
    await _announce(tx, [each for each in writes if each.lease.task_id in done], held)
    return [
        None if each.lease.task_id in done else lease_lost(each.lease.task_id) for each in writes
    ]


async def _announce(tx: Transaction, done: Sequence[Write], held: Held) -> None:
    leases = [each.lease for each in done]
    tx.events += [lease.task_id for lease in leases]
    places = held.places((lease.lease_id, lease.task_id) for lease in leases)
    keys: list[tuple[Key, str]] = []
    if held.keys:
        keys = [(held.keys[task_id], task_id) for task_id in places if task_id in held.keys]
    if None in places.values():
        foreign = [task_id for task_id, place in places.items() if place is None]
        rows = await tx.connection.fetch(_PLACES, foreign)
        places |= {str(row[0]): (row[1], row[2]) for row in rows}
        keys += [((row[3], row[4]), str(row[0])) for row in rows if row[4] is not None]
    if keys:
        async with tx.connection.transaction():
            await keyed.moved(tx, (), keys)
    tx.count("completed", [place for place in places.values() if place is not None])


async def _settle_others(tx: Transaction, writes: Numbered, held: Held) -> dict[int, Answer]:
    ids = [each.lease.task_id for _, each in writes if sound(each.lease)]
    tasks = await changes.lock(tx, ids)
    happened = await waking.holding(tx, _waits(writes, tasks))
    pairs, failures, ends = [], [], []
    answers: dict[int, Answer] = {}
    lost = []
    for number, each in writes:
        task = tasks.get(each.lease.task_id)
        if task is None or not changes.owns(task, each.lease):
            lost.append((number, each))
            continue
        now, woken = tx.moment.last, task.id in happened
        pairs.append((task, lifecycle.settled(task, each.what, now, happened=woken)))
        if isinstance(each.what, Failed):
            failures.append((task, each.what))
        ends.append((each.lease.lease_id, each.lease.task_id))
        answers[number] = None
    await changes.save(tx, pairs, failures, held.finished_by(ends))
    done = await _ended_so(tx, [each for _, each in lost]) if tx.again and lost else set()
    tx.events += done
    tx.over += [(each.lease.lease_id, each.lease.task_id) for _, each in lost]
    for number, each in lost:
        task_id = each.lease.task_id
        answers[number] = None if task_id in done else lease_lost(task_id)
    return answers


def _waits(writes: Numbered, tasks: dict[str, Task]) -> dict[str, tuple[Condition, ...]]:
    return {
        each.lease.task_id: each.what.conditions
        for _, each in writes
        if isinstance(each.what, Waiting)
        and changes.owns(tasks.get(each.lease.task_id), each.lease)
    }


async def _ended_so(tx: Transaction, writes: Iterable[Write]) -> set[str]:
    """The tasks which an earlier try, whose answer was lost, has ended just so."""
    wanted = {each.lease.task_id: each for each in writes if sound(each.lease)}
    found = await tx.connection.fetch(_DONE, list(wanted))
    return {
        str(row[0])
        for row in found
        if row[1] == wanted[str(row[0])].lease.fence
        and _fits(wanted[str(row[0])].what, row[3], row[4])
    }


def _fits(outcome: Outcome, kind: str, data: str) -> bool:
    """Whether an event is what such an end appends; nobody else ends a claim so."""
    match outcome:
        case Succeeded():
            return kind == "completed"
        case Waiting():
            return kind in {"waiting", "cancelled"} or data == json({"reason": "woken"})
        case Drained(reason=reason):
            return kind == "cancelled" or data == json({"reason": reason})
        case Cancelled():
            return kind == "cancelled"
        case Failed(failure=failure):
            return kind == "cancelled" or f'"{failure.kind}"' in data
