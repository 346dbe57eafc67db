"""Changes of many tasks: a page is looked for first, and written if nobody was quicker."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from stagepost import mass
from stagepost.errors import Conflict, NotFound, UploadSwept
from stagepost.mass import Advance, End, Found, Kind, MassChange, Progress, State
from stagepost.records import Scope
from stagepost.stores import masses
from stagepost.stores.postgres import changes, looking, people, reading
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.rows import known
from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import CancelRequest, Status, Task

_FIRST: Final = "00000000-0000-0000-0000-000000000000"
_PROGRESS: Final = ", ".join(masses.PROGRESS)
SELECT: Final = f"""
SELECT id, kind, tenant, "user", spec, {_PROGRESS} FROM mass_changes WHERE id = $1::uuid"""
_LOCKED: Final = f"{SELECT} FOR UPDATE"
_INSERT: Final = f"""
INSERT INTO mass_changes (id, kind, tenant, "user", spec, {_PROGRESS})
VALUES ({", ".join(f"${number}" for number in range(1, 6 + len(masses.PROGRESS)))})
ON CONFLICT (id) DO NOTHING"""
_UPDATE: Final = f"""
UPDATE mass_changes SET {
    ", ".join(f"{name} = ${number}" for number, name in enumerate(masses.PROGRESS, 2))
} WHERE id = $1"""
_FORGET_INPUT: Final = "UPDATE mass_changes SET spec = $1::text WHERE id = $2::uuid"
_UNDER_WAY: Final = """
SELECT count(*) FROM mass_changes WHERE open AND tenant IS NOT DISTINCT FROM $1::text"""
_ENDS: Final = """
SELECT m.task_id, t.status, t.failure_kind FROM mass_tasks AS m
LEFT JOIN tasks AS t ON t.id = m.task_id WHERE m.change_id = $1::uuid"""
_OVER: Final = """
DELETE FROM mass_tasks WHERE change_id = $1::uuid AND task_id = ANY($2::uuid[]) RETURNING task_id"""
_SENT: Final = "INSERT INTO mass_tasks VALUES ($1::uuid, $2::uuid) ON CONFLICT DO NOTHING"
_OPEN: Final = """
SELECT id FROM mass_changes WHERE open AND id > $2::uuid ORDER BY id LIMIT $1::bigint"""
_PRUNE: Final = """
WITH gone AS (
    DELETE FROM mass_changes WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM mass_changes WHERE NOT open AND ended_at <= $1::bigint
        LIMIT $2::bigint FOR UPDATE SKIP LOCKED)) RETURNING 1
)
SELECT count(*) FROM gone"""


class PostgresMassChanges:
    """The MassChanges port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def begin(self, change: MassChange) -> Progress:
        """Keep a change."""
        now = await self._now()
        matched = await self._engine.read(lambda db: _count(db, change, now))
        return await self._engine.change(lambda tx: _begin(tx, change, matched))

    async def progress(self, change_id: str, kind: Kind, scope: Scope) -> Progress:
        """How far a change is."""
        found = await self._engine.read(lambda db: find(db, SELECT, change_id))
        if found is None or found[0].kind is not kind or not masses.in_scope(scope, found[0]):
            raise masses.unknown(change_id, kind)
        return found[1]

    async def stop(self, change_id: str, kind: Kind, scope: Scope, why: str) -> Progress:
        """Stop a change."""
        await self.progress(change_id, kind, scope)
        return await self._engine.change(lambda tx: _stop(tx, change_id, why))

    async def open(self, limit: int, after: str = "") -> Sequence[str]:
        """Changes that are not over."""
        rows = await self._engine.read(lambda db: db.fetch(_OPEN, limit, after or _FIRST))
        return [str(row[0]) for row in rows]

    async def advance(self, change_id: str) -> Advance:
        """Do the next page."""
        now = await self._now()
        look = await self._engine.read(lambda db: _look(db, change_id, now))
        if look is None:
            raise masses.unknown(change_id)
        return await self._engine.change(lambda tx: _advance(tx, look))

    async def prune(self, *, older_than: float, limit: int) -> int:
        """Forget old changes."""
        horizon = await self._now() - round(older_than * 1000)

        async def work(tx: Transaction) -> int:
            return int(await tx.connection.fetchval(_PRUNE, horizon, limit))

        return await self._engine.change(work)

    async def _now(self) -> int:
        last = self._engine.moment.last
        return await self._engine.read(lambda db: looking.now(db, last))


class _Look(NamedTuple):
    change: MassChange
    progress: Progress
    on_the_way: int
    ends: list[End]
    found: Found


async def find(db: Backend, statement: str, change_id: str) -> tuple[MassChange, Progress] | None:
    """A change, by one of the statements that read one."""
    row = await db.fetchrow(statement, change_id) if known(change_id) else None
    if row is None:
        return None
    values = tuple(row)
    return masses.change_of(values[:5]), masses.progress_of(values[5:])


async def _look(db: Backend, change_id: str, now: int) -> _Look | None:
    kept = await find(db, SELECT, change_id)
    if kept is None:
        return None
    change, progress = kept
    rows = [tuple(row) for row in await db.fetch(_ENDS, change_id)]
    ends = [
        End(str(task_id), None if status is None else Status(status), kind)
        for task_id, status, kind in rows
        if status is None or Status(status) in mass.OVER
    ]
    way = len(rows) - len(ends)
    # What these ends mean comes first: they may stop it.
    counted = mass.judged(change, mass.ended(progress, ends), way, now, exhausted=False)
    want = mass.allowance(change, counted, way, now)
    found = await _next(db, change, progress, want) if want else mass.NOTHING
    return _Look(change, progress, way, ends, found)


async def _next(db: Backend, change: MassChange, progress: Progress, want: int) -> Found:
    if change.task_ids:
        return mass.chosen(change, progress.cursor, want)
    among, owner = _among(change)
    cursor = progress.cursor or _FIRST
    bound = await db.fetchval(
        f"""SELECT id FROM tasks WHERE {among} AND id > $1::uuid
            ORDER BY id LIMIT 1 OFFSET {mass.SCAN - 1}""",
        cursor, *owner,
    )  # fmt: skip
    condition, values = _condition(change, progress.created_at)
    number = len(values)
    rows = await db.fetch(
        f"""SELECT t.id FROM tasks AS t WHERE {condition} AND t.id > ${number + 1}::uuid
                AND (${number + 2}::uuid IS NULL OR t.id <= ${number + 2}::uuid)
            ORDER BY t.id LIMIT ${number + 3}::bigint""",
        *values, cursor, bound, want,
    )  # fmt: skip
    last = None if bound is None else str(bound)
    return mass.looked([str(row[0]) for row in rows], last, progress.cursor, want)


def _among(change: MassChange) -> tuple[str, tuple[str, ...]]:
    """What is looked through: an index has it in the order of the ids."""
    dead = "true" if change.kind is Kind.CANCEL else "dead"
    if change.scope.tenant is None:
        return dead, ()
    return f"{dead} AND tenant = $2::text", (change.scope.tenant,)


def _condition(change: MassChange, begun_at: int) -> tuple[str, list[Any]]:
    condition, values = reading.condition_of(change.scope, change.where)
    if change.kind is Kind.REDRIVE:
        values.append(list(change.attempts))
        condition += f" AND t.type = ANY(${len(values)}::text[])"
    # What comes after it has begun is not meant.
    column = "created_at" if change.kind is Kind.CANCEL else "ended_at"
    values.append(begun_at)
    return f"{condition} AND t.{column} <= ${len(values)}::bigint", values


async def _count(db: Backend, change: MassChange, now: int) -> int:
    if change.task_ids:
        return len(change.task_ids)
    condition, values = _condition(change, now)
    found = await db.fetchval(f"SELECT count(*) FROM tasks AS t WHERE {condition}", *values)
    return int(found)


async def _begin(tx: Transaction, change: MassChange, matched: int) -> Progress:
    async with tx.connection.transaction():
        found = await find(tx.connection, SELECT, change.id)
        if found is not None:
            # An earlier try has kept it, whose answer was lost.
            return found[1]
        if await tx.connection.fetchval(_UNDER_WAY, change.scope.tenant) >= masses.OPEN_MOST:
            raise masses.too_many()
        if change.resume.input is not None:
            # Locked, and looked for: they may just have been erased.
            for task_id in sorted(change.task_ids):
                await changes.find(tx, task_id, change.scope)
        now = tx.moment.saw(await looking.now(tx.connection, tx.moment.last))
        progress = Progress(matched=matched, created_at=now, next_at=now)
        row = (change.id, change.kind.value, change.scope.tenant, change.scope.user)
        await tx.connection.execute(
            _INSERT, *row, masses.spec_text(change), *masses.row_of(progress)
        )
    return progress


async def _stop(tx: Transaction, change_id: str, why: str) -> Progress:
    async with tx.connection.transaction():
        found = await find(tx.connection, _LOCKED, change_id)
        if found is None:
            raise masses.unknown(change_id)
        now = tx.moment.saw(await looking.now(tx.connection, tx.moment.last))
        return await keep(tx, found[0], mass.stopped(found[1], why, now))


async def keep(tx: Transaction, change: MassChange, progress: Progress) -> Progress:
    """Write how far a change is, and forget its input when that is not needed any more."""
    await tx.connection.execute(_UPDATE, change.id, *masses.row_of(progress))
    left = mass.spent(change, progress)
    if left is not change:
        await tx.connection.execute(_FORGET_INPUT, masses.spec_text(left), change.id)
    return progress


async def _advance(tx: Transaction, look: _Look) -> Advance:
    change = look.change
    async with tx.connection.transaction():
        kept = await find(tx.connection, _LOCKED, change.id)
        if kept is None or kept[1] != look.progress:
            # Another was quicker, or has stopped it; or this is a second try after a lost answer.
            return Advance(look.progress if kept is None else kept[1])
        now = tx.moment.saw(await looking.now(tx.connection, tx.moment.last))
        ids = [end.task_id for end in look.ends]
        over = {str(row[0]) for row in await tx.connection.fetch(_OVER, change.id, ids)}
        progress = mass.ended(look.progress, [end for end in look.ends if end.task_id in over])
        many, refusal, found = await _change_each(tx, look)
        cursor = found.cursor or progress.cursor
        progress = mass.sent(change, progress, cursor, many, now)
        way = look.on_the_way + (many if change.kind is Kind.REDRIVE else 0)
        progress = mass.judged(change, progress, way, now, exhausted=found.exhausted)
        moved = cursor != look.progress.cursor or found != look.found
        full = moved and progress.state is State.RUNNING
        return Advance(await keep(tx, change, progress), full, refusal)


async def _change_each(tx: Transaction, look: _Look) -> tuple[int, Exception | None, Found]:
    """How many were changed, why the last of the others was not, and what was looked at."""
    many, refusal = 0, None
    for task_id in look.found.ids:
        try:
            done = await _change(tx, look.change, task_id)
        except (Conflict, NotFound, UploadSwept) as error:
            refusal = error
            continue
        if done is not None and done.status is Status.DEAD_LETTER:
            # A page of its dead children went back; the next goes before it does itself.
            return many, refusal, mass.cut_short(look.found, task_id, look.progress.cursor)
        many += done is not None
    return many, refusal, look.found


async def _change(tx: Transaction, change: MassChange, task_id: str) -> Task | None:
    task = (await changes.lock(tx, [task_id])).get(task_id)
    if task is None or task.status not in change.where.statuses:
        return None
    request = CancelRequest(change.by, change.reason)
    if change.kind is Kind.CANCEL:
        if task.cancel is not None:
            return None
        return await people.cancel(tx, task_id, change.scope, request)
    if change.kind is Kind.DISCARD:
        return await people.discard(tx, task_id, change.scope, request)
    attempts = change.attempts.get(task.type)
    if attempts is None:
        return None
    done = await people.redrive(tx, task_id, change.scope, change.by, change.resume, attempts)
    if done.status is not Status.DEAD_LETTER:
        await tx.connection.execute(_SENT, change.id, task_id)
    return done
