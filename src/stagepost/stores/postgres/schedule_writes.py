"""Changes of schedules: each locks its schedule first, so that two of them follow one another."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

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
from stagepost.stores.postgres import people
from stagepost.stores.postgres.rows import MS, known
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.schedule_rows import SCHEDULE_FIELDS, row_of_schedule, schedule_of
from stagepost.task import SETTLED, CancelRequest, Status

Submit = Callable[[Transaction, list[NewTask]], Awaitable[Sequence[Submitted | Exception]]]
"""How the store accepts tasks."""

_NAMES: Final = tuple('"user"' if name == "user" else name for name in SCHEDULE_FIELDS)
COLUMNS: Final = ", ".join(_NAMES)
_VALUES: Final = ", ".join(f"${number}" for number, _ in enumerate(_NAMES, 1))
_INSERT: Final = f"INSERT INTO schedules ({COLUMNS}) VALUES ({_VALUES})"
_UPDATE: Final = f"UPDATE schedules SET ({COLUMNS}) = ROW ({_VALUES}) WHERE id = $1"
_LOCKED: Final = f"SELECT {COLUMNS} FROM schedules WHERE id = $1::uuid FOR UPDATE"
_TENANT: Final = "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))"
_COUNT: Final = "SELECT count(*) FROM schedules WHERE tenant = $1::text"
_NUMBER_WAITING: Final = """
SELECT count(*) FROM schedule_runs
WHERE schedule_id = $1::uuid AND stream = $2::text AND open AND task_id IS NULL"""
_UNTAKEN: Final = """
SELECT p FROM unnest($2::bigint[]) WITH ORDINALITY AS u (p, place) WHERE NOT EXISTS (
    SELECT 1 FROM schedule_runs AS r WHERE r.schedule_id = $1::uuid AND r.planned_at = u.p)
ORDER BY place"""
_RUNS: Final = """
INSERT INTO schedule_runs (schedule_id, planned_at, stream)
SELECT $1::uuid, p, $2::text FROM unnest($3::bigint[]) AS p"""
_GOING_ON: Final = """
SELECT r.planned_at, r.task_id, t.status FROM schedule_runs AS r
LEFT JOIN tasks AS t ON t.id = r.task_id
WHERE r.schedule_id = $1::uuid AND r.stream = $2::text AND r.open AND r.task_id IS NOT NULL"""
_OVER: Final = """
UPDATE schedule_runs SET open = false
WHERE schedule_id = $1::uuid AND planned_at = ANY($2::bigint[])"""
_WAITING: Final = """
SELECT planned_at FROM schedule_runs
WHERE schedule_id = $1::uuid AND stream = $2::text AND open AND task_id IS NULL
ORDER BY planned_at"""
_DROP: Final = """
DELETE FROM schedule_runs
WHERE schedule_id = $1::uuid AND stream = $2::text AND open AND task_id IS NULL
    AND planned_at <> $3::bigint
RETURNING planned_at"""
_STARTED: Final = """
UPDATE schedule_runs SET task_id = $3::uuid
WHERE schedule_id = $1::uuid AND planned_at = $2::bigint"""
_MADE_UP: Final = f"""
SELECT count(*) FROM schedule_runs
WHERE schedule_id = $1::uuid AND planned_at = ANY($2::bigint[]) AND open
    AND stream = '{Stream.MADE_UP}'"""
_TRIM: Final = """
DELETE FROM schedule_runs WHERE schedule_id = $1::uuid AND NOT open AND planned_at <= (
    SELECT planned_at FROM schedule_runs WHERE schedule_id = $1::uuid
    ORDER BY planned_at DESC LIMIT 1 OFFSET $2::integer)
RETURNING planned_at"""


async def add(
    tx: Transaction, schedule_id: str, tenant: str, user: str, plan: Plan, most: int
) -> Schedule:
    """A new schedule."""
    async with tx.connection.transaction():
        if tx.again and (kept := await _find(tx, schedule_id)) is not None:
            return kept
        # Two that are added at once would each count without the other.
        await tx.connection.execute(_TENANT, f"schedules of {tenant}")
        if await tx.connection.fetchval(_COUNT, tenant) >= most:
            raise schedule_rows.too_many(most)
        schedule = begun(schedule_id, tenant, user, plan, await _now(tx))
        await tx.connection.execute(_INSERT, *row_of_schedule(schedule))
    return schedule


async def change(
    tx: Transaction, schedule_id: str, scope: Scope, before: Plan, plan: Plan
) -> Schedule:
    """Another plan."""
    async with tx.connection.transaction():
        schedule = await _seen(tx, schedule_id, scope)
        if tx.again and schedule.plan == plan:
            return schedule
        if schedule.plan != before:
            raise schedule_rows.moved_on()
        return await _save(tx, changed(schedule, plan, await _now(tx)))


async def remove(tx: Transaction, schedule_id: str, scope: Scope) -> None:
    """A schedule that ends."""
    async with tx.connection.transaction():
        try:
            schedule = await _seen(tx, schedule_id, scope)
        except NotFound:
            if tx.again:
                return
            raise
        for table, column in (("schedule_runs", "schedule_id"), ("schedules", "id")):
            await tx.connection.execute(f"DELETE FROM {table} WHERE {column} = $1", schedule.id)


async def backfill(tx: Transaction, schedule_id: str, scope: Scope, planned: Sequence[int]) -> int:
    """Instants to be made up."""
    async with tx.connection.transaction():
        schedule = await _seen(tx, schedule_id, scope)
        if tx.again and (kept := await _made_up(tx, schedule, planned)):
            return kept
        waiting = await _number_waiting(tx, schedule.id, Stream.MADE_UP)
        schedule_rows.check_backfill(schedule, planned, waiting)
        after = await _put(tx, schedule, Stream.MADE_UP, planned)
        await _save(tx, after)
    return after.waiting - schedule.waiting


async def fire(tx: Transaction, firing: Firing, submit: Submit) -> Sequence[Run]:
    """What a look has made of a schedule."""
    async with tx.connection.transaction():
        schedule = await _find(tx, firing.schedule_id)
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
        schedule = await _put(tx, schedule, Stream.MADE_UP, firing.made_up)
        if firing.live is not None:
            schedule = await _take(tx, schedule, firing.live)
        if schedule.version % schedule_rows.TRIMMED_EVERY == 0:
            schedule = await _trim(tx, schedule)
        return await _proceed(tx, schedule, submit)


async def proceed(tx: Transaction, schedule_id: str, submit: Submit) -> Sequence[Run]:
    """What waits with nothing before it."""
    async with tx.connection.transaction():
        schedule = await _find(tx, schedule_id)
        if schedule is None or schedule.plan.paused:
            return ()
        return await _proceed(tx, schedule, submit)


async def _made_up(tx: Transaction, schedule: Schedule, planned: Sequence[int]) -> int:
    """How many of the instants wait, as an earlier try, whose answer was lost, has left them."""
    return int(await tx.connection.fetchval(_MADE_UP, schedule.id, list(planned)))


async def _take(tx: Transaction, schedule: Schedule, planned: int) -> Schedule:
    """Put a live instant into its stream, as the overlap policy says."""
    going_on = await _going_on(tx, schedule.id, Stream.LIVE)
    waiting = await tx.connection.fetch(_WAITING, schedule.id, Stream.LIVE.value)
    made = verdict(schedule.plan.overlap, len(going_on), len(waiting))
    match made:
        case Verdict.SKIP | Verdict.FULL:
            why = why_left_out(schedule, made, len(going_on))
            return replace(schedule, skipped_at=planned, skipped_why=why)
        case Verdict.CANCEL | Verdict.TAKE:
            after = await _put(tx, schedule, Stream.LIVE, (planned,))
    # Only a run that is new takes the place of another.
    if made is Verdict.CANCEL and after.waiting > schedule.waiting:
        return await _cancel_old(tx, after, going_on, planned)
    return after


async def _cancel_old(
    tx: Transaction, schedule: Schedule, going_on: Sequence[tuple[int, str]], planned: int
) -> Schedule:
    """Of the live runs only that of the instant `planned`, which waits, is left."""
    request = CancelRequest(f"schedule:{schedule.id}", "The next run of its schedule has begun.")
    for _, task_id in going_on:
        try:
            await people.cancel(tx, task_id, Scope(None), request)
        except (Conflict, NotFound):
            continue  # it has ended in this moment
    await tx.connection.execute(_OVER, schedule.id, [instant for instant, _ in going_on])
    rows = await tx.connection.fetch(_DROP, schedule.id, Stream.LIVE.value, planned)
    return without(schedule, [row[0] for row in rows], len(going_on))


async def _put(
    tx: Transaction, schedule: Schedule, stream: Stream, planned: Sequence[int]
) -> Schedule:
    """Let runs wait that nobody has taken, as far as their stream has room."""
    if not planned:
        return schedule
    new = [row[0] for row in await tx.connection.fetch(_UNTAKEN, schedule.id, list(planned))]
    room = max(0, WAITING_MOST - await _number_waiting(tx, schedule.id, stream))
    await tx.connection.execute(_RUNS, schedule.id, stream.value, new[:room])
    schedule = replace(schedule, waiting=schedule.waiting + len(new[:room]))
    if len(new) > room:
        return replace(schedule, skipped_at=new[room], skipped_why=Skipped.FULL)
    return schedule


async def _number_waiting(tx: Transaction, schedule_id: str, stream: Stream) -> int:
    return int(await tx.connection.fetchval(_NUMBER_WAITING, schedule_id, stream.value))


async def _proceed(tx: Transaction, schedule: Schedule, submit: Submit) -> Sequence[Run]:
    runs, refusal = [], None
    for stream in Stream:
        run = await _next_run(tx, schedule, stream) if schedule.waiting else None
        if run is None:
            continue
        answer = await _submitted(tx, schedule, run, submit)
        if isinstance(answer, Submitted):
            runs.append(run)
            schedule = schedule_rows.started(schedule, run)
        else:
            refusal = str(answer)
    newly = refusal is not None and schedule.held_at is None
    await _save(tx, held(schedule, refusal, await _now(tx) if newly else tx.moment.last))
    return runs


async def _next_run(tx: Transaction, schedule: Schedule, stream: Stream) -> Run | None:
    planned_at = await tx.connection.fetchval(_WAITING, schedule.id, stream.value)
    if planned_at is None or await _going_on(tx, schedule.id, stream):
        return None
    return Run(schedule.id, planned_at, str(uuid7()))


async def _submitted(
    tx: Transaction, schedule: Schedule, run: Run, submit: Submit
) -> Submitted | Exception:
    new = schedule_rows.task_of_run(schedule, run.planned_at, run.task_id)
    (answer,) = await submit(tx, [new])
    # Without room for it now it goes on waiting.
    if isinstance(answer, Submitted):
        await tx.connection.execute(_STARTED, *run[:3])
    return answer


async def _going_on(tx: Transaction, schedule_id: str, stream: Stream) -> Sequence[tuple[int, str]]:
    """The runs of a stream that are not over, with their tasks; the others are noted to be."""
    rows = await tx.connection.fetch(_GOING_ON, schedule_id, stream.value)
    # A task that is gone was over before it was pruned.
    over = [row[0] for row in rows if row[2] is None or Status(row[2]) in SETTLED]
    if over:
        await tx.connection.execute(_OVER, schedule_id, over)
    return [(row[0], str(row[1])) for row in rows if row[0] not in over]


async def _trim(tx: Transaction, schedule: Schedule) -> Schedule:
    gone = [row[0] for row in await tx.connection.fetch(_TRIM, schedule.id, REMEMBERED)]
    return replace(schedule, forgotten_at=max(gone, default=schedule.forgotten_at))


async def _save(tx: Transaction, schedule: Schedule) -> Schedule:
    await tx.connection.execute(_UPDATE, *row_of_schedule(schedule))
    return schedule


async def _now(tx: Transaction) -> int:
    return tx.moment.saw(int(await tx.connection.fetchval(f"SELECT {MS}", tx.moment.last)))


async def _find(tx: Transaction, schedule_id: str) -> Schedule | None:
    row: Any = None
    if known(schedule_id):
        row = await tx.connection.fetchrow(_LOCKED, schedule_id)
    return None if row is None else schedule_of(tuple(row))


async def _seen(tx: Transaction, schedule_id: str, scope: Scope) -> Schedule:
    schedule = await _find(tx, schedule_id)
    if schedule is None or not schedule_rows.sees(scope, schedule):
        raise schedule_rows.absent(schedule_id)
    return schedule
