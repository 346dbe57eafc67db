"""OpenAI's language: chat completions, whole and streamed, embeddings, errors and limits."""

import base64
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

from stagepost.simulated.answers import Answer
from stagepost.simulated.denial import Denial
from stagepost.simulated.quota import Quota
from stagepost.simulated.shapes import Told

DONE: Final = b"data: [DONE]\n\n"


class OpenAIShapes:
    """Shapes of OpenAI; see the port."""

    keep_alive: Final = b": keep-alive\n\n"

    def whole(self, told: Told, answer: Answer, *, usage: bool) -> Mapping[str, Any]:
        """A chat completion."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if answer.calls or answer.refusal else answer.text,
            "refusal": answer.refusal,
        }
        if answer.calls:
            message["tool_calls"] = _calls(answer)
        choice = {
            "index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish,
        }  # fmt: skip
        body = {**_head(told, "chat.completion"), "choices": [choice]}
        return {**body, "usage": _usage(told)} if usage else body

    def opening(self, told: Told, answer: Answer) -> bytes:  # noqa: ARG002
        """The chunk with the role."""
        return self._chunk(told, {"role": "assistant", "content": "", "refusal": None})

    def piece(self, told: Told, text: str) -> bytes:
        """A chunk with some of the text."""
        return self._chunk(told, {"content": text})

    def closing(self, told: Told, answer: Answer, *, usage: bool) -> bytes:
        """Tool calls, the chunk with the finish_reason, the usage if it was asked for, the end."""
        parts = []
        if answer.refusal:
            parts.append(self._chunk(told, {"refusal": answer.refusal}))
        for number, call in enumerate(_calls(answer)):
            parts.append(self._chunk(told, {"tool_calls": [{"index": number, **call}]}))
        if answer.finish is not None:
            parts.append(self._chunk(told, {}, answer.finish))
        if usage:
            head = _head(told, "chat.completion.chunk")
            parts.append(event({**head, "choices": [], "usage": _usage(told)}))
        return b"".join([*parts, DONE])

    def error(self, denial: Denial) -> Any:
        """OpenAI's error object."""
        if denial.body is not None:
            return denial.body
        return {
            "error": {
                "message": denial.message, "type": denial.kind, "param": denial.param,
                "code": denial.code,
            }
        }  # fmt: skip

    def limits(self, quota: Quota, now: float, wall: float) -> Mapping[str, str]:  # noqa: ARG002
        """The x-ratelimit headers."""
        return quota.headers(now)

    def _chunk(self, told: Told, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event({**_head(told, "chat.completion.chunk"), "choices": [choice]})


def event(data: Mapping[str, Any]) -> bytes:
    """One event of a stream."""
    return b"data: " + orjson.dumps(data) + b"\n\n"


def embeddings(told: Told, vectors: Iterable[Sequence[float]], *, packed: bool) -> Any:
    """The answer to a request for embeddings; `packed` as base64 of 32 bit floats."""
    data = [
        {
            "object": "embedding",
            "index": number,
            "embedding": _packed(vector) if packed else vector,
        }
        for number, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": told.input_tokens, "total_tokens": told.input_tokens}
    return {"object": "list", "data": data, "model": told.model, "usage": usage}


def models(names: Iterable[str]) -> Any:
    """The list of models."""
    data = [
        {"id": name, "object": "model", "created": 1_767_225_600, "owned_by": "stagepost"}
        for name in names
    ]
    return {"object": "list", "data": data}


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _head(told: Told, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{told.id}", "object": kind, "created": told.made, "model": told.model,
        "service_tier": "default", "system_fingerprint": "fp_simulated",
    }  # fmt: skip


def _usage(told: Told) -> Mapping[str, Any]:
    return {
        "prompt_tokens": told.input_tokens,
        "completion_tokens": told.output_tokens,
        "total_tokens": told.input_tokens + told.output_tokens,
    }


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in answer.calls
    ]  # fmt: skip
