"""The wire forms of calls to models, and of what they cost."""

from typing import Any, Final

import orjson

from stagepost.calls import Call
from stagepost.event import rfc3339
from stagepost.spending import Spent, UsageSum
from stagepost.web.call_schemas import CallItem, KeptText, Spending, UsageSums, WholeCall

_MICRO: Final = 1_000_000


def dollars(micro: int) -> float:
    """Money as it is counted, in US dollars; the nearest number, so that its digits are exact."""
    return micro / _MICRO


def call_item(call: Call, *, messages: bool) -> CallItem:
    """A call in a list; what a provider said only where `messages` says so."""
    item: CallItem = {
        "callId": call.id,
        "step": call.key.path,
        "n": call.key.n,
        "provider": call.provider,
        "model": call.model,
        "attempt": call.attempt,
        "state": call.state.value,
        "usage": {
            "input": call.usage.input,
            "cached": call.usage.cached,
            "output": call.usage.output,
            "reasoning": call.usage.reasoning,
        },
        "estimate": {
            "input": call.estimate.input,
            "output": call.estimate.output,
            "cost": dollars(call.estimate.cost),
        },
        "cost": dollars(call.cost),
        "tookSeconds": _seconds(call.took),
        "firstTokenSeconds": _seconds(call.first_token),
        "startedAt": rfc3339(call.started_at),
        "endedAt": None if call.ended_at is None else rfc3339(call.ended_at),
        "failureKind": None if call.kind is None else call.kind.value,
        "maybeBilled": call.maybe_billed,
        "late": call.late,
        "dropped": call.dropped,
        "redacted": call.redacted,
        "providerRequestId": call.provider_id,
        "requestHash": call.key.request_hash,
        "request": {"sha256": call.request_sha256, "bytes": call.request_size},
        "answer": _answer(call),
    }
    if messages:
        item["message"] = call.message
    return item


def whole_call(call: Call, request: str | None, answer: str | None, *, messages: bool) -> WholeCall:
    """A call with what was said in it, each None where it is not kept."""
    return {
        **call_item(call, messages=messages),
        "requestBody": _said(request),
        "answerBody": _said(answer),
    }


def spending(spent: Spent) -> Spending:
    """A sum over calls."""
    return {
        "calls": spent.calls,
        "rejected": spent.rejected,
        "refused": spent.refused,
        "unknown": spent.unknown,
        "inputTokens": spent.input,
        "cachedTokens": spent.cached,
        "outputTokens": spent.output,
        "reasoningTokens": spent.reasoning,
        "cost": dollars(spent.cost),
        "unknownCost": dollars(spent.unknown_cost),
    }


def usage_sums(found: UsageSum) -> UsageSums:
    """What one day, tenant, user, type or model has spent."""
    return {
        "day": None if found.day is None else found.day.isoformat(),
        "tenant": found.tenant,
        "user": found.user,
        "type": found.type,
        "provider": found.provider,
        "model": found.model,
        **spending(found.spent),
    }


def _answer(call: Call) -> KeptText | None:
    if call.answer_sha256 is None:
        return None
    return {"sha256": call.answer_sha256, "bytes": call.answer_size}


def _said(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # What was redacted or sealed before it was kept need not be JSON any more.
        return text


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1_000
