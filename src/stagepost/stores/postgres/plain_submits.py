"""Plain submits, which are most of them: tasks to be run at once, by one statement for all."""

import contextlib
from collections.abc import Sequence
from typing import Any, Final

import asyncpg

from stagepost.errors import Conflict
from stagepost.records import Kin, NewTask, Submitted
from stagepost.stores.accepting import FIRST_OPTION
from stagepost.stores.postgres.batch import Answer
from stagepost.stores.postgres.rows import MS, Idle, numbers, texts, unfolded, uuids
from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import Status

_LONGEST: Final = 10 * 365 * 86_400_000  # milliseconds

_WORDS: Final = ", ".join(unfolded(number) for number in range(3, 8))


_UNLESS_THERE: Final = "ON CONFLICT (id) DO NOTHING"


def _accepting(
    row: str = "",
    field: str = "",
    columns: str = "",
    values: str = "",
    conflict: str = _UNLESS_THERE,
) -> str:
    """The statement that accepts tasks to be run at once, and what else each of them has."""
    return f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), r AS (
    SELECT * FROM ROWS FROM (unnest($2::text::uuid[]), {_WORDS}, unnest($8::text::integer[]),
        unnest($9::text::bigint[]), {unfolded(10)}{row})
        AS r (id, tenant, "user", type, lane, input, max_attempts, ttl, trace_id{field})
), kept AS (
    INSERT INTO tasks (id, tenant, "user", type, lane, status, created_at, deadline, ttl,
        max_attempts, run_at, pooled_at, seq, trace_id, input{columns})
    SELECT r.id, tenant, "user", type, lane, 'QUEUED', n.ms, n.ms + ttl, ttl, max_attempts, n.ms,
        n.ms, 1, trace_id, input{values}
    FROM r, n {conflict}
    RETURNING id, lane, tenant, type, created_at, deadline
), pooled AS (
    INSERT INTO pool (lane, tenant, type, score, task_id, deadline, pooled_at, hard)
    SELECT lane, tenant, type, created_at, id, deadline, created_at, false FROM kept
), told AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT id, 1, 'queued', '{{"reason":"submitted"}}', created_at FROM kept
)
SELECT n.ms, CASE WHEN (SELECT count(*) FROM kept) < $11::integer
    THEN ARRAY(SELECT id FROM kept) END FROM n"""


_PLAIN: Final = _accepting()
_NEW: Final = _accepting(conflict="")
"""The same of ids that nobody has used, an eighth faster; fails where one of them was."""

_CHILDREN: Final = _accepting(
    ", unnest($14::text::integer[])",
    ", place",
    ", parent_id, batch_id, place",
    ", $12::uuid, $13::uuid, place",
    conflict="",
)

IDLE: Final[Idle] = (_NEW, (0, "{}", *["[]"] * 5, "{}", "{}", "[]", 0))
"""A submit of nothing; see `warming`."""

_THERE: Final = """
SELECT id, status, created_at FROM tasks
JOIN unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    AS r (id, tenant, "user", type, lane, input) USING (id, tenant, "user", type, lane, input)"""
"""Those of some tasks that are there, word for word."""


def _columns(news: Sequence[NewTask]) -> tuple[Any, ...]:
    ids, *who, most, ttl, trace = zip(*(new[:FIRST_OPTION] for new in news), strict=True)
    lengths = [min(round(seconds * 1000), _LONGEST) for seconds in ttl]
    return (
        uuids(ids), *map(texts, who), numbers(most), numbers(lengths), texts(trace), len(news),
    )  # fmt: skip


async def submit(tx: Transaction, news: list[NewTask], *, alone: bool = False) -> list[Answer]:
    """Accept plain tasks: one statement, however many; `alone` if it is the whole transaction."""
    columns = _columns(news)
    row = None
    if alone and not tx.again:
        with contextlib.suppress(asyncpg.UniqueViolationError):
            row = await tx.connection.fetchrow(_NEW, tx.moment.last, *columns)
    if row is None:
        row = await tx.connection.fetchrow(_PLAIN, tx.moment.last, *columns)
    assert row is not None
    now, kept = tx.moment.saw(row[0]), row[1]
    if kept is None:
        _announce(tx, news)
        return [Submitted(new.id, Status.QUEUED, now) for new in news]
    return await _told_apart(tx, news, {str(task_id) for task_id in kept}, now)


async def submit_children(tx: Transaction, news: list[NewTask], kin: Sequence[Kin]) -> None:
    """Accept plain children of one batch, which have ids of their own. Raises Conflict."""
    try:
        row = await tx.connection.fetchrow(
            _CHILDREN, tx.moment.last, *_columns(news), kin[0].parent_id, kin[0].batch_id,
            numbers(each.place for each in kin),
        )  # fmt: skip
    except asyncpg.UniqueViolationError as error:
        raise taken() from error
    assert row is not None
    tx.moment.saw(row[0])
    _announce(tx, news)


async def _told_apart(
    tx: Transaction, news: list[NewTask], kept: set[str], now: int
) -> list[Answer]:
    known = await there(tx, [new for new in news if new.id not in kept]) if tx.again else {}
    # The first of two with one id in one batch has it.
    answers: list[Answer] = []
    for new in news:
        if new.id in kept:
            kept.remove(new.id)
            answers.append(Submitted(new.id, Status.QUEUED, now))
        else:
            answers.append(known.get(new.id) or taken())
    _announce(
        tx,
        [new for new, found in zip(news, answers, strict=True) if isinstance(found, Submitted)],
    )
    return answers


async def there(tx: Transaction, news: list[NewTask]) -> dict[str, Submitted]:
    """Which of these an earlier try, whose answer was lost, has kept."""
    columns = list(zip(*(new[:6] for new in news), strict=True))
    found = await tx.connection.fetch(_THERE, *columns)
    return {str(row[0]): Submitted(str(row[0]), Status(row[1]), row[2]) for row in found}


def _announce(tx: Transaction, news: list[NewTask]) -> None:
    tx.events += [new.id for new in news]
    tx.count("queued", [(new.type, new.lane) for new in news])
    tx.pooled.update(new.lane for new in news)


def taken() -> Conflict:
    """The refusal of an id that is there already."""
    return Conflict("Something of this id or name is there already.")
