"""What the ledger writes of a call: its intent and its end. Pure."""

from datetime import datetime

from stagepost.calls import Body, CallEnd, CallKey, CallState, Estimate, NewCall
from stagepost.calls import Usage as Counted
from stagepost.llm.catalogue import Model
from stagepost.llm.price import Tokens, cost
from stagepost.llm.provider import Answer, CallRefused, Embeddings, Usage


def intent(call_id: str, key: CallKey, model: Model, estimate: Estimate, request: Body) -> NewCall:
    """What is written before it is sent."""
    provider = model.name.partition("/")[0]
    return NewCall(call_id, key, provider, model.asked_as, estimate, request)


def accepted(
    model: Model,
    answer: Answer | Embeddings,
    body: Body,
    at: datetime,
    *,
    took: int,
    first_token: int | None,
) -> CallEnd:
    """The end of a call with an answer; `took` and `first_token` are in milliseconds."""
    return CallEnd(
        CallState.RESULT,
        body,
        _counted(answer.usage),
        _cost(model, answer.usage, at),
        took,
        first_token,
        answer.heard.request_id or None,
    )


def refused(
    model: Model, error: CallRefused, body: Body | None, at: datetime, *, took: int
) -> CallEnd:
    """The end of a call without one; what came all the same is kept, since it is paid for."""
    usage = Usage() if error.answer is None else error.answer.usage
    return CallEnd(
        CallState.REFUSED,
        body,
        _counted(usage),
        _cost(model, usage, at),
        took,
        provider_id=error.heard.request_id or None,
        kind=error.refusal.kind,
        message=error.refusal.message,
        maybe_billed=error.refusal.maybe_billed,
    )


def _counted(usage: Usage) -> Counted:
    return Counted(usage.input, usage.cached_input, usage.output, usage.reasoning)


def _cost(model: Model, usage: Usage, at: datetime) -> int | None:
    if usage.input is None:
        return None
    return cost(model, Tokens(usage.input, usage.output or 0, usage.cached_input or 0), at)
