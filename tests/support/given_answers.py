"""Whole answers in the shapes in which eight providers give them."""

from typing import Any, NamedTuple

from stagepost.llm.dialect import Dialect
from stagepost.llm.provider import Finish, ToolCall, Usage


class Given(NamedTuple):
    """What was answered by whom, and what it says."""

    dialect: Dialect
    body: Any
    text: str
    usage: Usage
    finish: Finish = Finish.STOP
    calls: tuple[ToolCall, ...] = ()


def openai(
    message: dict[str, Any], finish: str | None, usage: dict[str, Any] | None, **more: Any
) -> dict[str, Any]:
    """In OpenAI's language."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m-1-0613"}
    return {**body, "choices": [choice], **({"usage": usage} if usage else {}), **more}


def anthropic(blocks: list[dict[str, Any]], stop: str, **usage: int) -> dict[str, Any]:
    """In Anthropic's language."""
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1-0613",
        "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


WEATHER = ToolCall("call_1", "weather", '{"city": "Berlin"}')
_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Berlin"}'},
}

GIVEN = {
    "openai": Given(
        Dialect.OPENAI,
        openai(
            {"content": "Hello.", "refusal": None, "annotations": []}, "stop",
            {
                "prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
                "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 3, "audio_tokens": 0},
            },
            service_tier="default", system_fingerprint="fp_1",
        ),
        "Hello.", Usage(19, 4, 10, 3),
    ),
    "openai, cut by its length": Given(
        Dialect.OPENAI,
        openai({"content": "Hel"}, "length", {"prompt_tokens": 9, "completion_tokens": 1}),
        "Hel", Usage(9, None, 1), Finish.LENGTH,
    ),
    "openai tools": Given(
        Dialect.OPENAI,
        openai({"content": None, "tool_calls": [_CALL]}, "tool_calls", {"prompt_tokens": 80}),
        "", Usage(80), Finish.TOOL_CALLS, (WEATHER,),
    ),
    "azure": Given(
        Dialect.AZURE,
        openai(
            {"content": "Hello."}, "stop", {"prompt_tokens": 19, "completion_tokens": 10},
            prompt_filter_results=[
                {"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False}}}
            ],
        ),
        "Hello.", Usage(19, None, 10),
    ),
    "gemini": Given(
        Dialect.GEMINI,
        openai({"content": "Hello."}, "stop", {"prompt_tokens": 5, "completion_tokens": 2}),
        "Hello.", Usage(5, None, 2),
    ),
    "gemini, in its own words": Given(
        Dialect.GEMINI, openai({"content": "Hel"}, "MAX_TOKENS", None), "Hel", Usage(),
        Finish.LENGTH,
    ),
    "dashscope": Given(
        Dialect.DASHSCOPE,
        openai(
            {"content": "Hello.", "reasoning_content": "Hm."}, "stop",
            {"prompt_tokens": 22, "completion_tokens": 17, "total_tokens": 39,
             "prompt_tokens_details": {"cached_tokens": 0}},
            system_fingerprint=None,
        ),
        "Hello.", Usage(22, 0, 17),
    ),
    "deepseek": Given(
        Dialect.DEEPSEEK,
        openai(
            {"content": "Hello.", "reasoning_content": "Hm."}, "stop",
            {
                "prompt_tokens": 16, "completion_tokens": 10, "total_tokens": 26,
                "prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 10,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
        ),
        "Hello.", Usage(16, 6, 10, 7),
    ),
    "vllm": Given(
        Dialect.OTHER,
        openai(
            {"content": "Hello.", "tool_calls": [], "reasoning": None}, "stop",
            {"prompt_tokens": 5, "completion_tokens": 4, "prompt_tokens_details": None},
            prompt_logprobs=None, kv_transfer_params=None,
        ),
        "Hello.", Usage(5, None, 4),
    ),
    "llama.cpp": Given(
        Dialect.OTHER,
        openai(
            {"content": "Hello."}, "stop", {"prompt_tokens": 5, "completion_tokens": 4},
            timings={"prompt_n": 5, "predicted_ms": 12.5},
        ),
        "Hello.", Usage(5, None, 4),
    ),
    "parts of a text, and a reason that nobody knows": Given(
        Dialect.OTHER,
        openai(
            {"content": [{"type": "thinking", "thinking": [{"text": "Hm."}]},
                         {"type": "text", "text": "Hello."}]},
            "abort", None,
        ),
        "Hello.", Usage(), Finish.OTHER,
    ),
    "anthropic": Given(
        Dialect.ANTHROPIC,
        anthropic(
            [{"type": "thinking", "thinking": "Hm.", "signature": "s"},
             {"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}],
            "end_turn", input_tokens=10, cache_read_input_tokens=6, cache_creation_input_tokens=4,
            output_tokens=7,
        ),
        "Hello.", Usage(20, 6, 7),
    ),
    "anthropic tools": Given(
        Dialect.ANTHROPIC,
        anthropic(
            [{"type": "text", "text": "Let me see."},
             {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Berlin"}}],
            "tool_use", input_tokens=10, output_tokens=7,
        ),
        "Let me see.", Usage(10, None, 7), Finish.TOOL_CALLS, (WEATHER,),
    ),
    "anthropic, cut by its length": Given(
        Dialect.ANTHROPIC,
        anthropic([{"type": "text", "text": "Hel"}], "max_tokens", input_tokens=1, output_tokens=1),
        "Hel", Usage(1, None, 1), Finish.LENGTH,
    ),
    "anthropic, at the end of its window": Given(
        Dialect.ANTHROPIC,
        anthropic([{"type": "text", "text": "Hel"}], "model_context_window_exceeded"),
        "Hel", Usage(), Finish.LENGTH,
    ),
}  # fmt: skip

FILTERED = {
    "azure": (Dialect.AZURE, openai({"content": None}, "content_filter", {"prompt_tokens": 9})),
    "openai refuses": (
        Dialect.OPENAI,
        openai({"content": None, "refusal": "I can't."}, "stop", {"prompt_tokens": 9}),
    ),
    "gemini": (Dialect.GEMINI, openai({}, "PROHIBITED_CONTENT", {"prompt_tokens": 9})),
    "anthropic": (Dialect.ANTHROPIC, anthropic([], "refusal", input_tokens=9, output_tokens=1)),
}
"""Status 200, and no answer."""
