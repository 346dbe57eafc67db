"""What every store asks of its ledger, and adds to it, in the same words.

The tables have the same columns in every store. What differs is how a statement names a value, and
how it finds a step's calls: see `Question`.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, Final, Protocol

from stagepost.calls import PAGE_MOST, CallKey
from stagepost.records import Scope
from stagepost.spending import GROUPS, UsageQuery

DAY: Final = 86_400_000
"""Milliseconds."""

EPOCH: Final = date(1970, 1, 1)
"""From which days are counted."""

REQUEST: Final = "request"
ANSWER: Final = "answer"

USAGE_KEY: Final = 'tenant, day, "user", type, provider, model'
USAGE_SUMS: Final = (
    "calls", "rejected", "refused", "unknown", "input", "cached", "output", "reasoning", "cost",
    "unknown_cost",
)  # fmt: skip


class Question(Protocol):
    """A statement in the making."""

    def value(self, value: Any, kind: str) -> str:
        """What stands for a value of one of PostgreSQL's types."""
        ...

    def step(self, task_id: str, path: str) -> str:
        """The condition that the call `c` is one of this step of this task."""
        ...

    def one(self, column: str, value: str) -> str:
        """The condition that a column has the value of another table's, looked up row by row."""
        ...

    def saved(self) -> str:
        """The condition that the step is saved which has sent the call `c`."""
        ...


def lost(alias: str) -> str:
    """The condition that the claim of a call without an end does not own its task."""
    # Asked for each call by itself: as a join it might be answered from the whole table.
    return (
        f"(SELECT t.fence FROM tasks AS t WHERE t.id = {alias}.task_id AND t.status = 'RUNNING')"
        f" IS DISTINCT FROM {alias}.fence"
    )


_STATE: Final = f"CASE WHEN c.state = 'INTENT' AND {lost('c')} THEN 'UNKNOWN' ELSE c.state END"
_ERASED: Final = "(SELECT s.task_id FROM tombstones AS s WHERE s.task_id = c.task_id) IS NOT NULL"
_COLUMNS: Final = f"""c.id, c.tenant, c."user", c.task_id, c.type, c.path, c.request_hash, c.n,
    c.provider, c.model, c.attempt, c.fence, {_STATE}, c.will_input, c.will_output, c.will_cost,
    c.input, c.cached, c.output, c.reasoning, c.cost, c.took, c.first_token, c.provider_id,
    c.started_at, c.ended_at, c.kind, c.message, c.maybe_billed, c.late, c.dropped,
    c.request_sha256, c.request_size, c.answer_sha256, c.answer_size, c.redacted, {_ERASED}"""
_ANSWER_COLUMNS: Final = """c.id, c.path, c.request_hash, c.n, c.provider, c.model, c.input,
    c.cached, c.output, c.reasoning, coalesce(c.cost, c.will_cost), c.answer_sha256, c.answer_size,
    b.body, b.blob, b.redacted, c.late, c.ended_at"""
_ANSWERS: Final = f"""SELECT {_ANSWER_COLUMNS}
FROM calls AS c JOIN call_bodies AS b ON {{same}} AND b.part = '{ANSWER}'
WHERE c.state = 'RESULT' AND NOT c.dropped"""

DELTAS: Final = """1 - {noted}, (c.state = 'REJECTED'){int}, (c.state = 'REFUSED'){int}, -{noted},
    coalesce(c.input, c.will_input) - {noted} * c.will_input, coalesce(c.cached, 0),
    coalesce(c.output, c.will_output) - {noted} * c.will_output, coalesce(c.reasoning, 0),
    coalesce(c.cost, c.will_cost) - {noted} * c.will_cost, -{noted} * c.will_cost"""
"""What the end of a call `c` adds to USAGE_SUMS; `noted` is 1 where it was noted as UNKNOWN."""

NOTED: Final = """1, 0, 0, 1, c.will_input, 0, c.will_output, 0, c.will_cost, c.will_cost"""
"""What a call `c` adds to USAGE_SUMS that is UNKNOWN."""

SPOILT: Final = "0, 1, 0, 0, 0, 0, 0, 0, 0, 0"
"""What a RESULT adds to USAGE_SUMS that turns out to be REJECTED: it was counted already."""

DAY_KEY: Final = f'c.tenant, c.started_at / {DAY}, c."user", c.type, c.provider, c.model'
"""USAGE_KEY of a call `c`."""

ADD: Final = f"""INSERT INTO call_usage ({USAGE_KEY}, {", ".join(USAGE_SUMS)})"""
ADDED: Final = f"""ON CONFLICT ({USAGE_KEY}) DO UPDATE SET
    {", ".join(f"{name} = call_usage.{name} + excluded.{name}" for name in USAGE_SUMS)}"""


def find(q: Question, task_id: str, scope: Scope, after: str | None, limit: int) -> str:
    """A page of a task's calls."""
    return f"""SELECT {_COLUMNS} FROM calls AS c WHERE c.task_id = {q.value(task_id, "uuid")}
    {_behind(q, "c", after)} {_within(q, "c", scope)} ORDER BY c.id LIMIT {_limit(q, limit)}"""


def unknown(q: Question, scope: Scope, after: str | None, limit: int) -> str:
    """A page of calls that are UNKNOWN."""
    user = "" if scope.user is None else f'AND c."user" = {q.value(scope.user, "text")}'
    return f"""SELECT {_COLUMNS} FROM open_calls AS o
    JOIN calls AS c ON {q.one("c.id", "o.id")}
    WHERE {lost("o")} {_behind(q, "o", after)} {_within(q, "o", Scope(scope.tenant))} {user}
    ORDER BY o.id LIMIT {_limit(q, limit)}"""


UNKNOWN_BY_TYPE: Final = f"""
SELECT o.type, count(*) FROM open_calls AS o WHERE o.noted OR {lost("o")} GROUP BY o.type"""

ANY_LOST: Final = f"""
SELECT EXISTS (SELECT 1 FROM open_calls AS o WHERE NOT o.noted AND {lost("o")})"""


def _answers(q: Question) -> str:
    return _ANSWERS.format(same=q.one("b.call_id", "c.id"))


def memo(q: Question, task_id: str, key: CallKey) -> str:
    """The accepted answers with one key: few, as each claim sends it at most once."""
    return f"""{_answers(q)} AND {q.step(task_id, key.path)}
    AND c.request_hash = {q.value(key.request_hash, "text")} AND c.n = {q.value(key.n, "bigint")}
    ORDER BY c.late, c.ended_at, c.id LIMIT 1"""


def memos(q: Question, task_id: str, after: str | None, limit: int) -> str:
    """A page of a task's accepted answers."""
    return f"""{_answers(q)} AND c.task_id = {q.value(task_id, "uuid")} {_behind(q, "c", after)}
    AND NOT {q.saved()} ORDER BY c.id LIMIT {_limit(q, limit)}"""


def tally(q: Question, task_id: str, path: str) -> str:
    """The calls of a step."""
    return f"""SELECT count(*), count(*) FILTER (WHERE c.state = 'INTENT' AND {lost("c")})
    FROM calls AS c WHERE {q.step(task_id, path)} AND NOT c.waived"""


def tries(q: Question, task_id: str, key: CallKey) -> str:
    """How often one call was sent for nothing, and perhaps for money."""
    return f"""SELECT count(*) FROM calls AS c WHERE {q.step(task_id, key.path)}
    AND c.request_hash = {q.value(key.request_hash, "text")} AND c.n = {q.value(key.n, "bigint")}
    AND c.state <> 'RESULT' AND (c.state <> 'REFUSED' OR c.maybe_billed) AND NOT c.waived"""


def bodies(q: Question, task_id: str, call_id: str, scope: Scope) -> str:
    """A call's parts, one a row; one row without any where there are none."""
    return f"""SELECT b.part, b.body, b.blob, b.redacted, c.request_sha256, c.request_size,
        c.answer_sha256, c.answer_size
    FROM calls AS c LEFT JOIN call_bodies AS b ON b.call_id = c.id
    WHERE c.id = {q.value(call_id, "uuid")} AND c.task_id = {q.value(task_id, "uuid")}
    {_within(q, "c", scope)}"""


_SPENT: Final = (
    "count(*)",
    "count(*) FILTER (WHERE c.state = 'REJECTED')",
    "count(*) FILTER (WHERE c.state = 'REFUSED')",
    "count(*) FILTER (WHERE c.state = 'INTENT')",
    "sum(coalesce(c.input, c.will_input))",
    "sum(c.cached)",
    "sum(coalesce(c.output, c.will_output))",
    "sum(c.reasoning)",
    "sum(coalesce(c.cost, c.will_cost))",
    "sum(c.will_cost) FILTER (WHERE c.state = 'INTENT')",
)
_ALL_SPENT: Final = ", ".join(f"CAST(coalesce({each}, 0) AS bigint)" for each in _SPENT)
_HAS_COUNTED: Final = f"(c.state <> 'INTENT' OR {lost('c')})"


def spent(q: Question, task_id: str, scope: Scope) -> str:
    """The sum of a task's calls."""
    return f"""SELECT {_ALL_SPENT} FROM calls AS c WHERE c.task_id = {q.value(task_id, "uuid")}
    {_within(q, "c", scope)} AND {_HAS_COUNTED}"""


def spent_by_step(q: Question, task_id: str, scope: Scope, after: str | None, limit: int) -> str:
    """A page of the sums of a task's steps."""
    behind = "" if after is None else f"AND c.path > {q.value(after, 'text')}"
    return f"""SELECT c.path, {_ALL_SPENT} FROM calls AS c
    WHERE c.task_id = {q.value(task_id, "uuid")} {behind} {_within(q, "c", scope)}
    AND {_HAS_COUNTED} GROUP BY c.path ORDER BY c.path LIMIT {_limit(q, limit)}"""


_COLUMNS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "day": ("day",),
    "tenant": ("tenant",),
    "user": ('"user"',),
    "type": ("type",),
    "model": ("provider", "model"),
}


def groups_of(by: Iterable[str]) -> list[str]:
    """The columns by which usage is summed up."""
    return [column for name in GROUPS if name in set(by) for column in _COLUMNS_OF[name]]


def usage(q: Question, scope: Scope, query: UsageQuery) -> str:
    """Sums of what has ended, and of what is UNKNOWN and not noted yet."""
    first, last = ((day - EPOCH).days for day in (query.first, query.last))
    days = f"BETWEEN {q.value(first, 'integer')} AND {q.value(last, 'integer')}"
    within = _within(q, "c", scope)
    if query.type is not None:
        within += f" AND c.type = {q.value(query.type, 'text')}"
    groups = groups_of(query.by)
    sums = [f"CAST(sum({name}) AS bigint) AS {name}" for name in USAGE_SUMS]
    order = ", ".join((["day DESC"] if "day" in groups else []) + ["cost DESC", *groups])
    return f"""SELECT {", ".join(groups + sums)} FROM (
        SELECT {USAGE_KEY}, {", ".join(USAGE_SUMS)} FROM call_usage AS c
        WHERE c.day {days} {within}
        UNION ALL
        SELECT {DAY_KEY}, {NOTED} FROM open_calls AS o
        JOIN calls AS c ON {q.one("c.id", "o.id")}
        WHERE NOT o.noted AND {lost("o")} AND c.started_at / {DAY} {days} {within}) AS spending
    {"GROUP BY " if groups else ""}{", ".join(groups)}
    ORDER BY {order} LIMIT {_limit(q, query.limit)}"""


def _within(q: Question, alias: str, scope: Scope) -> str:
    given = {f"{alias}.tenant": scope.tenant, f'{alias}."user"': scope.user}
    return " ".join(
        f"AND {column} = {q.value(value, 'text')}"
        for column, value in given.items()
        if value is not None
    )


def _behind(q: Question, alias: str, after: str | None) -> str:
    return "" if after is None else f"AND {alias}.id > {q.value(after, 'uuid')}"


def _limit(q: Question, limit: int) -> str:
    return q.value(max(0, min(limit, PAGE_MOST)), "bigint")
