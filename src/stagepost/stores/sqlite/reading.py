"""What is read, each as a function of a reader's connection."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import apsw
import orjson

from stagepost.errors import NotFound
from stagepost.event import Event
from stagepost.records import (
    ApiKey,
    Artifact,
    DeadGroup,
    FailureRecord,
    Filter,
    LaneRecord,
    SavedStep,
    Scope,
    TaskView,
    UploadRecord,
    WorkerRecord,
)
from stagepost.retention import Tombstone
from stagepost.stores.rows import (
    STAMPED_COUNTED,
    TASK_COLUMNS,
    TASK_FIELDS,
    event_of,
    json,
    payload_of,
    task_of,
    worker_of,
)
from stagepost.stores.sqlite import queues
from stagepost.stores.tombstones import STONE_COLUMNS, absence, tombstone_of
from stagepost.task import Payload, Status, Task
from stagepost.versions import Stamped

_VIEW: Final = f"""
SELECT {TASK_COLUMNS}, result, result_size, result_blob,
    coalesce(input, (SELECT body FROM inputs WHERE task_id = id)), tagged,
    concurrency_key IS NOT NULL AND EXISTS (
        SELECT 1 FROM keyed WHERE task_id = id AND holds = 0)
FROM tasks WHERE id = ?"""

_STONE: Final = f"SELECT {STONE_COLUMNS} FROM tombstones WHERE task_id = ?"


def view(db: apsw.Connection, task_id: str, scope: Scope) -> TaskView:
    """One task with what belongs to it."""
    row = db.execute(_VIEW, (task_id,)).fetchone()
    task = None if row is None else task_of(row)
    if row is None or task is None or not scope.holds(task):
        raise why_absent(db, task_id, scope, task)
    result, size, blob, body, tagged, blocked = row[len(TASK_FIELDS) :]
    tags: tuple[str, ...] = ()
    if tagged:
        found = db.execute("SELECT tag FROM tags WHERE task_id = ? ORDER BY tag", (task_id,))
        tags = tuple(tag for (tag,) in found)
    place = _position(db, task)
    return TaskView(task, payload_of(result, size, blob), place, body, tags, bool(blocked))


def stone_of(db: apsw.Connection, task_id: str) -> Tombstone | None:
    """What is left of a task that is not kept."""
    row = db.execute(_STONE, (task_id,)).fetchone()
    return None if row is None else tombstone_of(row)


def why_absent(db: apsw.Connection, task_id: str, scope: Scope, task: Task | None) -> NotFound:
    """The refusal for a task that is not kept, or is there but not for this caller."""
    return absence(task_id, scope, stone_of(db, task_id) if task is None else None)


def _position(db: apsw.Connection, task: Task) -> int | None:
    queued = task.status is Status.QUEUED and task.pooled_at is not None
    return queues.position(db, task) if queued else None


def find(db: apsw.Connection, scope: Scope, where: Filter) -> Sequence[Task]:
    """Tasks, newest first, by the keyset of their ids."""
    clauses, values = conditions(scope, where)
    condition = " AND ".join(clauses) or "1"
    statement = f"""SELECT {TASK_COLUMNS} FROM tasks AS t WHERE {condition}
        ORDER BY id DESC LIMIT ?"""
    return [task_of(row) for row in db.execute(statement, (*values, where.limit))]


def conditions(scope: Scope, where: Filter) -> tuple[list[str], list[Any]]:
    """The conditions of a filter, of a table called t, and their values."""
    options: list[tuple[str, Any]] = [
        ("tenant = ?", scope.tenant),
        ("user = ?", scope.user),
        ("user = ?", where.user),
        ("type = ?", where.type),
        ("lane = ?", where.lane),
        ("failure_kind = ?", where.failure_kind),
        ("created_at >= ?", where.created_after),
        ("created_at < ?", where.created_before),
        ("id < ?", where.after),
        ("EXISTS (SELECT 1 FROM tags WHERE task_id = t.id AND tag = ?)", where.tag),
    ]
    clauses = [clause for clause, value in options if value is not None]
    values = [value for _, value in options if value is not None]
    if where.statuses:
        clauses.append(_statuses(where.statuses))
        values += [status.value for status in where.statuses]
    return clauses, values


def _statuses(statuses: Sequence[Status]) -> str:
    # One status as an equality lets the partial index on dead letters be used.
    if tuple(statuses) == (Status.DEAD_LETTER,):
        return "status = 'DEAD_LETTER' AND status = ?"
    return f"status IN ({', '.join('?' * len(statuses))})"


def events(db: apsw.Connection, task_id: str, after: int, limit: int) -> Sequence[Event]:
    """A task's events behind a number."""
    rows = db.execute(
        """SELECT seq, kind, data, at FROM events WHERE task_id = ? AND seq > ?
           ORDER BY seq LIMIT ?""",
        (task_id, after, limit),
    )
    return [event_of(row) for row in rows]


_NEWS: Final = """
SELECT e.task_id, e.seq, e.kind, e.data, e.at
FROM json_each(?1) AS j JOIN events AS e ON e.task_id = j.key AND e.seq > j.value
    AND e.seq <= j.value + ?2
ORDER BY e.task_id, e.seq"""


def news(
    db: apsw.Connection, after: Mapping[str, int], limit: int
) -> Mapping[str, Sequence[Event]]:
    """Events of many tasks, each behind its own number."""
    found: dict[str, list[Event]] = {}
    for row in db.execute(_NEWS, (json(dict(after)), limit)):
        found.setdefault(row[0], []).append(event_of(row[1:]))
    return found


def steps(db: apsw.Connection, task_id: str) -> Sequence[SavedStep]:
    """A task's checkpoints in the order of their saving."""
    rows = db.execute(
        """SELECT path, name, input_hash, value, size, blob, attempt, fence, started_at,
               completed_at FROM steps WHERE task_id = ? ORDER BY n""",
        (task_id,),
    )
    return [SavedStep(row[0], row[1], row[2], Payload(*row[3:6]), *row[6:]) for row in rows]


def timeline(
    db: apsw.Connection, task_id: str, after: str | None, limit: int
) -> Sequence[SavedStep]:
    """A page of a task's checkpoints, without what they hold."""
    rows = db.execute(
        """SELECT path, name, input_hash, NULL, size, blob, attempt, fence, started_at,
               completed_at FROM steps
           WHERE task_id = ?1 AND n > coalesce(
               (SELECT n FROM steps WHERE task_id = ?1 AND path = ?2), 0)
           ORDER BY n LIMIT ?3""",
        (task_id, after, limit),
    )
    return [SavedStep(row[0], row[1], row[2], Payload(*row[3:6]), *row[6:]) for row in rows]


def dead_groups(db: apsw.Connection, scope: Scope, where: Filter) -> Sequence[DeadGroup]:
    """Dead letters counted by failure kind and type."""
    dead = replace(where, statuses=(Status.DEAD_LETTER,), after=None)
    clauses, values = conditions(scope, dead)
    rows = db.execute(
        f"""SELECT failure_kind, type, count(*), min(ended_at) FROM tasks AS t
            WHERE {" AND ".join(clauses)} GROUP BY failure_kind, type ORDER BY 3 DESC, 1, 2""",
        values,
    )
    return [DeadGroup(*row) for row in rows]


def artifacts(db: apsw.Connection, task_id: str) -> Sequence[Artifact]:
    """A task's artifacts by name."""
    rows = db.execute(
        """SELECT name, media_type, size, sha256, blob, created_at FROM artifacts
           WHERE task_id = ? ORDER BY name""",
        (task_id,),
    )
    return [Artifact(*row) for row in rows]


def failures(db: apsw.Connection, task_id: str) -> Sequence[FailureRecord]:
    """A task's failed attempts, oldest first."""
    rows = db.execute(
        """SELECT attempt, fence, kind, message, trace, at FROM failures
           WHERE task_id = ? ORDER BY fence""",
        (task_id,),
    )
    return [FailureRecord(*row) for row in rows]


def uploads(db: apsw.Connection, tenant: str, upload_ids: Sequence[str]) -> Sequence[UploadRecord]:
    """A tenant's uploads among some ids."""
    rows = db.execute(
        """SELECT id, tenant, name, media_type, size, sha256 FROM uploads
           WHERE tenant = ? AND id IN (SELECT value FROM json_each(?))""",
        (tenant, json(list(upload_ids))),
    )
    return [UploadRecord._make(row) for row in rows]


def late(db: apsw.Connection, now: int, limit: int) -> Sequence[str]:
    """Queued tasks past an explicit deadline, in the pool or blocked by their key."""
    rows = db.execute(
        """SELECT task_id FROM (SELECT * FROM (
               SELECT task_id, deadline FROM pool WHERE hard = 1 AND deadline <= ?1
               ORDER BY deadline LIMIT ?2)
           UNION ALL SELECT * FROM (
               SELECT task_id, deadline FROM keyed WHERE holds = 0 AND hard = 1 AND deadline <= ?1
               ORDER BY deadline LIMIT ?2))
           ORDER BY deadline LIMIT ?2""",
        (now, limit),
    )
    return [row[0] for row in rows]


def late_by_default(db: apsw.Connection, now: int, limit: int) -> Sequence[str]:
    """Queued tasks past any deadline; reads the whole pool."""
    rows = db.execute(
        """SELECT task_id FROM pool WHERE deadline <= ?1
           UNION ALL SELECT task_id FROM keyed WHERE holds = 0 AND deadline <= ?1 LIMIT ?2""",
        (now, limit),
    )
    return [row[0] for row in rows]


def anything_due(db: apsw.Connection, now: int) -> bool:
    """Whether the scheduler has something to do."""
    found = db.execute(
        "SELECT 1 FROM tasks WHERE due_at IS NOT NULL AND due_at <= ? LIMIT 1", (now,)
    )
    return found.fetchone() is not None


_QUEUED: Final = """
SELECT (SELECT count(*) FROM pool WHERE lane = ?1)
    + (SELECT count(*) FROM keyed WHERE lane = ?1 AND holds = 0)"""


def lanes(db: apsw.Connection, names: Sequence[str]) -> Sequence[LaneRecord]:
    """Each lane's backlog and running tasks."""
    running = dict(
        db.execute("SELECT lane, count(*) FROM tasks WHERE worker_id IS NOT NULL GROUP BY lane")
    )
    records = []
    for name in names:
        queued = db.execute(_QUEUED, (name,)).get
        oldest = queues.oldest(db, name)
        records.append(LaneRecord(name, queued, running.get(name, 0), oldest))
    return records


def workers(db: apsw.Connection) -> Sequence[WorkerRecord]:
    """The workers that live."""
    rows = db.execute(
        """SELECT id, name, lanes, types, slots, version, state,
               (SELECT count(*) FROM tasks WHERE worker_id = workers.id), started_at, beat_at,
               versions
           FROM workers ORDER BY started_at"""
    )
    return [worker_of(row) for row in rows]


def stamped(db: apsw.Connection) -> Sequence[Stamped]:
    """Queued tasks that were begun with a version of their code."""
    rows = db.execute(
        """SELECT lane, type, count(*) FROM (
               SELECT lane, type FROM pool WHERE instr(type, '/') > 0 LIMIT ?)
           GROUP BY lane, type""",
        (STAMPED_COUNTED,),
    )
    return [Stamped.of(*row) for row in rows]


_KEY: Final = "SELECT id, name, tenant, roles, hash, user, created_at, revoked_at FROM api_keys"


def keys(db: apsw.Connection, tenant: str | None) -> Sequence[ApiKey]:
    """Live keys."""
    rows = db.execute(
        f"{_KEY} WHERE revoked_at IS NULL AND coalesce(?1, tenant) = tenant ORDER BY id", (tenant,)
    )
    return [_key_of(row) for row in rows]


def key(db: apsw.Connection, key_hash: str) -> ApiKey | None:
    """The live key with a hash."""
    row = db.execute(f"{_KEY} WHERE hash = ? AND revoked_at IS NULL", (key_hash,)).fetchone()
    return None if row is None else _key_of(row)


def _key_of(row: tuple[Any, ...]) -> ApiKey:
    return ApiKey(row[0], row[1], row[2], tuple(orjson.loads(row[3])), *row[4:])
