"""Changes of many tasks: a page is looked for by a reader, and written if nobody was quicker."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import apsw

from stagepost import mass
from stagepost.errors import NotFound, StagepostError
from stagepost.mass import Advance, End, Found, Kind, MassChange, Progress, State
from stagepost.records import Scope
from stagepost.stores import masses
from stagepost.stores.rows import json
from stagepost.stores.sqlite import changes, keyed, people, reading
from stagepost.stores.sqlite.intents import Kind as Order
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.sqlite.writer import Writer
from stagepost.task import CancelRequest, Status, Task

_PROGRESS: Final = ", ".join(masses.PROGRESS)
_SELECT: Final = f"SELECT id, kind, tenant, user, spec, {_PROGRESS} FROM mass_changes WHERE id = ?"
_INSERT: Final = f"""
INSERT INTO mass_changes (id, kind, tenant, user, spec, {_PROGRESS})
VALUES (?, ?, ?, ?, ?, {", ".join("?" * len(masses.PROGRESS))})"""
_UPDATE: Final = f"""
UPDATE mass_changes SET {", ".join(f"{name} = ?" for name in masses.PROGRESS)} WHERE id = ?"""
_FORGET_INPUT: Final = "UPDATE mass_changes SET spec = ? WHERE id = ?"
_ENDS: Final = """
SELECT m.task_id, t.status, t.failure_kind FROM mass_tasks AS m
LEFT JOIN tasks AS t ON t.id = m.task_id WHERE m.change_id = ?"""
_OVER: Final = """
DELETE FROM mass_tasks WHERE change_id = ? AND task_id IN (SELECT value FROM json_each(?))
RETURNING task_id"""


class SqliteMassChanges:
    """The MassChanges port."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def begin(self, change: MassChange) -> Progress:
        """Keep a change."""
        now = self._writer.now
        matched = await self._readers.call(lambda db: _count(db, change, now))
        begun: Progress = await self._writer.call(Order.CHANGE, _begin, (change, matched))
        return begun

    async def progress(self, change_id: str, kind: Kind, scope: Scope) -> Progress:
        """How far a change is."""
        found = await self._readers.call(lambda db: find(db, change_id))
        if found is None or found[0].kind is not kind or not masses.in_scope(scope, found[0]):
            raise masses.unknown(change_id, kind)
        return found[1]

    async def stop(self, change_id: str, kind: Kind, scope: Scope, why: str) -> Progress:
        """Stop a change."""
        await self.progress(change_id, kind, scope)
        stopped: Progress = await self._writer.call(Order.CHANGE, _stop, (change_id, why))
        return stopped

    async def open(self, limit: int, after: str = "") -> Sequence[str]:
        """Changes that are not over."""
        rows: list[Any] = await self._readers.call(
            lambda db: db.execute(
                "SELECT id FROM mass_changes WHERE open AND id > ? ORDER BY id LIMIT ?",
                (after, limit),
            ).fetchall()
        )
        return [row[0] for row in rows]

    async def advance(self, change_id: str) -> Advance:
        """Do the next page."""
        now = self._writer.now
        look = await self._readers.call(lambda db: _look(db, change_id, now))
        if look is None:
            raise masses.unknown(change_id)
        advanced: Advance = await self._writer.call(Order.CHANGE, _advance, look)
        return advanced

    async def prune(self, *, older_than: float, limit: int) -> int:
        """Forget old changes."""
        horizon = self._writer.now - round(older_than * 1000)
        pruned: int = await self._writer.call(Order.CHANGE, _prune, (horizon, limit))
        return pruned


class _Look(NamedTuple):
    change: MassChange
    progress: Progress
    on_the_way: int
    ends: list[End]
    found: Found


def find(db: apsw.Connection, change_id: str) -> tuple[MassChange, Progress] | None:
    """A change, and how far it is."""
    row = db.execute(_SELECT, (change_id,)).fetchone()
    return None if row is None else (masses.change_of(row[:5]), masses.progress_of(row[5:]))


def _look(db: apsw.Connection, change_id: str, now: int) -> _Look | None:
    kept = find(db, change_id)
    if kept is None:
        return None
    change, progress = kept
    rows: list[Any] = db.execute(_ENDS, (change_id,)).fetchall()
    ends = [
        End(row[0], None if row[1] is None else Status(row[1]), row[2])
        for row in rows
        if row[1] is None or Status(row[1]) in mass.OVER
    ]
    way = len(rows) - len(ends)
    # What these ends mean comes first: they may stop it.
    counted = mass.judged(change, mass.ended(progress, ends), way, now, exhausted=False)
    want = mass.allowance(change, counted, way, now)
    found = _next(db, change, progress, want) if want else mass.NOTHING
    return _Look(change, progress, way, ends, found)


def _next(db: apsw.Connection, change: MassChange, progress: Progress, want: int) -> Found:
    if change.task_ids:
        return mass.chosen(change, progress.cursor, want)
    among, owner = _among(change)
    place = (*owner, progress.cursor)
    bound: Any = db.execute(
        f"SELECT id FROM tasks WHERE {among} AND id > ? ORDER BY id LIMIT 1 OFFSET ?",
        (*place, mass.SCAN - 1),
    ).get
    condition, values = _condition(change, progress.created_at)
    until = "1" if bound is None else "id <= ?"
    rows: list[Any] = db.execute(
        f"""SELECT id FROM tasks AS t WHERE {condition} AND id > ? AND {until}
            ORDER BY id LIMIT ?""",
        (*values, progress.cursor, *([] if bound is None else [bound]), want),
    ).fetchall()
    return mass.looked([row[0] for row in rows], bound, progress.cursor, want)


def _among(change: MassChange) -> tuple[str, tuple[str, ...]]:
    """What is looked through: an index has it in the order of the ids."""
    dead = "1" if change.kind is Kind.CANCEL else "status = 'DEAD_LETTER'"
    if change.scope.tenant is None:
        return dead, ()
    return f"{dead} AND tenant = ?", (change.scope.tenant,)


def _condition(change: MassChange, begun_at: int) -> tuple[str, list[Any]]:
    clauses, values = reading.conditions(change.scope, change.where)
    if change.kind is Kind.REDRIVE:
        clauses.append("type IN (SELECT value FROM json_each(?))")
        values.append(json(list(change.attempts)))
    # What comes after it has begun is not meant.
    clauses.append("created_at <= ?" if change.kind is Kind.CANCEL else "ended_at <= ?")
    return " AND ".join(clauses), [*values, begun_at]


def _count(db: apsw.Connection, change: MassChange, now: int) -> int:
    if change.task_ids:
        return len(change.task_ids)
    condition, values = _condition(change, now)
    return int(db.execute(f"SELECT count(*) FROM tasks AS t WHERE {condition}", values).get)


# In the writer's thread


def _begin(
    tx: Transaction, arguments: list[tuple[MassChange, int]]
) -> Sequence[Progress | StagepostError]:
    return [_begin_one(tx, change, matched) for change, matched in arguments]


def _begin_one(tx: Transaction, change: MassChange, matched: int) -> Progress | StagepostError:
    under_way = tx.value(
        "SELECT count(*) FROM mass_changes WHERE open AND tenant IS ?", (change.scope.tenant,)
    )
    if under_way >= masses.OPEN_MOST:
        return masses.too_many()
    gone = _gone(tx, change)
    if gone is not None:
        return gone
    progress = Progress(matched=matched, created_at=tx.now, next_at=tx.now)
    scope = (change.scope.tenant, change.scope.user)
    row = (change.id, change.kind.value, *scope, masses.spec_text(change))
    tx.execute(_INSERT, (*row, *masses.row_of(progress)))
    return progress


def _gone(tx: Transaction, change: MassChange) -> NotFound | None:
    """Why a corrected input can't be kept: its task may just have been erased."""
    for task_id in change.task_ids if change.resume.input is not None else ():
        task = changes.find(tx, task_id)
        if task is None or not change.scope.holds(task):
            return reading.why_absent(tx.connection, task_id, change.scope, task)
    return None


def _stop(tx: Transaction, arguments: list[tuple[str, str]]) -> Sequence[Progress | StagepostError]:
    results: list[Progress | StagepostError] = []
    for change_id, why in arguments:
        found = find(tx.connection, change_id)
        if found is None:
            results.append(masses.unknown(change_id))
            continue
        results.append(keep(tx, found[0], mass.stopped(found[1], why, tx.now)))
    return results


def keep(tx: Transaction, change: MassChange, progress: Progress) -> Progress:
    """Write how far a change is, and forget its input when that is not needed any more."""
    tx.execute(_UPDATE, (*masses.row_of(progress), change.id))
    left = mass.spent(change, progress)
    if left is not change:
        tx.execute(_FORGET_INPUT, (masses.spec_text(left), change.id))
    return progress


def _advance(tx: Transaction, arguments: list[_Look]) -> Sequence[Advance]:
    return [_advance_one(tx, look) for look in arguments]


def _advance_one(tx: Transaction, look: _Look) -> Advance:
    change = look.change
    kept = find(tx.connection, change.id)
    if kept is None or kept[1] != look.progress:
        # Another was quicker, or has stopped it.
        return Advance(look.progress if kept is None else kept[1])
    ids = json([end.task_id for end in look.ends])
    over = set(tx.column(_OVER, (change.id, ids))) if look.ends else set()
    progress = mass.ended(look.progress, [end for end in look.ends if end.task_id in over])
    many, refusal, found = _change_each(tx, look)
    cursor = found.cursor or progress.cursor
    progress = mass.sent(change, progress, cursor, many, tx.now)
    way = look.on_the_way + (many if change.kind is Kind.REDRIVE else 0)
    progress = mass.judged(change, progress, way, tx.now, exhausted=found.exhausted)
    moved = cursor != look.progress.cursor or found != look.found
    full = moved and progress.state is State.RUNNING
    return Advance(keep(tx, change, progress), full, refusal)


def _change_each(tx: Transaction, look: _Look) -> tuple[int, Exception | None, Found]:
    """How many were changed, why the last of the others was not, and what was looked at."""
    many, refusal = 0, None
    for task_id in look.found.ids:
        done = _change(tx, look.change, task_id)
        if isinstance(done, Task) and done.status is Status.DEAD_LETTER:
            # A page of its dead children went back; the next goes before it does itself.
            return many, refusal, mass.cut_short(look.found, task_id, look.progress.cursor)
        many += isinstance(done, Task)
        refusal = done if isinstance(done, Exception) else refusal
    return many, refusal, look.found


def _change(tx: Transaction, change: MassChange, task_id: str) -> Task | Exception | None:
    task = changes.find(tx, task_id)
    if task is None or task.status not in change.where.statuses:
        return None
    request = CancelRequest(change.by, change.reason)
    if change.kind is Kind.CANCEL:
        if task.cancel is not None:
            return None
        return people.cancel(tx, [(task_id, change.scope, request)])[0]
    if change.kind is Kind.DISCARD:
        return people.discard(tx, [(task_id, change.scope, request)])[0]
    attempts = change.attempts.get(task.type)
    if attempts is None:
        return None
    wish = (task_id, change.scope, change.by, change.resume, attempts)
    done = people.redrive(tx, [wish])[0]
    # As if each were sent back by itself: its key is its own before the next one comes.
    keyed.hand_over(tx)
    if isinstance(done, Task) and done.status is not Status.DEAD_LETTER:
        tx.execute("INSERT OR IGNORE INTO mass_tasks VALUES (?, ?)", (change.id, task_id))
    return done


def _prune(tx: Transaction, arguments: list[tuple[int, int]]) -> Sequence[int]:
    return [
        len(
            tx.rows(
                """DELETE FROM mass_changes WHERE id IN (SELECT id FROM mass_changes
                       WHERE NOT open AND ended_at <= ? LIMIT ?) RETURNING id""",
                argument,
            )
        )
        for argument in arguments
    ]
