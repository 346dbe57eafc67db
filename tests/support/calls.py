"""Calls for tests of the ledger."""

from hashlib import sha256
from typing import Any

from stagepost.calls import Body, CallEnd, CallKey, CallState, Estimate, NewCall, Usage
from stagepost.failure import FailureKind
from stagepost.records import Claimed
from support.world import World, new_id

QUESTION = '{"messages":["What is due?"]}'
ANSWER = '{"text":"Ten euros."}'
USED = Usage(100, 20, 30, 5)
KEY = CallKey("analyse#1", "hash of the request", 0)


def body(text: str, **changes: Any) -> Body:
    """A request or an answer, kept in the ledger itself."""
    encoded = text.encode("utf-8", "replace")
    return Body(sha256(encoded).hexdigest(), len(encoded), text)._replace(**changes)


def in_blob(key: str) -> Body:
    """One that is kept as a blob."""
    return Body("hash", 20_000, None, key)


def new_call(key: CallKey = KEY, **changes: Any) -> NewCall:
    """An intent of the default kind."""
    values: dict[str, Any] = {
        "id": new_id(),
        "key": key,
        "provider": "main",
        "model": "large",
        "estimate": Estimate(200, 300, 1_000),
        "request": body(QUESTION),
    }
    return NewCall(**(values | changes))


def result(text: str = ANSWER, **changes: Any) -> CallEnd:
    """An accepted answer."""
    values: dict[str, Any] = {
        "answer": body(text),
        "usage": USED,
        "cost": 450,
        "took": 900,
        "first_token": 200,
        "provider_id": "req-1",
    }
    return CallEnd(CallState.RESULT, **(values | changes))


def rejected(**changes: Any) -> CallEnd:
    """An answer that can't be used."""
    values: dict[str, Any] = {
        "answer": body("not JSON"),
        "usage": USED,
        "cost": 450,
        "kind": FailureKind.BAD_OUTPUT,
    }
    return CallEnd(CallState.REJECTED, **(values | changes))


def refused_call(**changes: Any) -> CallEnd:
    """No answer."""
    values: dict[str, Any] = {"kind": FailureKind.RATE_LIMIT, "message": "Slow down."}
    return CallEnd(CallState.REFUSED, **(values | changes))


async def sent(world: World, claimed: Claimed, key: CallKey = KEY, **changes: Any) -> NewCall:
    """A call that a claim has begun."""
    call = new_call(key, **changes)
    await world.store.calls.begin(claimed.lease, call)
    return call


async def answered(
    world: World, claimed: Claimed, key: CallKey = KEY, end: CallEnd | None = None, **changes: Any
) -> NewCall:
    """A call that a claim has begun, with its end: a result if none is named."""
    call = await sent(world, claimed, key, **changes)
    await world.store.calls.end(claimed.task_id, call.id, end or result())
    return call
