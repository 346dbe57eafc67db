"""The verbs on every task's path, each a few statements for a whole group of intents.

Rows go in as one JSON text and `json_each` unfolds them, so that the interpreter's lock is let go
once a statement instead of being fought for at every row (measured, docs/performance.md). What each
does to a task is defined in `stagepost.lifecycle`, and the conformance suite compares the two.

A group may hold several intents of one task (checkpoints of a map): they are applied in rounds,
because one UPDATE changes a row once.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from uuid_utils import uuid7

from stagepost import lifecycle
from stagepost.errors import LeaseLost
from stagepost.outcome import Succeeded
from stagepost.records import Checkpoint, Claimed, Demand, ProgressNote
from stagepost.stores.sqlite import changes
from stagepost.stores.sqlite.rows import json
from stagepost.stores.sqlite.writer import Transaction
from stagepost.task import Lease

Fenced = tuple[Lease, Any, ProgressNote | None]
"""A lease, what is written under it, and the progress that goes with it."""

_OWNED: Final = """
    tasks.id = j.value->>0 AND fence = j.value->>1 AND lease_id = j.value->>2
    AND status = 'RUNNING'"""

_SAVE_STEP: Final = f"""
UPDATE tasks SET seq = seq + 1, saved_steps = saved_steps + 1, saved_fence = fence,
    lost_claims = 0, waits = 0
FROM json_each(?) AS j WHERE {_OWNED}
RETURNING tasks.id, seq, saved_steps, attempt, fence"""

_INSERT_STEPS: Final = """
INSERT INTO steps (task_id, path, n, name, input_hash, value, size, blob, attempt, fence,
    started_at, completed_at)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7,
    value->>8, value->>9, ?2 - (value->>10), ?2
FROM json_each(?1)"""

_STEP_EVENTS: Final = """
INSERT INTO events (task_id, seq, kind, data, at)
SELECT value->>0, value->>1, 'step',
    json_object('name', value->>2, 'path', value->>3, 'state', 'saved'), ?2
FROM json_each(?1)"""

_NOTE: Final = f"""
UPDATE tasks SET seq = seq + 1, progress = max(progress, min(99, j.value->>3)),
    step = coalesce(nullif(j.value->>4, ''), j.value->>5, step)
FROM json_each(?) AS j WHERE {_OWNED}
RETURNING tasks.id, seq, progress"""

_NOTE_EVENTS: Final = """
INSERT INTO events (task_id, seq, kind, data, at)
SELECT value->>0, value->>1, 'progress',
    json_object('progress', value->>2, 'message', value->>3, 'step', value->>4), ?2
FROM json_each(?1)"""

_SUCCEED: Final = f"""
UPDATE tasks SET status = 'COMPLETED', lease_id = NULL, worker_id = NULL, progress = 100,
    cancel = NULL, failure_kind = NULL, error_message = NULL, seq = seq + 1, ended_at = ?2,
    result = j.value->>3, result_size = j.value->>4, result_blob = j.value->>5
FROM json_each(?1) AS j WHERE {_OWNED}
RETURNING tasks.id, seq, ?2 - coalesce(started_at, ?2), trace_id, type, lane"""

_COMPLETED_EVENTS: Final = """
INSERT INTO events (task_id, seq, kind, data, at)
SELECT value->>0, value->>1, 'completed',
    '{"progress":100,"model":null,"processingMs":' || (value->>2)
        || ',"traceId":"' || (value->>3) || '"}', ?2
FROM json_each(?1)"""

_CANDIDATES: Final = """
SELECT lane, score, task_id, deadline FROM pool
WHERE lane = ?1 AND type IN (SELECT value FROM json_each(?2))
    AND EXISTS (SELECT 1 FROM workers WHERE id = ?4)
ORDER BY score, task_id LIMIT ?3"""

_LEAVE_POOL: Final = """
DELETE FROM pool WHERE (lane, score, task_id)
    IN (SELECT value->>0, value->>1, value->>2 FROM json_each(?))"""

_CLAIM: Final = """
UPDATE tasks SET status = 'RUNNING', fence = fence + 1, lease_id = ?2, worker_id = ?3,
    pooled_at = NULL, started_at = coalesce(started_at, ?4), seq = seq + 1
FROM json_each(?1) AS j WHERE tasks.id = j.value->>2 AND status = 'QUEUED'
RETURNING tasks.id, fence, ?2, tenant, user, tasks.type, lane, attempt, max_attempts,
    deadline - ?4, progress, step, saved_steps, lost_claims, waits, trace_id, seq,
    coalesce(input, (SELECT body FROM inputs WHERE task_id = tasks.id))"""

_STARTED_EVENTS: Final = """
INSERT INTO events (task_id, seq, kind, data, at)
SELECT value->>0, value->>1, 'started', '{"attempt":' || (value->>2) || '}', ?2
FROM json_each(?1)"""


def save_steps(tx: Transaction, arguments: list[Fenced]) -> Sequence[LeaseLost | None]:
    """Checkpoints, each with its progress first."""
    note_progress(tx, [(lease, note, None) for lease, _, note in arguments if note is not None])
    return _in_rounds(tx, arguments, _save_round)


def _save_round(tx: Transaction, arguments: list[Fenced]) -> set[str]:
    owned = _owned(tx, _SAVE_STEP, [[*lease_row(lease)] for lease, _, _ in arguments])
    rows, events = [], []
    for lease, checkpoint, _ in arguments:
        task = owned.get(lease.task_id)
        if task is not None:
            _, seq, count, attempt, fence = task
            rows.append(_step_row(lease.task_id, checkpoint, count, attempt, fence))
            events.append([lease.task_id, seq, checkpoint.name, checkpoint.path])
            tx.events.append((lease.task_id, seq))
            if checkpoint.value.blob is not None:
                changes.keep_blob(tx, checkpoint.value.blob)
    tx.execute(_INSERT_STEPS, (json(rows), tx.now))
    tx.execute(_STEP_EVENTS, (json(events), tx.now))
    return set(owned)


def _step_row(
    task_id: str, checkpoint: Checkpoint, count: int, attempt: int, fence: int
) -> list[Any]:
    path, name, input_hash, value, took = checkpoint
    return [
        task_id, path, count, name, input_hash,
        value.text, value.size, value.blob, attempt, fence, took,
    ]  # fmt: skip


def note_progress(tx: Transaction, arguments: list[Fenced]) -> Sequence[LeaseLost | None]:
    """Progress of running tasks."""
    return _in_rounds(tx, arguments, _note_round)


def _note_round(tx: Transaction, arguments: list[Fenced]) -> set[str]:
    owned = _owned(tx, _NOTE, [[*lease_row(lease), *note] for lease, note, _ in arguments])
    events = []
    for lease, note, _ in arguments:
        task = owned.get(lease.task_id)
        if task is not None:
            _, seq, progress = task
            events.append([lease.task_id, seq, progress, note.message, note.step])
            tx.events.append((lease.task_id, seq))
    tx.execute(_NOTE_EVENTS, (json(events), tx.now))
    return set(owned)


def settle(tx: Transaction, arguments: list[Fenced]) -> Sequence[LeaseLost | None]:
    """Ends of claims: successes in bulk, every other outcome by the lifecycle's functions."""
    note_progress(tx, [(lease, note, None) for lease, _, note in arguments if note is not None])
    good = [argument for argument in arguments if type(argument[1]) is Succeeded]
    if len(good) == len(arguments):
        return _in_rounds(tx, arguments, _succeed_round)
    succeeded = iter(_in_rounds(tx, good, _succeed_round))
    return [
        next(succeeded) if type(outcome) is Succeeded else changes.under_lease(tx, lease, outcome)
        for lease, outcome, _ in arguments
    ]


def _succeed_round(tx: Transaction, arguments: list[Fenced]) -> set[str]:
    rows = []
    for lease, outcome, _ in arguments:
        result = outcome.result
        rows.append([*lease_row(lease), result.text, result.size, result.blob])
        if result.blob is not None:
            changes.keep_blob(tx, result.blob)
    done = tx.rows(_SUCCEED, (json(rows), tx.now))
    tx.execute(_COMPLETED_EVENTS, (json(done), tx.now))
    tx.events.extend([(row[0], row[1]) for row in done])
    tx.counts.update([(row[4], row[5], "completed") for row in done])
    return {row[0] for row in done}


def claim(tx: Transaction, arguments: list[Demand]) -> Sequence[Sequence[Claimed]]:
    """Tasks for workers; a group has one Demand, since each changes what the next may take."""
    return [_claim_one(tx, demand) for demand in arguments]


def _claim_one(tx: Transaction, demand: Demand) -> Sequence[Claimed]:
    types = json(demand.types)
    available = {
        lane: tx.rows(_CANDIDATES, (lane, types, demand.slots, demand.worker_id))
        for lane in demand.turns.lanes
    }
    chosen = demand.turns.choose(available, demand.slots)
    if not chosen:
        return ()
    tx.execute(_LEAVE_POOL, (json(chosen),))
    late = [row[2] for row in chosen if row[3] <= tx.now]
    if late:
        changes.apply_each(tx, late, lifecycle.expired)
        chosen = [row for row in chosen if row[3] > tx.now]
    lease_id = str(uuid7())
    rows = tx.rows(_CLAIM, (json(chosen), lease_id, demand.worker_id, tx.now))
    tx.execute(_STARTED_EVENTS, (json([[row[0], row[16], row[7]] for row in rows]), tx.now))
    tx.events.extend((row[0], row[16]) for row in rows)
    tx.counts.update([(row[5], row[6], "started") for row in rows])
    return [Claimed._make(row) for row in rows]


def lease_row(lease: Lease) -> tuple[str, int, str]:
    """A lease as the statements compare it."""
    return lease.task_id, lease.fence, lease.lease_id


def _owned(tx: Transaction, statement: str, rows: list[list[Any]]) -> dict[str, tuple[Any, ...]]:
    return {row[0]: row for row in tx.rows(statement, (json(rows),))}


def _in_rounds(
    tx: Transaction,
    arguments: list[Fenced],
    apply: Callable[[Transaction, list[Fenced]], set[str]],
) -> list[LeaseLost | None]:
    results: list[LeaseLost | None] = [None] * len(arguments)
    for numbers in _rounds(arguments):
        owned = apply(tx, [arguments[number] for number in numbers])
        for number in numbers:
            task_id = arguments[number][0].task_id
            if task_id not in owned:
                results[number] = changes.lease_lost(task_id)
    return results


def _rounds(arguments: list[Fenced]) -> Iterator[list[int]]:
    seen: dict[str, int] = {}
    rounds: list[list[int]] = []
    for number, (lease, _, _) in enumerate(arguments):
        turn = seen.get(lease.task_id, 0)
        seen[lease.task_id] = turn + 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(number)
    return iter(rounds)
