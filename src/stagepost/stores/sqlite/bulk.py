"""The verbs on every task's path, each a few statements for a whole group of intents.

Rows go in as one JSON text, which `json_each` unfolds, and come out as one. So each statement is a
single step, and the interpreter's lock is let go once a statement instead of being fought for at
every row (measured, docs/performance.md). What each does to a task is defined in
`stagepost.lifecycle`, and the conformance suite compares the two.

What a lease allows is inserted first, from the tasks that it owns; the number of inserted rows
tells whether all of them were owned, and then the tasks are changed.

A group may hold several intents of one task (checkpoints of a map): they are applied in rounds,
because one UPDATE changes a row once. The progress that goes with an intent is applied before it,
in the same round, and only if the intent itself is taken.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

import orjson

from stagepost.errors import Conflict
from stagepost.outcome import Succeeded
from stagepost.records import Checkpoint, ProgressNote
from stagepost.stores.rows import json, mended
from stagepost.stores.sqlite import changes, keyed
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.wording import lease_lost, saved_already
from stagepost.task import Lease

Fenced = tuple[Lease, Any, ProgressNote | None]
"""A lease, what is written under it, and the progress that goes with it."""

_OWNED: Final = """
    json_each(?1) AS j CROSS JOIN tasks AS t
    ON t.id = j.value->>0 AND t.fence = j.value->>1 AND t.lease_id = j.value->>2
        AND t.status = 'RUNNING'"""

_CHANGED: Final = """
FROM json_each(?1) AS j
WHERE tasks.id = j.value->>0 AND tasks.fence = j.value->>1 AND tasks.lease_id = j.value->>2
    AND tasks.status = 'RUNNING'"""

_OWNERS: Final = f"SELECT json_group_array(t.id) FROM {_OWNED}"

_UNSAVED: Final = f"""
SELECT json_group_array(json_array(t.id,
    EXISTS (SELECT 1 FROM steps WHERE task_id = t.id AND path = j.value->>3)))
FROM {_OWNED}"""

_STEP_EVENTS: Final = f"""
INSERT INTO events (task_id, seq, kind, data, at)
SELECT t.id, t.seq + 1, 'step',
    json_object('name', value->>4, 'path', value->>3, 'state', 'saved'), ?2
FROM {_OWNED}"""

_INSERT_STEPS: Final = f"""
INSERT INTO steps (task_id, path, n, name, input_hash, value, size, blob, attempt, fence,
    started_at, completed_at)
SELECT t.id, value->>3, t.saved_steps + 1, value->>4, value->>5, value->>6, value->>7, value->>8,
    t.attempt, t.fence, ?2 - (value->>9), ?2
FROM {_OWNED}"""

_SAVE_STEP: Final = f"""
UPDATE tasks SET seq = seq + 1, saved_steps = saved_steps + 1, saved_fence = fence,
    lost_claims = 0, waits = 0 {_CHANGED}"""

_NOTE_EVENTS: Final = f"""
INSERT INTO events (task_id, seq, kind, data, at)
SELECT t.id, t.seq + 1, 'progress', json_object(
    'progress', max(t.progress, min(99, CAST(value->>3 AS INTEGER))),
    'message', value->>4, 'step', value->>5), ?2
FROM {_OWNED}"""

_NOTE: Final = f"""
UPDATE tasks SET seq = seq + 1, progress = max(progress, min(99, CAST(j.value->>3 AS INTEGER))),
    step = coalesce(nullif(j.value->>4, ''), nullif(j.value->>5, ''), step) {_CHANGED}"""

_COMPLETED_EVENTS: Final = f"""
INSERT INTO events (task_id, seq, kind, data, at)
SELECT t.id, t.seq + 1, 'completed',
    '{{"progress":100,"model":null,"processingMs":' || (?2 - coalesce(t.started_at, ?2))
        || ',"traceId":' || json_quote(t.trace_id) || '}}', ?2
FROM {_OWNED}"""

_SUCCEED: Final = f"""
UPDATE tasks SET status = 'COMPLETED', lease_id = NULL, worker_id = NULL, progress = 100,
    cancel = NULL, failure_kind = NULL, error_message = NULL, seq = seq + 1, ended_at = ?2,
    result = j.value->>3, result_size = j.value->>4, result_blob = j.value->>5 {_CHANGED}"""

_ANY_CHILDREN: Final = "SELECT EXISTS (SELECT 1 FROM batches WHERE left > 0)"
_OF_BATCHES: Final = """
SELECT t.batch_id, count(*) FROM json_each(?1) AS j JOIN tasks AS t ON t.id = j.value
WHERE t.batch_id IS NOT NULL GROUP BY t.batch_id"""


class _Verb(NamedTuple):
    """What a lease allows: statements that insert, the one that changes the tasks, a row's values.

    The first insert adds one row for each task that is owned.
    """

    inserts: tuple[str, ...]
    change: str
    row: Callable[[Lease, Any], Sequence[Any]]


def _step_row(lease: Lease, checkpoint: Checkpoint) -> Sequence[Any]:
    path, name, input_hash, value, took = checkpoint
    return (*lease, path, name, input_hash, *value, took)


def _note_row(lease: Lease, note: ProgressNote) -> Sequence[Any]:
    # A message for people is mended rather than refused: it must not cost the task its result.
    message, step = mended(note.message), note.step and mended(note.step)
    return (*lease, note.percent, message, step)


def _result_row(lease: Lease, outcome: Succeeded) -> Sequence[Any]:
    return (*lease, *outcome.result)


_STEPS: Final = _Verb((_STEP_EVENTS, _INSERT_STEPS), _SAVE_STEP, _step_row)
_NOTES: Final = _Verb((_NOTE_EVENTS,), _NOTE, _note_row)
_RESULTS: Final = _Verb((_COMPLETED_EVENTS,), _SUCCEED, _result_row)


def save_steps(tx: Transaction, arguments: list[Fenced]) -> Sequence[Conflict | None]:
    """Checkpoints, each with its progress first; a path that is saved already is refused."""
    return _in_rounds(tx, arguments, _save_round)


def _save_round(tx: Transaction, arguments: list[Fenced]) -> list[Conflict | None]:
    rows = json([(*lease, step.path) for lease, step, _ in arguments])
    saved = {task_id: bool(there) for task_id, there in orjson.loads(tx.value(_UNSAVED, (rows,)))}
    fresh = [argument for argument in arguments if saved.get(argument[0].task_id) is False]
    if fresh:
        _note_first(tx, fresh)
        _write(tx, _STEPS, fresh)
    for _, step, _ in fresh:
        if step.value.blob is not None:
            changes.keep_blob(tx, step.value.blob)
    return [_save_refusal(lease, step, saved) for lease, step, _ in arguments]


def _save_refusal(lease: Lease, step: Checkpoint, saved: dict[str, bool]) -> Conflict | None:
    if lease.task_id not in saved:
        return lease_lost(lease.task_id)
    there = saved[lease.task_id]
    return saved_already(step.path) if there else None


def note_progress(tx: Transaction, arguments: list[Fenced]) -> Sequence[Conflict | None]:
    """Progress of running tasks, given as the notes that go with nothing else."""
    return _in_rounds(tx, [(lease, note, None) for lease, _, note in arguments], _note_round)


def _note_round(tx: Transaction, arguments: list[Fenced]) -> list[Conflict | None]:
    return _refusals(arguments, _write(tx, _NOTES, arguments))


def settle(tx: Transaction, arguments: list[Fenced]) -> Sequence[Conflict | None]:
    """Ends of claims: successes in bulk, every other outcome by the lifecycle's functions."""
    return _in_rounds(tx, arguments, _settle_round)


def _settle_round(tx: Transaction, arguments: list[Fenced]) -> list[Conflict | None]:
    _note_first(tx, arguments)
    good = [argument for argument in arguments if type(argument[1]) is Succeeded]
    refused = _succeed(tx, good) if good else []
    if len(good) == len(arguments):
        return refused
    in_order = iter(refused)
    return [
        next(in_order) if type(outcome) is Succeeded else changes.under_lease(tx, lease, outcome)
        for lease, outcome, _ in arguments
    ]


def _succeed(tx: Transaction, arguments: list[Fenced]) -> list[Conflict | None]:
    owners = _write(tx, _RESULTS, arguments)
    done = [lease.task_id for lease, _, _ in arguments if owners is None or lease.task_id in owners]
    tx.count("completed", [tx.ended(task_id) for task_id in done])
    if tx.value(_ANY_CHILDREN):
        for batch_id, many in tx.rows(_OF_BATCHES, (json(done),)):
            tx.child_changed(batch_id, -many, 0)
    keyed.left(tx, done)
    for lease, outcome, _ in arguments:
        blob = outcome.result.blob
        if blob is not None and (owners is None or lease.task_id in owners):
            changes.keep_blob(tx, blob)
    return _refusals(arguments, owners)


def _note_first(tx: Transaction, arguments: list[Fenced]) -> None:
    notes: list[Fenced] = [(lease, note, None) for lease, _, note in arguments if note is not None]
    if notes:
        _write(tx, _NOTES, notes)


def _write(tx: Transaction, verb: _Verb, arguments: list[Fenced]) -> Collection[str] | None:
    """Do what the leases allow. Answers the tasks that are owned, or None when all of them are."""
    rows = json([verb.row(lease, what) for lease, what, _ in arguments])
    tx.execute(verb.inserts[0], (rows, tx.now))
    owners = None
    if tx.changes() != len(arguments):
        owners = set(orjson.loads(tx.value(_OWNERS, (rows,))))
    for statement in verb.inserts[1:]:
        tx.execute(statement, (rows, tx.now))
    tx.execute(verb.change, (rows, tx.now) if "?2" in verb.change else (rows,))
    ids = [lease.task_id for lease, _, _ in arguments]
    tx.events += ids if owners is None else [task_id for task_id in ids if task_id in owners]
    return owners


def _refusals(arguments: list[Fenced], owners: Collection[str] | None) -> list[Conflict | None]:
    if owners is None:
        return [None] * len(arguments)
    return [
        None if lease.task_id in owners else lease_lost(lease.task_id) for lease, _, _ in arguments
    ]


def _in_rounds(
    tx: Transaction,
    arguments: list[Fenced],
    apply: Callable[[Transaction, list[Fenced]], list[Conflict | None]],
) -> list[Conflict | None]:
    if len({argument[0].task_id for argument in arguments}) == len(arguments):
        return apply(tx, arguments)
    results: list[Conflict | None] = [None] * len(arguments)
    for numbers in _rounds(arguments):
        answers = apply(tx, [arguments[number] for number in numbers])
        for number, answer in zip(numbers, answers, strict=True):
            results[number] = answer
    return results


def _rounds(arguments: list[Fenced]) -> Iterator[list[int]]:
    """The numbers of the arguments, in rounds without two of one task."""
    seen: dict[str, int] = {}
    rounds: list[list[int]] = []
    for number, (lease, _, _) in enumerate(arguments):
        turn = seen.get(lease.task_id, 0)
        seen[lease.task_id] = turn + 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(number)
    return iter(rounds)
