"""Anthropic's language: messages, whole and streamed, errors and limits."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from stagepost.simulated.answers import Answer
from stagepost.simulated.denial import Denial
from stagepost.simulated.quota import Quota
from stagepost.simulated.shapes import Told

_ENDS: Final[Mapping[str, str]] = {
    "stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use",
    "content_filter": "refusal",
}  # fmt: skip
_KINDS: Final[Mapping[int, str]] = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip


class AnthropicShapes:
    """Shapes of Anthropic; see the port."""

    keep_alive: Final = b'event: ping\ndata: {"type":"ping"}\n\n'

    def whole(self, told: Told, answer: Answer, *, usage: bool) -> Mapping[str, Any]:
        """A message."""
        blocks: list[Any] = [{"type": "text", "text": _text(answer)}] if _text(answer) else []
        blocks += _tool_blocks(answer)
        body = {**_head(told), "content": blocks, "stop_reason": _end(answer)}
        return {**body, "usage": _usage(told)} if usage else body

    def opening(self, told: Told, answer: Answer) -> bytes:
        """The message's begin, and that of its text if it has any."""
        usage = {"input_tokens": told.input_tokens, "output_tokens": 1}
        message = {**_head(told), "content": [], "stop_reason": None, "usage": usage}
        begin = _event("message_start", message=message)
        if not _text(answer):
            return begin
        block = {"type": "text", "text": ""}
        return begin + _event("content_block_start", index=0, content_block=block)

    def piece(self, told: Told, text: str) -> bytes:  # noqa: ARG002
        """Some of the text."""
        return _event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    def closing(self, told: Told, answer: Answer, *, usage: bool) -> bytes:
        """The end of the text, the tools' blocks, why it ends and what it has used."""
        parts = [self.piece(told, answer.refusal)] if answer.refusal else []
        blocks = 1 if _text(answer) else 0
        if blocks:
            parts.append(_event("content_block_stop", index=0))
        for number, block in enumerate(_tool_blocks(answer), blocks):
            text = orjson.dumps(block["input"]).decode()
            delta = {"type": "input_json_delta", "partial_json": text}
            start = {**block, "input": {}}
            parts.append(_event("content_block_start", index=number, content_block=start))
            parts.append(_event("content_block_delta", index=number, delta=delta))
            parts.append(_event("content_block_stop", index=number))
        if _end(answer) is not None:
            end = {"stop_reason": _end(answer), "stop_sequence": None}
            more = {"usage": {"output_tokens": told.output_tokens}} if usage else {}
            parts.append(_event("message_delta", delta=end, **more))
        parts.append(_event("message_stop"))
        return b"".join(parts)

    def error(self, denial: Denial) -> Any:
        """Anthropic's error object."""
        if denial.body is not None:
            return denial.body
        other = "api_error" if denial.status >= 500 else "invalid_request_error"
        error = {"type": _KINDS.get(denial.status, other), "message": denial.message}
        return {"type": "error", "error": error}

    def limits(self, quota: Quota, now: float, wall: float) -> Mapping[str, str]:
        """The anthropic-ratelimit headers."""
        found = {}
        for name, meter in (("requests", quota.requests), ("tokens", quota.tokens)):
            if meter is not None:
                full = datetime.fromtimestamp(wall + meter.full_in(now), UTC)
                head = f"anthropic-ratelimit-{name}"
                found[f"{head}-limit"] = f"{meter.limit:.0f}"
                found[f"{head}-remaining"] = f"{max(0, math.floor(meter.left(now)))}"
                found[f"{head}-reset"] = full.isoformat(timespec="milliseconds")
        return found


def _event(name: str, **data: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), orjson.dumps({"type": name, **data}))


def _head(told: Told) -> dict[str, Any]:
    return {
        "id": f"msg_{told.id}", "type": "message", "role": "assistant", "model": told.model,
        "stop_sequence": None,
    }  # fmt: skip


def _usage(told: Told) -> Mapping[str, int]:
    return {"input_tokens": told.input_tokens, "output_tokens": told.output_tokens}


def _text(answer: Answer) -> str:
    return answer.refusal or answer.text


def _end(answer: Answer) -> str | None:
    if answer.refusal:
        return "refusal"
    return None if answer.finish is None else _ENDS[answer.finish]


def _tool_blocks(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "type": "tool_use", "id": call.id, "name": call.name,
            "input": orjson.loads(call.arguments),
        }
        for call in answer.calls
    ]  # fmt: skip
