"""The queues of the pool: one for each lane, tenant and type with something ready."""

from typing import Final

import apsw

from stagepost.backlog import COUNTED, Backlog, Stretch
from stagepost.stores.choosing import Queue
from stagepost.task import Task

MOST: Final = 1_000
"""Queues of a lane that a look at it passes."""

_NEXT: Final = """
SELECT * FROM (SELECT tenant, type FROM pool WHERE lane = ?1 AND tenant = ?2 AND type > ?3
    ORDER BY type LIMIT 1)
UNION ALL
SELECT * FROM (SELECT tenant, type FROM pool WHERE lane = ?1 AND tenant > ?2
    ORDER BY tenant, type LIMIT 1)
LIMIT 1"""
"""As one comparison, (tenant, type) > (?2, ?3), it would read the whole queue that it leaves."""

_AHEAD: Final = """
SELECT count(*) FROM (SELECT 1 FROM pool
    WHERE lane = ?1 AND tenant = ?2 AND type = ?3 AND (score, task_id) < (?4, ?5) LIMIT ?6)"""
_READY: Final = """
SELECT count(*) FROM (SELECT 1 FROM pool WHERE lane = ?1 AND tenant = ?2 AND type = ?3 LIMIT ?4)"""

_MANY: Final = "SELECT count(*) FROM pool WHERE lane = ?1 AND tenant = ?2 AND type = ?3"
_FURTHER: Final = """
SELECT score, task_id FROM pool
WHERE lane = ?1 AND tenant = ?2 AND type = ?3 AND (score, task_id) > (?4, ?5)
ORDER BY score, task_id LIMIT 1 OFFSET ?6"""
_FIRST: Final = -(2**63)
"""Before every score."""

_IN_ORDER: Final = """
SELECT p.score, t.pooled_at FROM pool AS p JOIN tasks AS t ON t.id = p.task_id
WHERE p.lane = ?1 AND p.tenant = ?2 AND p.type = ?3 ORDER BY p.score, p.task_id LIMIT ?4"""


def behind(db: apsw.Connection, lane: str, place: tuple[str, str], most: int) -> list[Queue]:
    """The next queues of a lane behind a tenant and type: one look-up each, however long it is."""
    found: list[Queue] = []
    while len(found) < most:
        row = db.execute(_NEXT, (lane, *place)).fetchone()
        if row is None:
            break
        place = (row[0], row[1])
        found.append(Queue(lane, *place))
    return found


def position(db: apsw.Connection, task: Task) -> int:
    """A pooled task's place in its lane, from 1: see TaskView."""
    assert task.pooled_at is not None
    score = task.pooled_at - task.priority * 1000
    queues = behind(db, task.lane, ("", ""), MOST)
    own = 0
    for queue in queues:
        if queue.tenant == task.tenant:
            own += db.execute(_AHEAD, (*queue, score, task.id, COUNTED - own)).get
    others: dict[str, int] = {}
    for queue in queues:
        if queue.tenant != task.tenant:
            seen = others.get(queue.tenant, 0)
            ready = db.execute(_READY, (*queue, own + 1 - seen)).get
            others[queue.tenant] = seen + ready
            if own + sum(others.values()) >= COUNTED:
                break
    return min(COUNTED, own + sum(others.values())) + 1


def backlog(db: apsw.Connection, lane: str, step: int) -> Backlog:
    """What is ready in a lane, with a mark at every `step`-th task."""
    queues = behind(db, lane, ("", ""), MOST)
    return Backlog(step, [_stretch(db, queue, step) for queue in queues])


def _stretch(db: apsw.Connection, queue: Queue, step: int) -> Stretch:
    many = db.execute(_MANY, queue).get
    marks: list[int] = []
    score, task_id = _FIRST, ""
    for _ in range(many // step):
        ((score, task_id),) = db.execute(_FURTHER, (*queue, score, task_id, step - 1))
        marks.append(score)
    return Stretch(queue.tenant, many, marks)


def oldest(db: apsw.Connection, lane: str) -> int | None:
    """When the task of a lane that has waited longest came into the pool."""
    found = [_oldest(db, queue) for queue in behind(db, lane, ("", ""), MOST)]
    return min((instant for instant in found if instant is not None), default=None)


def _oldest(db: apsw.Connection, queue: Queue) -> int | None:
    """The same of a queue.

    A head start moves a task before older ones; behind the score of the oldest seen so far there
    can be none, so that this looks at few more than the tasks with a head start.
    """
    first: int | None = None
    for score, pooled_at in db.execute(_IN_ORDER, (*queue, COUNTED)):
        if first is not None and score >= first:
            break
        first = pooled_at if first is None else min(first, pooled_at)
    return first
