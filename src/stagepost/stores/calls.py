"""Between rows and the ledger's data, and what every store asks of its ledger in the same words.

The tables have the same columns in every store. What differs is how a statement names a value, and
how it finds a path: see `Question`.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final, Protocol

from stagepost.calls import (
    GROUPS,
    MESSAGE_MOST,
    PAGE_MOST,
    Answered,
    Bodies,
    Body,
    Call,
    CallEnd,
    CallKey,
    CallState,
    Estimate,
    NewCall,
    Spent,
    StepSpent,
    Usage,
    UsageQuery,
    UsageSum,
    storable,
)
from stagepost.errors import NotFound
from stagepost.failure import FailureKind
from stagepost.records import Scope

DAY: Final = 86_400_000
"""Milliseconds."""

_EPOCH: Final = date(1970, 1, 1)

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


# Statements


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


def _groups(by: Iterable[str]) -> list[str]:
    return [column for name in GROUPS if name in set(by) for column in _COLUMNS_OF[name]]


def usage(q: Question, scope: Scope, query: UsageQuery) -> str:
    """Sums of what has ended, and of what is UNKNOWN and not noted yet."""
    first, last = ((day - _EPOCH).days for day in (query.first, query.last))
    days = f"BETWEEN {q.value(first, 'integer')} AND {q.value(last, 'integer')}"
    within = _within(q, "c", scope)
    if query.type is not None:
        within += f" AND c.type = {q.value(query.type, 'text')}"
    groups = _groups(query.by)
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


# Rows


def call_of(row: Sequence[Any]) -> Call:
    """A Call from what `find` and `unknown` select."""
    (
        call_id, tenant, user, task_id, type_, path, request_hash, n, provider, model, attempt,
        fence, state, will_input, will_output, will_cost, input_, cached, output, reasoning, cost,
        took, first_token, provider_id, started_at, ended_at, kind, message, maybe_billed, late,
        dropped, request_sha256, request_size, answer_sha256, answer_size, redacted, erased,
    ) = row  # fmt: skip
    return Call(
        id=str(call_id),
        tenant=tenant,
        user=user,
        task_id=str(task_id),
        type=type_,
        key=CallKey(path, request_hash, n),
        provider=provider,
        model=model,
        attempt=attempt,
        fence=fence,
        state=CallState(state),
        estimate=Estimate(will_input, will_output, will_cost),
        usage=Usage(input_, cached, output, reasoning),
        cost=will_cost if cost is None else cost,
        took=took,
        first_token=first_token,
        provider_id=provider_id,
        started_at=started_at,
        ended_at=ended_at,
        kind=None if kind is None else FailureKind(kind),
        message=message,
        maybe_billed=bool(maybe_billed),
        late=bool(late),
        dropped=bool(dropped),
        request_sha256=request_sha256,
        request_size=request_size,
        answer_sha256=answer_sha256,
        answer_size=answer_size,
        redacted=bool(redacted),
        erased=bool(erased),
    )


def answered_of(row: Sequence[Any]) -> Answered:
    """An Answered from what `memo` and `memos` select."""
    call_id, path, request_hash, n, provider, model, *usage_, cost = row[:11]
    sha256, size, text, blob, redacted, late, ended_at = row[11:]
    return Answered(
        str(call_id),
        CallKey(path, request_hash, n),
        provider,
        model,
        Usage(*usage_),
        cost,
        Body(sha256, size, text, blob, bool(redacted)),
        bool(late),
        ended_at,
    )


def bodies_of(call_id: str, rows: Iterable[Sequence[Any]]) -> Bodies:
    """The Bodies of what `bodies` selects. Raises NotFound where that is nothing."""
    found: dict[str, Body] = {}
    there = False
    for part, text, blob, redacted, *told in rows:
        there = True
        if part is not None:
            sha256, size = told[:2] if part == REQUEST else told[2:]
            found[part] = Body(sha256, size, text, blob, bool(redacted))
    if not there:
        raise absent(call_id)
    return Bodies(found.get(REQUEST), found.get(ANSWER))


def step_of(row: Sequence[Any]) -> StepSpent:
    """A StepSpent from what `spent_by_step` selects."""
    return StepSpent(row[0], Spent(*row[1:]))


def usage_of(query: UsageQuery, rows: Iterable[Sequence[Any]]) -> list[UsageSum]:
    """UsageSums from what `usage` selects."""
    groups = _groups(query.by)
    found = []
    for row in rows:
        named = dict(zip((name.strip('"') for name in groups), row, strict=False))
        if "day" in named:
            named["day"] = _EPOCH + timedelta(days=named["day"])
        sums = row[len(groups) :]
        # The sum of nothing is one row of nothing.
        if sums[0] is not None:
            found.append(UsageSum(Spent(*sums), **named))
    return found


def begun_values(call: NewCall) -> tuple[Any, ...]:
    """What the row of an intent has of its call, in the order of BEGUN."""
    key, request = call.key, call.request
    return (
        call.id, *key, call.provider, call.model, *call.estimate, request.redacted, request.sha256,
        request.size,
    )  # fmt: skip


BEGUN: Final = """id, path, request_hash, n, provider, model, will_input, will_output, will_cost,
    redacted, request_sha256, request_size"""


def end_values(end: CallEnd) -> tuple[Any, ...]:
    """What the end of a call sets, in the order of ENDED."""
    input_, output, cost = end.counted
    answer = (None, None) if end.answer is None else (end.answer.sha256, end.answer.size)
    kind = None if end.kind is None else end.kind.value
    return (
        end.state.value, input_, end.usage.cached, output, end.usage.reasoning, cost, end.took,
        end.first_token, end.provider_id, kind, end.message, end.maybe_billed, *answer,
    )  # fmt: skip


ENDED: Final = (
    "state", "input", "cached", "output", "reasoning", "cost", "took", "first_token", "provider_id",
    "kind", "message", "maybe_billed", "answer_sha256", "answer_size",
)  # fmt: skip


def spoilt_message(why: str) -> str:
    """Why an answer was REJECTED, as it is kept."""
    return storable(why)[:MESSAGE_MOST]


def absent(call_id: str) -> NotFound:
    """The refusal for a call that is not in the ledger."""
    return NotFound(f"There is no call {call_id}.")
