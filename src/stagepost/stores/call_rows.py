"""Between the ledger's rows and its data."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, Final

from stagepost.calls import (
    MESSAGE_MOST,
    Answered,
    Bodies,
    Body,
    Call,
    CallEnd,
    CallKey,
    CallState,
    Estimate,
    NewCall,
    Usage,
    storable,
)
from stagepost.errors import NotFound
from stagepost.failure import FailureKind
from stagepost.spending import Spent, StepSpent, UsageQuery, UsageSum
from stagepost.stores.calls import ANSWER, EPOCH, REQUEST, groups_of


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
    groups = groups_of(query.by)
    found = []
    for row in rows:
        named = dict(zip((name.strip('"') for name in groups), row, strict=False))
        if "day" in named:
            named["day"] = EPOCH + timedelta(days=named["day"])
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
