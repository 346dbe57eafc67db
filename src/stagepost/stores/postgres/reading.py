"""What is read of tasks, each in one statement and so of one moment."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from stagepost.errors import NotFound
from stagepost.event import Event
from stagepost.records import (
    Artifact,
    DeadGroup,
    FailureRecord,
    Filter,
    SavedStep,
    Scope,
    TaskView,
    UploadRecord,
)
from stagepost.retention import Tombstone
from stagepost.stores.postgres import queues
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.rows import TASK_COLUMNS, known, task_of
from stagepost.stores.rows import TASK_FIELDS, event_of, payload_of
from stagepost.stores.tombstones import STONE_COLUMNS, absence, tombstone_of
from stagepost.task import Payload, Status, Task

_VIEW: Final = f"""
SELECT {TASK_COLUMNS}, t.result, t.result_size, t.result_blob, t.input,
    CASE WHEN t.tagged THEN ARRAY(
        SELECT tag FROM tags WHERE task_id = t.id ORDER BY tag) END,
    CASE WHEN t.status = 'QUEUED' THEN {queues.POSITION} END,
    t.concurrency_key IS NOT NULL AND EXISTS (
        SELECT 1 FROM keyed AS k WHERE k.task_id = t.id AND NOT k.holds)
FROM tasks AS t WHERE t.id = $1::uuid"""

_STONE: Final = f"SELECT {STONE_COLUMNS} FROM tombstones WHERE task_id = $1::uuid"

_NEWS: Final = """
SELECT j.id, e.seq, e.kind, e.data, e.at
FROM unnest($1::uuid[], $2::bigint[]) AS j (id, after) CROSS JOIN LATERAL (
    SELECT seq, kind, data, at FROM events
    WHERE task_id = j.id AND seq > j.after AND seq <= j.after + $3::bigint) AS e
ORDER BY j.id, e.seq"""

_STEP: Final = (
    "path, name, input_hash, {value}, size, blob, attempt, fence, started_at, completed_at"
)


async def view(db: Backend, task_id: str, scope: Scope) -> TaskView:
    """One task with what belongs to it."""
    row = await db.fetchrow(_VIEW, task_id) if known(task_id) else None
    task = None if row is None else task_of(row)
    if row is None or task is None or not scope.holds(task):
        raise await why_absent(db, task_id, scope, task)
    result, size, blob, body, tags, position, blocked = row[len(TASK_FIELDS) :]
    payload = payload_of(result, size, blob)
    return TaskView(task, payload, position, body, tuple(tags or ()), blocked)


async def stone_of(db: Backend, task_id: str) -> Tombstone | None:
    """What is left of a task that is not kept."""
    row = await db.fetchrow(_STONE, task_id) if known(task_id) else None
    return None if row is None else tombstone_of(row)


async def why_absent(db: Backend, task_id: str, scope: Scope, task: Task | None) -> NotFound:
    """The refusal for a task that is not kept, or is there but not for this caller."""
    return absence(task_id, scope, await stone_of(db, task_id) if task is None else None)


async def find(db: Backend, scope: Scope, where: Filter) -> Sequence[Task]:
    """Tasks, newest first, by the keyset of their ids."""
    if where.after is not None and not known(where.after):
        return []
    condition, values = condition_of(scope, where)
    statement = f"""SELECT {TASK_COLUMNS} FROM tasks AS t WHERE {condition}
        ORDER BY t.id DESC LIMIT ${len(values) + 1}"""
    return [task_of(row) for row in await db.fetch(statement, *values, where.limit)]


def condition_of(scope: Scope, where: Filter) -> tuple[str, list[Any]]:
    """The condition of a filter, of a table called t, and its parameters from $1 on."""
    options: list[tuple[str, Any]] = [
        ("t.tenant = {}::text", scope.tenant),
        ('t."user" = {}::text', scope.user),
        ('t."user" = {}::text', where.user),
        ("t.type = {}::text", where.type),
        ("t.lane = {}::text", where.lane),
        ("t.failure_kind = {}::text", where.failure_kind),
        ("t.created_at >= {}::bigint", where.created_after),
        ("t.created_at < {}::bigint", where.created_before),
        ("t.id < {}::uuid", where.after),
        ("EXISTS (SELECT 1 FROM tags WHERE task_id = t.id AND tag = {}::text)", where.tag),
        (_statuses(where.statuses), [status.value for status in where.statuses] or None),
    ]
    used = [(clause, value) for clause, value in options if value is not None]
    clauses = [clause.format(f"${number}") for number, (clause, _) in enumerate(used, 1)]
    return " AND ".join(clauses) or "true", [value for _, value in used]


def _statuses(statuses: Sequence[Status]) -> str:
    # Dead letters have an index of their own.
    only_dead = tuple(statuses) == (Status.DEAD_LETTER,)
    return ("t.dead AND " if only_dead else "") + "t.status = ANY({}::text[])"


async def events(db: Backend, task_id: str, after: int, limit: int) -> Sequence[Event]:
    """A task's events behind a number."""
    if not known(task_id):
        return []
    rows = await db.fetch(
        """SELECT seq, kind, data, at FROM events WHERE task_id = $1::uuid AND seq > $2::bigint
           ORDER BY seq LIMIT $3::bigint""",
        task_id, after, limit,
    )  # fmt: skip
    return [event_of(row) for row in rows]


async def news(db: Backend, after: Mapping[str, int], limit: int) -> Mapping[str, Sequence[Event]]:
    """Events of many tasks, each behind its own number."""
    asked = {task_id: seq for task_id, seq in after.items() if known(task_id)}
    if not asked:
        return {}
    found: dict[str, list[Event]] = {}
    for row in await db.fetch(_NEWS, list(asked), list(asked.values()), limit):
        found.setdefault(str(row[0]), []).append(event_of(row[1:]))
    return found


async def steps(db: Backend, task_id: str) -> Sequence[SavedStep]:
    """A task's checkpoints in the order of their saving."""
    if not known(task_id):
        return []
    columns = _STEP.format(value="value")
    return _steps(
        await db.fetch(f"SELECT {columns} FROM steps WHERE task_id = $1::uuid ORDER BY n", task_id)
    )


async def timeline(db: Backend, task_id: str, after: str | None, limit: int) -> Sequence[SavedStep]:
    """A page of a task's checkpoints, without what they hold."""
    if not known(task_id):
        return []
    rows = await db.fetch(
        f"""SELECT {_STEP.format(value="NULL")} FROM steps
           WHERE task_id = $1::uuid AND n > coalesce((SELECT n FROM steps
               WHERE task_id = $1::uuid AND md5(path) = md5($2::text) AND path = $2::text), 0)
           ORDER BY n LIMIT $3::bigint""",
        task_id, after, limit,
    )  # fmt: skip
    return _steps(rows)


def _steps(rows: Sequence[Any]) -> Sequence[SavedStep]:
    return [SavedStep(row[0], row[1], row[2], Payload(*row[3:6]), *row[6:]) for row in rows]


async def dead_groups(db: Backend, scope: Scope, where: Filter) -> Sequence[DeadGroup]:
    """Dead letters counted by failure kind and type."""
    condition, values = condition_of(
        scope, replace(where, statuses=(Status.DEAD_LETTER,), after=None)
    )
    rows = await db.fetch(
        f"""SELECT failure_kind, type, count(*), min(ended_at) FROM tasks AS t
            WHERE {condition} GROUP BY failure_kind, type ORDER BY 3 DESC, 1, 2""",
        *values,
    )
    return [DeadGroup(*row) for row in rows]


async def artifacts(db: Backend, task_id: str) -> Sequence[Artifact]:
    """A task's artifacts by name."""
    if not known(task_id):
        return []
    rows = await db.fetch(
        """SELECT name, media_type, size, sha256, blob, created_at FROM artifacts
           WHERE task_id = $1::uuid ORDER BY name""",
        task_id,
    )
    return [Artifact(*row) for row in rows]


async def failures(db: Backend, task_id: str) -> Sequence[FailureRecord]:
    """A task's failed attempts, oldest first."""
    if not known(task_id):
        return []
    rows = await db.fetch(
        """SELECT attempt, fence, kind, message, trace, at FROM failures
           WHERE task_id = $1::uuid ORDER BY fence""",
        task_id,
    )
    return [FailureRecord(*row) for row in rows]


async def uploads(db: Backend, tenant: str, upload_ids: Sequence[str]) -> Sequence[UploadRecord]:
    """A tenant's uploads among some ids."""
    rows = await db.fetch(
        """SELECT id, tenant, name, media_type, size, sha256 FROM uploads
           WHERE tenant = $1::text AND id = ANY($2::text[])""",
        tenant, list(upload_ids),
    )  # fmt: skip
    return [UploadRecord._make(row) for row in rows]
