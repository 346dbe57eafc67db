"""The ledger, in the writer's thread: intents, ends, and what a redrive makes of them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from stagepost.calls import Body, CallEnd, CallState, NewCall, lies_under
from stagepost.errors import Conflict, NotFound, StagepostError
from stagepost.failure import FailureKind
from stagepost.records import Resume
from stagepost.stores.call_rows import (
    BEGUN,
    ENDED,
    absent,
    begun_values,
    end_values,
    spoilt_message,
)
from stagepost.stores.calls import ADD, ADDED, ANSWER, DAY_KEY, DELTAS, NOTED, REQUEST, SPOILT, lost
from stagepost.stores.redriving import Cut
from stagepost.stores.rows import json
from stagepost.stores.sqlite import changes
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.wording import call_taken, cancel_asked, lease_lost
from stagepost.task import Lease, Status

_BEGIN: Final = f"""
INSERT INTO calls (task_id, tenant, user, type, attempt, fence, steps, started_at, {BEGUN})
VALUES ({", ".join("?" * (8 + BEGUN.count(",") + 1))})"""
_END: Final = f"""
UPDATE calls SET {", ".join(f"{name} = ?" for name in ENDED)}, late = ?, ended_at = ?,
    redacted = redacted OR ?
WHERE id = ?"""
_ADD_END: Final = f"""
{ADD} SELECT {DAY_KEY}, {DELTAS.format(noted="?2", int="")} FROM calls AS c
WHERE c.id = ?1 {ADDED}"""
_REJECT: Final = f"""
UPDATE calls SET state = 'REJECTED', kind = '{FailureKind.BAD_OUTPUT}', message = ?
WHERE id = ? AND task_id = ? AND state = 'RESULT' RETURNING id"""
_ADD_SPOILT: Final = f"""
{ADD} SELECT {DAY_KEY}, {SPOILT} FROM calls AS c WHERE c.id = ? {ADDED}"""
_LOST: Final = f"""
SELECT o.id FROM open_calls AS o WHERE NOT o.noted AND {lost("o")} LIMIT ?"""
_NOTE: Final = f"""
{ADD} SELECT {DAY_KEY}, {NOTED} FROM calls AS c WHERE c.id = ? {ADDED}"""
_PROGRESS: Final = """
UPDATE tasks SET saved_fence = fence, lost_claims = 0, waits = 0 WHERE id = ?"""


def begin(
    tx: Transaction, arguments: list[tuple[Lease, NewCall]]
) -> Sequence[StagepostError | None]:
    """Intents."""
    return [_begin_one(tx, *argument) for argument in arguments]


def _begin_one(tx: Transaction, lease: Lease, call: NewCall) -> Conflict | None:
    task = changes.owned(tx, lease)
    if task is None:
        return lease_lost(lease.task_id)
    there = tx.row("SELECT task_id, fence, request_hash FROM calls WHERE id = ?", (call.id,))
    if there is not None:
        same = there == (task.id, task.fence, call.key.request_hash)
        return None if same else call_taken(call.id)
    if task.cancel is not None:
        return cancel_asked(task.id)
    owner = (task.id, task.tenant, task.user, task.type, task.attempt, task.fence)
    tx.execute(_BEGIN, (*owner, task.saved_steps, tx.now, *begun_values(call)))
    tx.execute(
        "INSERT INTO open_calls (task_id, id, tenant, type, fence) VALUES (?, ?, ?, ?, ?)",
        (task.id, call.id, task.tenant, task.type, task.fence),
    )
    _keep(tx, task.id, call.id, REQUEST, call.request)
    return None


def _keep(tx: Transaction, task_id: str, call_id: str, part: str, body: Body) -> None:
    row = (call_id, task_id, part, body.redacted, body.text, body.blob)
    tx.execute("INSERT INTO call_bodies VALUES (?, ?, ?, ?, ?, ?)", row)
    if body.blob is not None:
        changes.keep_blob(tx, body.blob)


def end(
    tx: Transaction, arguments: list[tuple[str, str, CallEnd]]
) -> Sequence[StagepostError | None]:
    """Ends of calls."""
    return [_end_one(tx, *argument) for argument in arguments]


def _end_one(tx: Transaction, task_id: str, call_id: str, end: CallEnd) -> NotFound | None:
    opened = tx.row(
        "DELETE FROM open_calls WHERE id = ? AND task_id = ? RETURNING fence, noted",
        (call_id, task_id),
    )
    if opened is None:
        known = tx.row("SELECT 1 FROM calls WHERE id = ? AND task_id = ?", (call_id, task_id))
        return absent(call_id) if known is None else None
    fence, noted = opened
    task = tx.row("SELECT status, fence FROM tasks WHERE id = ?", (task_id,))
    late = task != (Status.RUNNING.value, fence)
    if task is None:
        # What it says may quote what was erased.
        end = replace(end, message="")
    redacted = end.answer is not None and end.answer.redacted
    tx.execute(_END, (*end_values(end), late, tx.now, redacted, call_id))
    tx.execute(_ADD_END, (call_id, noted))
    if task is not None and end.answer is not None:
        _keep(tx, task_id, call_id, ANSWER, end.answer)
    if end.state is CallState.RESULT and not late:
        tx.execute(_PROGRESS, (task_id,))
    return None


def reject(
    tx: Transaction, arguments: list[tuple[str, str, str]]
) -> Sequence[StagepostError | None]:
    """Answers that can't be used after all."""
    return [_reject_one(tx, *argument) for argument in arguments]


def _reject_one(tx: Transaction, task_id: str, call_id: str, why: str) -> NotFound | None:
    done = tx.row(_REJECT, (spoilt_message(why), call_id, task_id))
    if done is not None:
        tx.execute(_ADD_SPOILT, (call_id,))
        return None
    known = tx.row("SELECT 1 FROM calls WHERE id = ? AND task_id = ?", (call_id, task_id))
    return absent(call_id) if known is None else None


def note_unknown(tx: Transaction, arguments: list[int]) -> Sequence[int]:
    """Calls that are UNKNOWN, into the usage."""
    return [_note(tx, limit) for limit in arguments]


def _note(tx: Transaction, limit: int) -> int:
    found = tx.column(_LOST, (limit,))
    for call_id in found:
        tx.execute("UPDATE open_calls SET noted = 1 WHERE id = ?", (call_id,))
        tx.execute(_NOTE, (call_id,))
    return len(found)


def redriven(tx: Transaction, task_id: str, resume: Resume, cut: Cut) -> None:
    """A person has sent the task back; its steps are still as they were.

    What came behind the cut is replayed no more, nor is what the dropped steps have sent before.
    """
    waive(tx, [task_id])
    if resume == Resume():
        return
    tx.execute(
        "UPDATE calls SET dropped = 1 WHERE task_id = ? AND (steps, id) >= (?, ?)", (task_id, *cut)
    )
    if cut.steps < 0:
        return
    gone = tx.column("SELECT path FROM steps WHERE task_id = ? AND n > ?", (task_id, cut.steps))
    steps = frozenset(gone)
    left = tx.rows("SELECT id, path FROM calls WHERE task_id = ? AND dropped = 0", (task_id,))
    under = [call_id for call_id, path in left if lies_under(path, steps)]
    tx.execute(
        "UPDATE calls SET dropped = 1 WHERE id IN (SELECT value FROM json_each(?))", (json(under),)
    )


def waive(tx: Transaction, task_ids: Iterable[str]) -> None:
    """A person has sent these tasks back."""
    tx.execute(
        """UPDATE calls SET waived = 1 WHERE waived = 0
               AND task_id IN (SELECT value FROM json_each(?))""",
        (json(list(task_ids)),),
    )
