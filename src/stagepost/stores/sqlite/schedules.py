"""Schedules in the embedded store: the port's verbs, and what its readers look for."""

from collections.abc import Sequence
from typing import Any, Final

import apsw

from stagepost.firing import Firing
from stagepost.records import Scope
from stagepost.schedule import Plan, Schedule, Stream
from stagepost.store.schedules import Due, Run, Standing
from stagepost.stores.schedule_rows import absent, schedule_of, sees
from stagepost.stores.sqlite import schedule_writes as writes
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.writer import Writer
from stagepost.task import SETTLED

_SETTLED: Final = ", ".join(f"'{status}'" for status in sorted(SETTLED))
_FREE_STREAM: Final = f"""
EXISTS (SELECT 1 FROM schedule_runs AS w INDEXED BY schedule_runs_open
    WHERE w.schedule_id = s.id AND w.stream = '{{0}}'
    AND w.open = 1 AND w.task_id IS NULL)
AND NOT EXISTS (SELECT 1 FROM schedule_runs AS r INDEXED BY schedule_runs_open
    JOIN tasks AS t ON t.id = r.task_id
    WHERE r.schedule_id = s.id AND r.stream = '{{0}}' AND r.open = 1
        AND t.status NOT IN ({_SETTLED}))"""
# In any order: those that can't be submitted, as there is no room, keep no other back. What refuses
# one that is held refuses all of its tenant, so one of them is enough to ask.
_FREE: Final = f"""
SELECT id FROM (
    SELECT s.id, s.held_at, row_number() OVER (
        PARTITION BY s.tenant, s.held_at IS NULL ORDER BY random()) AS place
    FROM schedules AS s WHERE s.waiting > 0 AND NOT s.plan ->> '$.paused'
        AND ({" OR ".join(f"({_FREE_STREAM.format(stream)})" for stream in Stream)})) AS free
WHERE held_at IS NULL OR place = 1 ORDER BY random() LIMIT ?"""
_DUE: Final = f"""
SELECT {writes.COLUMNS} FROM schedules WHERE due_at IS NOT NULL AND due_at <= ?
ORDER BY due_at LIMIT ?"""
_STANDING: Final = """
SELECT count(*) FILTER (WHERE NOT plan ->> '$.paused'), count(*) FILTER (WHERE plan ->> '$.paused'),
    coalesce(sum(waiting), 0), min(due_at) FROM schedules"""


class SqliteSchedules:
    """The Schedules port on a store's writer and readers; `submit` is how it accepts tasks."""

    def __init__(self, writer: Writer, readers: Readers, submit: writes.Submit) -> None:
        self._submit = submit
        self._writer = writer
        self._readers = readers

    async def now(self) -> int:
        """The store's time."""
        return self._writer.now

    async def add(
        self, schedule_id: str, tenant: str, user: str, plan: Plan, most: int
    ) -> Schedule:
        """Begin a schedule."""
        schedule: Schedule = await self._write(
            writes.add, (schedule_id, tenant, user, plan, most), len(plan.input)
        )
        return schedule

    async def get(self, schedule_id: str, scope: Scope) -> Schedule:
        """A schedule."""
        statement = f"SELECT {writes.COLUMNS} FROM schedules WHERE id = ?"
        row = await self._readers.call(lambda db: db.execute(statement, (schedule_id,)).fetchone())
        schedule = None if row is None else schedule_of(row)
        if schedule is None or not sees(scope, schedule):
            raise absent(schedule_id)
        return schedule

    async def find(self, scope: Scope, after: str | None, limit: int) -> Sequence[Schedule]:
        """A page of schedules."""
        return await self._readers.call(lambda db: _find(db, scope, after, limit))

    async def change(self, schedule_id: str, scope: Scope, before: Plan, plan: Plan) -> Schedule:
        """Give it another plan."""
        argument = (schedule_id, scope, before, plan)
        schedule: Schedule = await self._write(writes.change, argument, len(plan.input))
        return schedule

    async def remove(self, schedule_id: str, scope: Scope) -> None:
        """End a schedule."""
        await self._write(writes.remove, (schedule_id, scope))

    async def backfill(self, schedule_id: str, scope: Scope, planned: Sequence[int]) -> int:
        """Let instants be made up."""
        made: int = await self._write(writes.backfill, (schedule_id, scope, planned))
        return made

    async def due(self, limit: int) -> Due:
        """What there is to do."""
        now = self._writer.now
        return await self._readers.call(lambda db: _due(db, now, limit))

    async def fire(self, firing: Firing) -> Sequence[Run]:
        """Do what a look has made of a schedule."""
        runs: Sequence[Run] = await self._write(writes.fire, (firing, self._submit))
        return runs

    async def proceed(self, schedule_id: str) -> Sequence[Run]:
        """Submit what waits with nothing before it."""
        runs: Sequence[Run] = await self._write(writes.proceed, (schedule_id, self._submit))
        return runs

    async def standing(self) -> Standing:
        """How the schedules stand."""
        now = self._writer.now
        counts = await self._readers.call(_standing)
        active, paused, waiting, first = counts
        return Standing(active, paused, waiting, 0 if first is None else max(0, now - first))

    async def _write(self, apply: Any, argument: tuple[Any, ...], size: int = 0) -> Any:
        return await self._writer.call(Kind.CHANGE, apply, argument, size)


def _find(db: apsw.Connection, scope: Scope, after: str | None, limit: int) -> Sequence[Schedule]:
    bindings = {"tenant": scope.tenant, "user": scope.user, "after": after or "", "limit": limit}
    conditions = ["id > :after"]
    conditions += ["tenant = :tenant"] if scope.tenant is not None else []
    conditions += ["user = :user"] if scope.user is not None else []
    statement = f"""SELECT {writes.COLUMNS} FROM schedules WHERE {" AND ".join(conditions)}
        ORDER BY id LIMIT :limit"""
    return [schedule_of(row) for row in db.execute(statement, bindings)]


def _due(db: apsw.Connection, now: int, limit: int) -> Due:
    schedules = [schedule_of(row) for row in db.execute(_DUE, (now, limit))]
    return Due(now, schedules, [str(row[0]) for row in db.execute(_FREE, (limit,))])


def _standing(db: apsw.Connection) -> tuple[Any, ...]:
    return db.execute(_STANDING).fetchall()[0]
