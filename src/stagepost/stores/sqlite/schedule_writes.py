"""What the writer's thread does for schedules."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from uuid_utils import uuid7

from stagepost.errors import Conflict, NotFound
from stagepost.firing import (
    Firing,
    Verdict,
    verdict,
    why_left_out,
    without,
)
from stagepost.records import NewTask, Scope, Submitted
from stagepost.schedule import (
    REMEMBERED,
    WAITING_MOST,
    Plan,
    Schedule,
    Skipped,
    Stream,
    begun,
    changed,
    held,
)
from stagepost.store.schedules import Run
from stagepost.stores import schedule_rows
from stagepost.stores.schedule_rows import SCHEDULE_FIELDS, row_of_schedule, schedule_of
from stagepost.stores.sqlite import people
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import SETTLED, CancelRequest, Status

Answer = TypeVar("Answer")
Submit = Callable[[Transaction, list[NewTask]], Sequence[Submitted | Exception]]
"""How the store accepts tasks."""

COLUMNS: Final = ", ".join(SCHEDULE_FIELDS)
_INSERT: Final = (
    f"INSERT INTO schedules ({COLUMNS}) VALUES ({', '.join('?' * len(SCHEDULE_FIELDS))})"
)
_UPDATE: Final = (
    f"UPDATE schedules SET {', '.join(f'{name} = ?' for name in SCHEDULE_FIELDS)} WHERE id = ?"
)
_RUN: Final = """
INSERT INTO schedule_runs (schedule_id, planned_at, stream) VALUES (?, ?, ?)
ON CONFLICT DO NOTHING RETURNING 1"""
# A schedule remembers thousands of runs, and few of them are open.
_GOING_ON: Final = """
SELECT r.planned_at, r.task_id, t.status FROM schedule_runs AS r INDEXED BY schedule_runs_open
LEFT JOIN tasks AS t ON t.id = r.task_id
WHERE r.schedule_id = ? AND r.stream = ? AND r.open = 1 AND r.task_id IS NOT NULL"""
_WAITING: Final = """
SELECT planned_at FROM schedule_runs INDEXED BY schedule_runs_open
WHERE schedule_id = ? AND stream = ? AND open = 1 AND task_id IS NULL ORDER BY planned_at"""
_NUMBER_WAITING: Final = """
SELECT count(*) FROM schedule_runs INDEXED BY schedule_runs_open
WHERE schedule_id = ? AND stream = ? AND open = 1 AND task_id IS NULL"""
_TAKEN: Final = "SELECT 1 FROM schedule_runs WHERE schedule_id = ? AND planned_at = ?"
_DROP: Final = """
DELETE FROM schedule_runs INDEXED BY schedule_runs_open
WHERE schedule_id = ? AND stream = ? AND open = 1 AND task_id IS NULL AND planned_at <> ?
RETURNING planned_at"""
_TRIM: Final = """
DELETE FROM schedule_runs WHERE schedule_id = ?1 AND open = 0 AND planned_at <= (
    SELECT planned_at FROM schedule_runs WHERE schedule_id = ?1
    ORDER BY planned_at DESC LIMIT 1 OFFSET ?2)
RETURNING planned_at"""


def each(
    work: Callable[..., Answer],
) -> Callable[[Transaction, list[tuple[Any, ...]]], Sequence[Answer | Exception]]:
    """The writer's form of a function that refuses before it writes."""

    def apply(tx: Transaction, arguments: list[tuple[Any, ...]]) -> Sequence[Answer | Exception]:
        answers: list[Answer | Exception] = []
        for argument in arguments:
            try:
                answers.append(work(tx, *argument))
            except (Conflict, NotFound) as refusal:
                answers.append(refusal)
        return answers

    return apply


def _add(
    tx: Transaction, schedule_id: str, tenant: str, user: str, plan: Plan, most: int
) -> Schedule:
    if tx.value("SELECT count(*) FROM schedules WHERE tenant = ?", (tenant,)) >= most:
        raise schedule_rows.too_many(most)
    schedule = begun(schedule_id, tenant, user, plan, tx.now)
    tx.execute(_INSERT, row_of_schedule(schedule))
    return schedule


def _change(tx: Transaction, schedule_id: str, scope: Scope, before: Plan, plan: Plan) -> Schedule:
    schedule = _seen(tx, schedule_id, scope)
    if schedule.plan != before:
        raise schedule_rows.moved_on()
    return _save(tx, changed(schedule, plan, tx.now))


def _remove(tx: Transaction, schedule_id: str, scope: Scope) -> None:
    _seen(tx, schedule_id, scope)
    tx.execute("DELETE FROM schedule_runs WHERE schedule_id = ?", (schedule_id,))
    tx.execute("DELETE FROM schedules WHERE id = ?", (schedule_id,))


def _backfill(tx: Transaction, schedule_id: str, scope: Scope, planned: Sequence[int]) -> int:
    schedule = _seen(tx, schedule_id, scope)
    waiting = tx.value(_NUMBER_WAITING, (schedule.id, Stream.MADE_UP))
    schedule_rows.check_backfill(schedule, planned, waiting)
    after = _put(tx, schedule, Stream.MADE_UP, planned)
    _save(tx, after)
    return after.waiting - schedule.waiting


def _fire(tx: Transaction, firing: Firing, submit: Submit) -> Sequence[Run]:
    schedule = _find(tx, firing.schedule_id)
    if schedule is None or schedule.plan.paused or schedule.version != firing.version:
        return ()
    schedule = replace(
        schedule,
        next_at=firing.next_at,
        due_at=firing.due_at,
        version=schedule.version + 1,
        skipped_at=firing.skipped_at or schedule.skipped_at,
        skipped_why=firing.skipped_why or schedule.skipped_why,
    )
    schedule = _put(tx, schedule, Stream.MADE_UP, firing.made_up)
    if firing.live is not None:
        schedule = _take(tx, schedule, firing.live)
    if schedule.version % schedule_rows.TRIMMED_EVERY == 0:
        schedule = _trim(tx, schedule)
    return _proceed(tx, schedule, submit)


def _proceed_by_id(tx: Transaction, schedule_id: str, submit: Submit) -> Sequence[Run]:
    schedule = _find(tx, schedule_id)
    if schedule is None or schedule.plan.paused:
        return ()
    return _proceed(tx, schedule, submit)


add, change, remove, backfill = each(_add), each(_change), each(_remove), each(_backfill)
fire, proceed = each(_fire), each(_proceed_by_id)


def _take(tx: Transaction, schedule: Schedule, planned: int) -> Schedule:
    """Put a live instant into its stream, as the overlap policy says."""
    going_on = _going_on(tx, schedule.id, Stream.LIVE)
    waiting = tx.rows(_WAITING, (schedule.id, Stream.LIVE))
    made = verdict(schedule.plan.overlap, len(going_on), len(waiting))
    match made:
        case Verdict.SKIP | Verdict.FULL:
            why = why_left_out(schedule, made, len(going_on))
            return replace(schedule, skipped_at=planned, skipped_why=why)
        case Verdict.CANCEL | Verdict.TAKE:
            after = _put(tx, schedule, Stream.LIVE, (planned,))
    # Only a run that is new takes the place of another.
    if made is Verdict.CANCEL and after.waiting > schedule.waiting:
        return _cancel_old(tx, after, going_on, planned)
    return after


def _cancel_old(
    tx: Transaction, schedule: Schedule, going_on: Sequence[str], planned: int
) -> Schedule:
    """Of the live runs only that of the instant `planned`, which waits, is left."""
    request = CancelRequest(f"schedule:{schedule.id}", "The next run of its schedule has begun.")
    # One that has ended in this moment needs it no more.
    people.cancel(tx, [(task_id, Scope(None), request) for task_id in going_on])
    tx.execute(
        "UPDATE schedule_runs INDEXED BY schedule_runs_open SET open = 0 "
        "WHERE schedule_id = ? AND stream = ? AND open = 1 "
        "AND task_id IS NOT NULL",
        (schedule.id, Stream.LIVE),
    )
    dropped = tx.column(_DROP, (schedule.id, Stream.LIVE, planned))
    return without(schedule, dropped, len(going_on))


def _put(tx: Transaction, schedule: Schedule, stream: Stream, planned: Sequence[int]) -> Schedule:
    """Let runs wait that nobody has taken, as far as their stream has room."""
    room = WAITING_MOST - tx.value(_NUMBER_WAITING, (schedule.id, stream))
    for instant in planned:
        if room > 0:
            new = len(tx.rows(_RUN, (schedule.id, instant, stream)))
            schedule, room = replace(schedule, waiting=schedule.waiting + new), room - new
        elif tx.row(_TAKEN, (schedule.id, instant)) is None:
            return replace(schedule, skipped_at=instant, skipped_why=Skipped.FULL)
    return schedule


def _proceed(tx: Transaction, schedule: Schedule, submit: Submit) -> Sequence[Run]:
    runs, refusal = [], None
    for stream in Stream:
        waiting = tx.row(_WAITING, (schedule.id, stream)) if schedule.waiting else None
        if waiting is None or _going_on(tx, schedule.id, stream):
            continue
        run = Run(schedule.id, waiting[0], str(uuid7()))
        answer = _submitted(tx, schedule, run, submit)
        if isinstance(answer, Submitted):
            runs.append(run)
            schedule = schedule_rows.started(schedule, run)
        else:
            refusal = str(answer)
    _save(tx, held(schedule, refusal, tx.now))
    return runs


def _submitted(
    tx: Transaction, schedule: Schedule, run: Run, submit: Submit
) -> Submitted | Exception:
    new = schedule_rows.task_of_run(schedule, run.planned_at, run.task_id)
    (answer,) = submit(tx, [new])
    # Without room for it now it goes on waiting.
    if isinstance(answer, Submitted):
        tx.execute(
            "UPDATE schedule_runs SET task_id = ? WHERE schedule_id = ? AND planned_at = ?",
            (run.task_id, run.schedule_id, run.planned_at),
        )
    return answer


def _going_on(tx: Transaction, schedule_id: str, stream: Stream) -> Sequence[str]:
    """The tasks of a stream that are not over; the others are noted to be."""
    rows = tx.rows(_GOING_ON, (schedule_id, stream))
    for planned_at, _, status in rows:
        # A task that is gone was over before it was pruned.
        if status is None or Status(status) in SETTLED:
            tx.execute(
                "UPDATE schedule_runs SET open = 0 WHERE schedule_id = ? AND planned_at = ?",
                (schedule_id, planned_at),
            )
    return [row[1] for row in rows if row[2] is not None and Status(row[2]) not in SETTLED]


def _trim(tx: Transaction, schedule: Schedule) -> Schedule:
    gone = tx.column(_TRIM, (schedule.id, REMEMBERED))
    return replace(schedule, forgotten_at=max(gone, default=schedule.forgotten_at))


def _save(tx: Transaction, schedule: Schedule) -> Schedule:
    tx.execute(_UPDATE, (*row_of_schedule(schedule), schedule.id))
    return schedule


def _find(tx: Transaction, schedule_id: str) -> Schedule | None:
    row = tx.row(f"SELECT {COLUMNS} FROM schedules WHERE id = ?", (schedule_id,))
    return None if row is None else schedule_of(row)


def _seen(tx: Transaction, schedule_id: str, scope: Scope) -> Schedule:
    schedule = _find(tx, schedule_id)
    if schedule is None or not schedule_rows.sees(scope, schedule):
        raise schedule_rows.absent(schedule_id)
    return schedule
