"""The verbs on every task's path, each a few statements for a whole group of intents.

Rows go in as one JSON text and `json_each` unfolds them, so that the interpreter's lock is let go
once a statement instead of being fought for at every row (measured, docs/performance.md). What each
does to a task is defined in `stagepost.lifecycle`, and the conformance suite compares the two.

A group may hold several intents of one task (checkpoints of a map): they are applied in rounds,
because one UPDATE changes a row once. The progress that goes with an intent is applied before it,
in the same round, and only if the intent itself is taken.
"""

from collections.abc import Callable, Container, Sequence
from typing import Any, Final

from uuid_utils import uuid7

from stagepost import lifecycle
from stagepost.errors import Conflict
from stagepost.outcome import Succeeded
from stagepost.records import Checkpoint, Claimed, Demand, ProgressNote
from stagepost.stores.sqlite import changes
from stagepost.stores.sqlite.rows import json, mended
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import Lease

Fenced = tuple[Lease, Any, ProgressNote | None]
"""A lease, what is written under it, and the progress that goes with it."""

_OWNED: Final = """
    tasks.id = j.value->>0 AND fence = j.value->>1 AND lease_id = j.value->>2
    AND status = 'RUNNING'"""

_UNSAVED: Final = f"""
SELECT tasks.id, EXISTS (SELECT 1 FROM steps WHERE task_id = tasks.id AND path = j.value->>3)
FROM json_each(?) AS j JOIN tasks ON {_OWNED}"""

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
UPDATE tasks SET seq = seq + 1, progress = max(progress, min(99, CAST(j.value->>3 AS INTEGER))),
    step = coalesce(nullif(j.value->>4, ''), nullif(j.value->>5, ''), step)
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
        || ',"traceId":' || json_quote(value->>3) || '}', ?2
FROM json_each(?1)"""

_CANDIDATES: Final = """
SELECT lane, score, task_id, deadline FROM pool
WHERE lane = ?1 AND type IN (SELECT value FROM json_each(?2))
    AND EXISTS (SELECT 1 FROM workers WHERE id = ?4)
ORDER BY score, task_id LIMIT ?3"""

_LATE_ROUNDS: Final = 32
"""Tries to find one that is not past its deadline; what then is left is `expire_queued`'s."""

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


def save_steps(tx: Transaction, arguments: list[Fenced]) -> Sequence[Conflict | None]:
    """Checkpoints, each with its progress first; a path that is saved already is refused."""
    return _in_rounds(tx, arguments, _save_round)


def _save_round(tx: Transaction, arguments: list[Fenced]) -> list[Conflict | None]:
    leases = [[*lease_row(lease), checkpoint.path] for lease, checkpoint, _ in arguments]
    owned = {task_id: bool(saved) for task_id, saved in tx.rows(_UNSAVED, (json(leases),))}
    fresh = [argument for argument in arguments if owned.get(argument[0].task_id) is False]
    if fresh:
        _save_fresh(tx, fresh)
    return [_save_refusal(lease, step, owned.get(lease.task_id)) for lease, step, _ in arguments]


def _save_refusal(lease: Lease, step: Checkpoint, saved: bool | None) -> Conflict | None:  # noqa: FBT001
    if saved is None:
        return changes.lease_lost(lease.task_id)
    return Conflict(f'The step "{step.path}" is saved already.') if saved else None


def _save_fresh(tx: Transaction, arguments: list[Fenced]) -> None:
    _note_round(tx, _notes(arguments))
    saved = _by_id(tx, _SAVE_STEP, [lease_row(lease) for lease, _, _ in arguments])
    rows, events = [], []
    for lease, checkpoint, _ in arguments:
        _, seq, count, attempt, fence = saved[lease.task_id]
        rows.append(_step_row(lease.task_id, checkpoint, count, attempt, fence))
        events.append([lease.task_id, seq, checkpoint.name, checkpoint.path])
        tx.events.append((lease.task_id, seq))
        if checkpoint.value.blob is not None:
            changes.keep_blob(tx, checkpoint.value.blob)
    tx.execute(_INSERT_STEPS, (json(rows), tx.now))
    tx.execute(_STEP_EVENTS, (json(events), tx.now))


def _step_row(
    task_id: str, checkpoint: Checkpoint, count: int, attempt: int, fence: int
) -> list[Any]:
    path, name, input_hash, value, took = checkpoint
    return [
        task_id, path, count, name, input_hash,
        value.text, value.size, value.blob, attempt, fence, took,
    ]  # fmt: skip


def note_progress(tx: Transaction, arguments: list[Fenced]) -> Sequence[Conflict | None]:
    """Progress of running tasks, given as the notes that go with nothing else."""
    return _in_rounds(tx, arguments, _note_round)


def _note_round(tx: Transaction, arguments: list[Fenced]) -> list[Conflict | None]:
    rows = [_note_row(lease, note) for lease, _, note in arguments if note is not None]
    if not rows:
        return []
    noted = _by_id(tx, _NOTE, rows)
    events = []
    for row in rows:
        task_id, _, _, _, message, step = row
        if task_id in noted:
            _, seq, progress = noted[task_id]
            events.append([task_id, seq, progress, message, step])
            tx.events.append((task_id, seq))
    tx.execute(_NOTE_EVENTS, (json(events), tx.now))
    return _refusals(arguments, noted)


def _note_row(lease: Lease, note: ProgressNote) -> tuple[Any, ...]:
    # A message for people is mended rather than refused: it must not cost the task its result.
    message, step = mended(note.message), note.step and mended(note.step)
    return (*lease_row(lease), note.percent, message, step)


def _notes(arguments: list[Fenced]) -> list[Fenced]:
    return [argument for argument in arguments if argument[2] is not None]


def settle(tx: Transaction, arguments: list[Fenced]) -> Sequence[Conflict | None]:
    """Ends of claims: successes in bulk, every other outcome by the lifecycle's functions."""
    return _in_rounds(tx, arguments, _settle_round)


def _settle_round(tx: Transaction, arguments: list[Fenced]) -> list[Conflict | None]:
    _note_round(tx, _notes(arguments))
    good = [argument for argument in arguments if type(argument[1]) is Succeeded]
    done = _succeed(tx, good) if good else {}
    return [
        _refusal(lease, done)
        if type(outcome) is Succeeded
        else changes.under_lease(tx, lease, outcome)
        for lease, outcome, _ in arguments
    ]


def _succeed(tx: Transaction, arguments: list[Fenced]) -> dict[str, tuple[Any, ...]]:
    rows = []
    for lease, outcome, _ in arguments:
        result = outcome.result
        rows.append((*lease_row(lease), result.text, result.size, result.blob))
    done = {row[0]: row for row in tx.rows(_SUCCEED, (json(rows), tx.now))}
    for task_id, _, _, _, _, blob in rows:
        if blob is not None and task_id in done:
            changes.keep_blob(tx, blob)
    tx.execute(_COMPLETED_EVENTS, (json(list(done.values())), tx.now))
    tx.events.extend([(row[0], row[1]) for row in done.values()])
    tx.counts.update([(row[4], row[5], "completed") for row in done.values()])
    return done


def claim(tx: Transaction, arguments: list[Demand]) -> Sequence[Sequence[Claimed]]:
    """Tasks for workers, one after the other: each changes what the next may take."""
    return [_claim_one(tx, demand) for demand in arguments]


def _claim_one(tx: Transaction, demand: Demand) -> Sequence[Claimed]:
    types = json(demand.types)
    for _ in range(_LATE_ROUNDS):
        available = {
            lane: tx.rows(_CANDIDATES, (lane, types, demand.slots, demand.worker_id))
            for lane in demand.turns.lanes
        }
        chosen = demand.turns.choose(available, demand.slots)
        if not chosen:
            return ()
        tx.execute(_LEAVE_POOL, (json(chosen),))
        in_time = _in_time(tx, chosen)
        if in_time:
            return _start(tx, in_time, demand.worker_id)
    return ()


def _in_time(tx: Transaction, chosen: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    late = [row[2] for row in chosen if row[3] <= tx.now]
    if not late:
        return chosen
    changes.apply_each(tx, late, lifecycle.expired)
    return [row for row in chosen if row[3] > tx.now]


def _start(tx: Transaction, rows: list[tuple[Any, ...]], worker_id: str) -> Sequence[Claimed]:
    bindings = (json(rows), str(uuid7()), worker_id, tx.now)
    started = {row[0]: row for row in tx.rows(_CLAIM, bindings)}
    events = json([[row[0], row[16], row[7]] for row in started.values()])
    tx.execute(_STARTED_EVENTS, (events, tx.now))
    tx.events.extend([(row[0], row[16]) for row in started.values()])
    tx.counts.update([(row[5], row[6], "started") for row in started.values()])
    return [Claimed._make(started[row[2]]) for row in rows if row[2] in started]


def lease_row(lease: Lease) -> tuple[str, int, str]:
    """A lease as the statements compare it."""
    return lease.task_id, lease.fence, lease.lease_id


def _by_id(
    tx: Transaction, statement: str, rows: Sequence[Sequence[Any]]
) -> dict[str, tuple[Any, ...]]:
    return {row[0]: row for row in tx.rows(statement, (json(rows),))}


def _refusals(arguments: list[Fenced], owned: Container[str]) -> list[Conflict | None]:
    return [_refusal(lease, owned) for lease, _, _ in arguments]


def _refusal(lease: Lease, owned: Container[str]) -> Conflict | None:
    return None if lease.task_id in owned else changes.lease_lost(lease.task_id)


def _in_rounds(
    tx: Transaction,
    arguments: list[Fenced],
    apply: Callable[[Transaction, list[Fenced]], list[Conflict | None]],
) -> list[Conflict | None]:
    rounds = _rounds(arguments)
    if len(rounds) == 1:
        return apply(tx, arguments)
    results: list[Conflict | None] = [None] * len(arguments)
    for numbers in rounds:
        answers = apply(tx, [arguments[number] for number in numbers])
        for number, answer in zip(numbers, answers, strict=True):
            results[number] = answer
    return results


def _rounds(arguments: list[Fenced]) -> list[list[int]]:
    seen: dict[str, int] = {}
    rounds: list[list[int]] = []
    for number, (lease, _, _) in enumerate(arguments):
        turn = seen.get(lease.task_id, 0)
        seen[lease.task_id] = turn + 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(number)
    return rounds
