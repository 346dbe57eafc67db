"""The verbs on every task's path, each a few statements for a whole group of intents.

Rows go in as one JSON text, which `json_each` unfolds, and come out as one. So each statement is a
single step, and the interpreter's lock is let go once a statement instead of being fought for at
every row (measured, docs/performance.md). What each does to a task is defined in
`stagepost.lifecycle`, and the conformance suite compares the two.

What a lease allows is inserted first, from the tasks that it owns; the number of inserted rows
tells whether all of them were owned, and only then are the tasks changed.

A group may hold several intents of one task (checkpoints of a map): they are applied in rounds,
because one UPDATE changes a row once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
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
    json_each(?1) AS j CROSS JOIN tasks AS t
    ON t.id = j.value->>0 AND t.fence = j.value->>1 AND t.lease_id = j.value->>2
        AND t.status = 'RUNNING'"""

_CHANGE: Final = """
FROM json_each(?1) AS j
WHERE tasks.id = j.value->>0 AND tasks.fence = j.value->>1 AND tasks.lease_id = j.value->>2
    AND tasks.status = 'RUNNING'"""

_OWNERS: Final = f"SELECT json_group_array(t.id) FROM {_OWNED}"


@dataclass(frozen=True, slots=True)
class _Verb:
    """What a lease allows: statements that insert, the one that changes the tasks, a row's values.

    The first insert adds one row for each task that is owned.
    """

    inserts: tuple[str, ...]
    change: str
    row: Callable[[Lease, Any], Sequence[Any]]


def _step_row(lease: Lease, checkpoint: Checkpoint) -> Sequence[Any]:
    path, name, input_hash, value, took = checkpoint
    return (*_lease_row(lease), path, name, input_hash, value.text, value.size, value.blob, took)


def _note_row(lease: Lease, note: ProgressNote) -> Sequence[Any]:
    return (*_lease_row(lease), *note)


def _result_row(lease: Lease, outcome: Succeeded) -> Sequence[Any]:
    result = outcome.result
    return (*_lease_row(lease), result.text, result.size, result.blob)


def _lease_row(lease: Lease) -> tuple[str, int, str]:
    return lease.task_id, lease.fence, lease.lease_id


_SAVE_STEP: Final = _Verb(
    (
        f"""
INSERT INTO events (task_id, seq, kind, data, at)
SELECT t.id, t.seq + 1, 'step',
    json_object('name', value->>4, 'path', value->>3, 'state', 'saved'), ?2
FROM {_OWNED}""",
        f"""
INSERT INTO steps (task_id, path, n, name, input_hash, value, size, blob, attempt, fence,
    started_at, completed_at)
SELECT t.id, value->>3, t.saved_steps + 1, value->>4, value->>5, value->>6, value->>7, value->>8,
    t.attempt, t.fence, ?2 - (value->>9), ?2
FROM {_OWNED}""",
    ),
    f"""
UPDATE tasks SET seq = seq + 1, saved_steps = saved_steps + 1, saved_fence = fence,
    lost_claims = 0, waits = 0 {_CHANGE}""",
    _step_row,
)

_NOTE: Final = _Verb(
    (
        f"""
INSERT INTO events (task_id, seq, kind, data, at)
SELECT t.id, t.seq + 1, 'progress', json_object('progress', max(t.progress, min(99, value->>3)),
    'message', value->>4, 'step', value->>5), ?2
FROM {_OWNED}""",
    ),
    f"""
UPDATE tasks SET seq = seq + 1, progress = max(progress, min(99, j.value->>3)),
    step = coalesce(nullif(j.value->>4, ''), j.value->>5, step) {_CHANGE}""",
    _note_row,
)

_SUCCEED: Final = _Verb(
    (
        f"""
INSERT INTO events (task_id, seq, kind, data, at)
SELECT t.id, t.seq + 1, 'completed',
    '{{"progress":100,"model":null,"processingMs":' || (?2 - coalesce(t.started_at, ?2))
        || ',"traceId":"' || t.trace_id || '"}}', ?2
FROM {_OWNED}""",
    ),
    f"""
UPDATE tasks SET status = 'COMPLETED', lease_id = NULL, worker_id = NULL, progress = 100,
    cancel = NULL, failure_kind = NULL, error_message = NULL, seq = seq + 1, ended_at = ?2,
    result = j.value->>3, result_size = j.value->>4, result_blob = j.value->>5 {_CHANGE}""",
    _result_row,
)

_CANDIDATES: Final = """
SELECT json_group_array(json_array(lane, score, task_id, deadline)) FROM (
    SELECT lane, score, task_id, deadline FROM pool
    WHERE lane = ?1 AND type IN (SELECT value FROM json_each(?2))
    ORDER BY score, task_id LIMIT ?3)"""

_LEAVE_POOL: Final = """
DELETE FROM pool WHERE (lane, score, task_id)
    IN (SELECT value->>0, value->>1, value->>2 FROM json_each(?1))"""

_CLAIM: Final = """
UPDATE tasks SET status = 'RUNNING', fence = fence + 1, lease_id = ?2, worker_id = ?3,
    pooled_at = NULL, started_at = coalesce(started_at, ?4), seq = seq + 1
FROM json_each(?1) AS j WHERE tasks.id = j.value->>2 AND status = 'QUEUED'"""

_STARTED_EVENTS: Final = """
INSERT INTO events (task_id, seq, kind, data, at)
SELECT t.id, t.seq, 'started', '{"attempt":' || t.attempt || '}', ?2
FROM json_each(?1) AS j CROSS JOIN tasks AS t ON t.id = j.value->>2"""

_CLAIMED: Final = """
SELECT json_group_array(json_array(t.id, t.fence, t.lease_id, t.tenant, t.user, t.type, t.lane,
    t.attempt, t.max_attempts, t.deadline - ?2, t.progress, t.step, t.saved_steps, t.lost_claims,
    t.waits, t.trace_id, t.seq,
    coalesce(t.input, (SELECT body FROM inputs WHERE task_id = t.id))))
FROM json_each(?1) AS j CROSS JOIN tasks AS t ON t.id = j.value->>2"""


def save_steps(tx: Transaction, arguments: list[Fenced]) -> Sequence[LeaseLost | None]:
    """Checkpoints, each with its progress first."""
    _note_first(tx, arguments)
    results = _under_leases(tx, _SAVE_STEP, arguments)
    for (_, checkpoint, _), refused in zip(arguments, results, strict=True):
        if checkpoint.value.blob is not None and refused is None:
            changes.keep_blob(tx, checkpoint.value.blob)
    return results


def note_progress(tx: Transaction, arguments: list[Fenced]) -> Sequence[LeaseLost | None]:
    """Progress of running tasks."""
    return _under_leases(tx, _NOTE, arguments)


def settle(tx: Transaction, arguments: list[Fenced]) -> Sequence[LeaseLost | None]:
    """Ends of claims: successes in bulk, every other outcome by the lifecycle's functions."""
    _note_first(tx, arguments)
    good = [argument for argument in arguments if type(argument[1]) is Succeeded]
    succeeded = _under_leases(tx, _SUCCEED, good)
    for (_, outcome, _), refused in zip(good, succeeded, strict=True):
        if outcome.result.blob is not None and refused is None:
            changes.keep_blob(tx, outcome.result.blob)
    if len(good) == len(arguments):
        return succeeded
    in_order = iter(succeeded)
    return [
        next(in_order) if type(outcome) is Succeeded else changes.under_lease(tx, lease, outcome)
        for lease, outcome, _ in arguments
    ]


def claim(tx: Transaction, arguments: list[Demand]) -> Sequence[Sequence[Claimed]]:
    """Tasks for workers; a group has one Demand, since each changes what the next may take."""
    return [_claim_one(tx, demand) for demand in arguments]


def _claim_one(tx: Transaction, demand: Demand) -> Sequence[Claimed]:
    chosen = _leave_pool(tx, demand)
    if not chosen:
        return ()
    rows = json(chosen)
    tx.execute(_CLAIM, (rows, str(uuid7()), demand.worker_id, tx.now))
    tx.execute(_STARTED_EVENTS, (rows, tx.now))
    tx.events += [row[2] for row in chosen]
    return [Claimed._make(row) for row in orjson.loads(tx.value(_CLAIMED, (rows, tx.now)))]


def _leave_pool(tx: Transaction, demand: Demand) -> list[list[Any]]:
    types = json(demand.types)
    available = {
        lane: orjson.loads(tx.value(_CANDIDATES, (lane, types, demand.slots)))
        for lane in demand.turns.lanes
    }
    chosen: list[list[Any]] = demand.turns.choose(available, demand.slots)
    if not chosen:
        return chosen
    tx.execute(_LEAVE_POOL, (json(chosen),))
    late = [row[2] for row in chosen if row[3] <= tx.now]
    if late:
        changes.apply_each(tx, late, lifecycle.expired)
        return [row for row in chosen if row[3] > tx.now]
    return chosen


def _note_first(tx: Transaction, arguments: list[Fenced]) -> None:
    notes: list[Fenced] = [(lease, note, None) for lease, _, note in arguments if note is not None]
    if notes:
        note_progress(tx, notes)


def _under_leases(tx: Transaction, verb: _Verb, arguments: list[Fenced]) -> list[LeaseLost | None]:
    """Do it for the tasks that are owned; refuse the others."""
    results: list[LeaseLost | None] = [None] * len(arguments)
    for numbers in _rounds(arguments):
        leases = [arguments[number][0] for number in numbers]
        rows = json([verb.row(arguments[number][0], arguments[number][1]) for number in numbers])
        tx.execute(verb.inserts[0], (rows, tx.now))
        if tx.changes() != len(leases):
            owners = set(orjson.loads(tx.value(_OWNERS, (rows,))))
            for number, lease in zip(numbers, leases, strict=True):
                if lease.task_id not in owners:
                    results[number] = changes.lease_lost(lease.task_id)
        for statement in verb.inserts[1:]:
            tx.execute(statement, (rows, tx.now))
        tx.execute(verb.change, (rows, tx.now))
        tx.events += [lease.task_id for lease in leases]
    return results


def _rounds(arguments: list[Fenced]) -> Iterator[Sequence[int]]:
    """The numbers of arguments that can be applied together: no two of one task."""
    if len({argument[0].task_id for argument in arguments}) == len(arguments):
        if arguments:
            yield range(len(arguments))
        return
    rounds: list[list[int]] = []
    seen: dict[str, int] = {}
    for number, (lease, _, _) in enumerate(arguments):
        turn = seen.get(lease.task_id, 0)
        seen[lease.task_id] = turn + 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(number)
    yield from rounds
