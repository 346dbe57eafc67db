"""What claims write: progress, checkpoints, artifacts and their ends, in that order.

A batch of plain successes is one statement. Any other batch is one transaction of a few: one for
all progress and checkpoints, one for all successes, and the lifecycle's way for every other end.
Every one of them checks in the statement itself that the lease owns the task.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

from stagepost import lifecycle
from stagepost.errors import Conflict
from stagepost.event import StepSaved
from stagepost.outcome import Cancelled, Drained, Failed, Outcome, Succeeded, Waiting
from stagepost.records import Artifact, Checkpoint, ProgressNote
from stagepost.stores.postgres import changes, keyed, waking
from stagepost.stores.postgres.answers import Intent
from stagepost.stores.postgres.held import Held
from stagepost.stores.postgres.rows import MS, known, mended, numbers, texts, unfolded, uuids
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.rows import json
from stagepost.stores.wording import lease_lost, saved_already
from stagepost.task import Lease, Task
from stagepost.waiting import Condition

_WRITE: Final = f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), r AS MATERIALIZED (
    SELECT * FROM unnest($2::uuid[], $3::integer[], $4::uuid[], $5::integer[], $6::text[],
        $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[],
        $14::bigint[], $15::text[]) WITH ORDINALITY
        AS r (id, fence, lease_id, percent, message, label, path, name, input_hash, value, size,
            blob, took, data, no)
), owned AS MATERIALIZED (
    SELECT r.*, t.seq, t.progress, t.saved_steps, t.attempt
    FROM r JOIN tasks AS t ON t.id = r.id AND t.fence = r.fence AND t.lease_id = r.lease_id
    WHERE t.status = 'RUNNING' ORDER BY t.id FOR UPDATE OF t
), w AS MATERIALIZED (
    SELECT owned.*, path IS NOT NULL AND (
        row_number() OVER (PARTITION BY id, path ORDER BY no) > 1 OR EXISTS (
            SELECT 1 FROM steps AS s WHERE s.task_id = owned.id
                AND md5(s.path) = md5(owned.path) AND s.path = owned.path)) AS taken
    FROM owned
), k AS MATERIALIZED (
    -- `upto` counts a task's new events up to this row, `nth` its new steps.
    SELECT w.*, sum((percent IS NOT NULL)::integer + (path IS NOT NULL)::integer) OVER q AS upto,
        count(path) OVER q AS nth,
        greatest(progress, max(least(99, percent)) FILTER (WHERE percent IS NOT NULL) OVER q)
            AS reached
    FROM w WHERE NOT taken WINDOW q AS (PARTITION BY id ORDER BY no)
), noted AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT id, seq + upto - (path IS NOT NULL)::integer, 'progress',
        '{{"progress":' || reached || ',' || message, n.ms
    FROM k, n WHERE percent IS NOT NULL
), told AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT id, seq + upto, 'step', data, n.ms FROM k, n WHERE path IS NOT NULL
), saved AS (
    INSERT INTO steps (task_id, path, n, name, input_hash, value, size, blob, attempt, fence,
        started_at, completed_at)
    SELECT id, path, saved_steps + nth, name, input_hash, value, size, blob, attempt, fence,
        n.ms - took, n.ms
    FROM k, n WHERE path IS NOT NULL
), kept AS (
    UPDATE blobs SET kept = true WHERE key = ANY(ARRAY(SELECT blob FROM k WHERE blob IS NOT NULL))
), changed AS (
    UPDATE tasks SET seq = tasks.seq + s.told, progress = s.reached,
        step = coalesce(s.label, tasks.step), saved_steps = tasks.saved_steps + s.saved,
        saved_fence = CASE WHEN s.saved > 0 THEN tasks.fence ELSE tasks.saved_fence END,
        lost_claims = CASE WHEN s.saved > 0 THEN 0 ELSE tasks.lost_claims END,
        waits = CASE WHEN s.saved > 0 THEN 0 ELSE tasks.waits END
    FROM (SELECT id, max(upto) AS told, count(path) AS saved, max(reached) AS reached,
            (array_agg(label ORDER BY no DESC) FILTER (WHERE label IS NOT NULL))[1] AS label
        FROM k GROUP BY id) AS s
    WHERE tasks.id = s.id
)
SELECT n.ms, w.no, w.taken FROM n LEFT JOIN w ON true"""

_SUCCEED: Final = f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), done AS (
    UPDATE tasks AS t SET status = 'COMPLETED', lease_id = NULL, worker_id = NULL, progress = 100,
        cancel = NULL, failure_kind = NULL, error_message = NULL, seq = t.seq + 1, ended_at = n.ms,
        result = r.result, result_size = r.size, result_blob = r.blob
    FROM ROWS FROM (unnest($2::text::uuid[]), unnest($3::text::integer[]),
        unnest($4::text::uuid[]), {unfolded(5)}, unnest($6::text::bigint[]), {unfolded(7)})
        AS r (id, fence, lease_id, result, size, blob), n
    WHERE t.id = r.id AND t.fence = r.fence AND t.lease_id = r.lease_id AND t.status = 'RUNNING'
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

_PLACES: Final = (
    "SELECT id, type, lane, tenant, concurrency_key FROM tasks WHERE id = ANY($1::uuid[])"
)

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

_DONE: Final = """
SELECT t.id, t.fence, t.status, e.kind, e.data FROM tasks AS t
JOIN events AS e ON e.task_id = t.id AND e.seq = t.seq WHERE t.id = ANY($1::uuid[])"""
_STEPS: Final = """
SELECT s.task_id, s.path, s.fence, s.value, s.blob
FROM unnest($1::uuid[], $2::text[]) AS r (id, path)
JOIN steps AS s ON s.task_id = r.id AND md5(s.path) = md5(r.path) AND s.path = r.path"""


class Kind(IntEnum):
    """The order within a batch.

    What one claim has in flight at once is never refused because the claim's own end is with it.
    """

    PROGRESS = 0
    STEP = 1
    ARTIFACT = 2
    SETTLE = 3


class Write(NamedTuple):
    """A lease, what is written under it, and the progress that goes before it."""

    kind: Kind
    lease: Lease
    what: Any
    note: ProgressNote | None = None


Answer = Conflict | None


def second_ends(batch: list[Intent]) -> list[Intent]:
    """Ends of tasks whose end is in the batch already."""
    seen: set[str] = set()
    later = []
    for intent in batch:
        write: Write = intent.argument
        if write.kind is Kind.SETTLE:
            if write.lease.task_id in seen:
                later.append(intent)
            seen.add(write.lease.task_id)
    return later


async def write(tx: Transaction, writes: Sequence[Write], held: Held) -> list[Answer]:
    """Write a batch; answers None where it was done."""
    if all(_is_plain(each) for each in writes) and not _keyed(writes, held):
        return await _succeed(tx, writes, held)
    answers: dict[int, Answer] = {}
    async with tx.connection.transaction():
        answers |= await write_steps(tx, _of(writes, Kind.PROGRESS, Kind.STEP))
        for number, each in _of(writes, Kind.ARTIFACT):
            answers[number] = await _attach(tx, each.lease, each.what)
        answers |= await _settle(tx, _of(writes, Kind.SETTLE), held)
    return [answers[number] for number in range(len(writes))]


Numbered = list[tuple[int, Write]]


def _of(writes: Sequence[Write], *kinds: Kind) -> Numbered:
    found = [(number, each) for number, each in enumerate(writes) if each.kind in kinds]
    return sorted(found, key=lambda item: item[1].kind)


def _is_plain(each: Write) -> bool:
    return type(each.what) is Succeeded and each.note is None and _sound(each.lease)


def _keyed(writes: Sequence[Write], held: Held) -> bool:
    return bool(held.keys) and any(each.lease.task_id in held.keys for each in writes)


def _sound(lease: Lease) -> bool:
    return known(lease.task_id) and known(lease.lease_id)


# Progress and checkpoints


async def write_steps(tx: Transaction, writes: Numbered) -> dict[int, Answer]:
    """Write progress and checkpoints, by their numbers."""
    sound = [(number, each) for number, each in writes if _sound(each.lease)]
    answers: dict[int, Answer] = {number: lease_lost(each.lease.task_id) for number, each in writes}
    if not sound:
        return answers
    rows = [_step_row(each) for _, each in sound]
    found = await tx.connection.fetch(_WRITE, tx.moment.last, *map(list, zip(*rows, strict=True)))
    tx.moment.saw(found[0][0])
    for _, no, taken in found:
        if no is None:
            break
        number, each = sound[no - 1]
        answers[number] = _saved_already(each.what) if taken else None
        if not taken:
            tx.events += [each.lease.task_id] * _facts(each)
    if tx.again:
        await _recognise_steps(tx, sound, answers)
    return answers


def _facts(each: Write) -> int:
    return (each.note is not None) + (each.what is not None)


def _saved_already(step: Checkpoint) -> Conflict:
    return saved_already(step.path)


def _step_row(each: Write) -> tuple[Any, ...]:
    note, step = each.note, each.what
    told: tuple[Any, ...] = (None, None, None)
    if note is not None:
        # A message for people is mended rather than refused: it must not cost the task its result.
        message, name = mended(note.message), note.step and mended(note.step)
        data = json({"message": message, "step": name})
        told = (int(note.percent), data[1:], message or name or None)
    if step is None:
        return (*_key(each.lease), *told, *[None] * 8)
    path, name, input_hash, value, took = step
    fact = json(StepSaved(name, path).data())
    return (*_key(each.lease), *told, path, name, input_hash, *value, took, fact)


def _key(lease: Lease) -> tuple[str, int, str]:
    return (lease.task_id, lease.fence, lease.lease_id)


async def _recognise_steps(tx: Transaction, writes: Numbered, answers: dict[int, Answer]) -> None:
    """A checkpoint that an earlier try has saved, whose answer was lost, is no conflict."""
    doubtful = [(n, each) for n, each in writes if answers[n] is not None and each.what is not None]
    if not doubtful:
        return
    ids = [each.lease.task_id for _, each in doubtful]
    found = await tx.connection.fetch(_STEPS, ids, [each.what.path for _, each in doubtful])
    there = {(str(row[0]), row[1]): tuple(row[2:]) for row in found}
    for number, each in doubtful:
        value = each.what.value
        mine = (each.lease.fence, value.text, value.blob)
        if there.get((each.lease.task_id, each.what.path)) == mine:
            answers[number] = None
            tx.events += [each.lease.task_id] * _facts(each)


# Artifacts


async def _attach(tx: Transaction, lease: Lease, artifact: Artifact) -> Answer:
    tasks = await changes.lock(tx, [lease.task_id]) if _sound(lease) else {}
    if not changes.owns(tasks.get(lease.task_id), lease):
        return lease_lost(lease.task_id)
    await tx.connection.execute(
        _ATTACH, tx.moment.last, lease.task_id, artifact.name, artifact.media_type, artifact.size,
        artifact.sha256, artifact.blob,
    )  # fmt: skip
    return None


# Ends


async def _settle(tx: Transaction, writes: Numbered, held: Held) -> dict[int, Answer]:
    noted = [(n, Write(Kind.PROGRESS, each.lease, None, each.note)) for n, each in writes
             if each.note is not None]  # fmt: skip
    if noted:
        await write_steps(tx, noted)
    good = [(n, each) for n, each in writes if type(each.what) is Succeeded and _sound(each.lease)]
    others = [(n, each) for n, each in writes if type(each.what) is not Succeeded]
    answers: dict[int, Answer] = {n: lease_lost(each.lease.task_id) for n, each in writes}
    if good:
        found = await _succeed(tx, [each for _, each in good], held)
        answers |= dict(zip((n for n, _ in good), found, strict=True))
    if others:
        answers |= await _settle_others(tx, others, held)
    return answers


async def _succeed(tx: Transaction, writes: Sequence[Write], held: Held) -> list[Answer]:
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
    places = {lease.task_id: held.place(lease.lease_id, lease.task_id) for lease in leases}
    keys = [(held.keys[task_id], task_id) for task_id in places if task_id in held.keys]
    foreign = [task_id for task_id, place in places.items() if place is None]
    if foreign:
        rows = await tx.connection.fetch(_PLACES, foreign)
        places |= {str(row[0]): (row[1], row[2]) for row in rows}
        keys += [((row[3], row[4]), str(row[0])) for row in rows if row[4] is not None]
    if keys:
        async with tx.connection.transaction():
            await keyed.moved(tx, (), keys)
    tx.count("completed", [place for place in places.values() if place is not None])


async def _settle_others(tx: Transaction, writes: Numbered, held: Held) -> dict[int, Answer]:
    ids = [each.lease.task_id for _, each in writes if _sound(each.lease)]
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
    wanted = {each.lease.task_id: each for each in writes if _sound(each.lease)}
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
