"""Schedules in PostgreSQL: the port's verbs, and what is read for them."""

from collections.abc import Sequence
from typing import Final

from stagepost.firing import Firing
from stagepost.records import Scope
from stagepost.schedule import Plan, Schedule, Stream
from stagepost.store.schedules import Due, Run, Standing
from stagepost.stores.postgres import looking
from stagepost.stores.postgres import schedule_writes as writes
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.rows import MS, known
from stagepost.stores.schedule_rows import absent, schedule_of, sees
from stagepost.task import SETTLED

_SETTLED: Final = ", ".join(f"'{status}'" for status in sorted(SETTLED))
_PAUSED: Final = "(plan::json ->> 'paused')::boolean"
_FREE_STREAM: Final = f"""
EXISTS (SELECT 1 FROM schedule_runs AS w WHERE w.schedule_id = s.id AND w.stream = '{{0}}'
    AND w.open AND w.task_id IS NULL)
AND NOT EXISTS (SELECT 1 FROM schedule_runs AS r JOIN tasks AS t ON t.id = r.task_id
    WHERE r.schedule_id = s.id AND r.stream = '{{0}}' AND r.open
        AND t.status NOT IN ({_SETTLED}))"""
# In any order: those that can't be submitted, as there is no room, keep no other back. What refuses
# one that is held refuses all of its tenant, so one of them is enough to ask.
_FREE: Final = f"""
SELECT id FROM (
    SELECT s.id, s.held_at, row_number() OVER (
        PARTITION BY s.tenant, s.held_at IS NULL ORDER BY random()) AS place
    FROM schedules AS s WHERE s.waiting > 0 AND NOT {_PAUSED}
        AND ({" OR ".join(f"({_FREE_STREAM.format(stream)})" for stream in Stream)})) AS free
WHERE held_at IS NULL OR place = 1 ORDER BY random() LIMIT $1::integer"""
_DUE: Final = f"""
SELECT {writes.COLUMNS} FROM schedules WHERE due_at IS NOT NULL AND due_at <= $1::bigint
ORDER BY due_at LIMIT $2::integer"""
_STANDING: Final = f"""
SELECT count(*) FILTER (WHERE NOT {_PAUSED}), count(*) FILTER (WHERE {_PAUSED}),
    coalesce(sum(waiting), 0), greatest(0, coalesce({MS} - min(due_at), 0)) FROM schedules"""
_FIND: Final = f"""
SELECT {writes.COLUMNS} FROM schedules
WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR "user" = $2)
    AND ($3::uuid IS NULL OR id > $3)
ORDER BY id LIMIT $4::integer"""


class PostgresSchedules:
    """The Schedules port on a store's engine; `submit` is how it accepts tasks."""

    def __init__(self, engine: Engine, submit: writes.Submit) -> None:
        self._submit = submit
        self._engine = engine

    async def now(self) -> int:
        """The server's time."""
        last = self._engine.moment.last
        return await self._engine.read(lambda db: looking.now(db, last))

    async def add(
        self, schedule_id: str, tenant: str, user: str, plan: Plan, most: int
    ) -> Schedule:
        """Begin a schedule."""
        return await self._engine.change(
            lambda tx: writes.add(tx, schedule_id, tenant, user, plan, most)
        )

    async def get(self, schedule_id: str, scope: Scope) -> Schedule:
        """A schedule."""

        async def read(db: Backend) -> Schedule | None:
            statement = f"SELECT {writes.COLUMNS} FROM schedules WHERE id = $1::uuid"
            row = await db.fetchrow(statement, schedule_id)
            return None if row is None else schedule_of(tuple(row))

        schedule = await self._engine.read(read) if known(schedule_id) else None
        if schedule is None or not sees(scope, schedule):
            raise absent(schedule_id)
        return schedule

    async def find(self, scope: Scope, after: str | None, limit: int) -> Sequence[Schedule]:
        """A page of schedules."""
        if after is not None and not known(after):
            return ()

        async def read(db: Backend) -> Sequence[Schedule]:
            rows = await db.fetch(_FIND, scope.tenant, scope.user, after, limit)
            return [schedule_of(tuple(row)) for row in rows]

        return await self._engine.read(read)

    async def change(self, schedule_id: str, scope: Scope, before: Plan, plan: Plan) -> Schedule:
        """Give it another plan."""
        return await self._engine.change(
            lambda tx: writes.change(tx, schedule_id, scope, before, plan)
        )

    async def remove(self, schedule_id: str, scope: Scope) -> None:
        """End a schedule."""
        await self._engine.change(lambda tx: writes.remove(tx, schedule_id, scope))

    async def backfill(self, schedule_id: str, scope: Scope, planned: Sequence[int]) -> int:
        """Let instants be made up."""
        return await self._engine.change(
            lambda tx: writes.backfill(tx, schedule_id, scope, planned)
        )

    async def due(self, limit: int) -> Due:
        """What there is to do."""
        last = self._engine.moment.last

        async def read(db: Backend) -> Due:
            now = await looking.now(db, last)
            schedules = [schedule_of(tuple(row)) for row in await db.fetch(_DUE, now, limit)]
            return Due(now, schedules, [str(row[0]) for row in await db.fetch(_FREE, limit)])

        return await self._engine.read(read)

    async def fire(self, firing: Firing) -> Sequence[Run]:
        """Do what a look has made of a schedule."""
        return await self._engine.change(lambda tx: writes.fire(tx, firing, self._submit))

    async def proceed(self, schedule_id: str) -> Sequence[Run]:
        """Submit what waits with nothing before it."""
        return await self._engine.change(lambda tx: writes.proceed(tx, schedule_id, self._submit))

    async def standing(self) -> Standing:
        """How the schedules stand."""
        last = self._engine.moment.last
        row = await self._engine.read(lambda db: db.fetchrow(_STANDING, last))
        return Standing(*map(int, row))
