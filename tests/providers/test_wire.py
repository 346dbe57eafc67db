"""Whatever JSON a provider sends is read as an answer, be it an odd one."""

import pickle
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stagepost.failure import FailureKind
from stagepost.llm.provider import Answer, CallRefused, Finish, Heard
from stagepost.llm.refusal import Refusal
from stagepost.providers import anthropic_wire, openai_wire
from stagepost.providers.gathered import Gathered

KEYS = [
    "choices", "delta", "message", "content", "text", "type", "tool_calls", "function", "name",
    "arguments", "index", "id", "finish_reason", "usage", "prompt_tokens", "completion_tokens",
    "prompt_tokens_details", "content_block", "partial_json", "stop_reason", "input_tokens",
    "input", "refusal", "stop_details",
]  # fmt: skip
TYPES = [
    "message_start", "content_block_start", "content_block_delta", "message_delta", "tool_use",
    "input_json_delta", "refusal", "stop", "give_answer",
]  # fmt: skip
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2**70)
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(TYPES),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=25,
)
PARTS = st.lists(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=8), max_size=4)


def read(
    parts: list[dict[str, Any]],
    take: Callable[[Gathered, dict[str, Any]], str],
    finish_of: Callable[[Gathered], Finish],
) -> Answer:
    gathered = Gathered()
    texts = [take(gathered, part) for part in parts]
    answer = gathered.answer(finish_of(gathered), Heard())
    assert "".join(texts) == answer.text
    return answer


@given(PARTS)
def test_whatever_comes_in_openais_language_is_read(parts: list[dict[str, Any]]) -> None:
    read(parts, openai_wire.take, openai_wire.finish_of)


@given(PARTS)
def test_whatever_comes_in_anthropics_is_read(parts: list[dict[str, Any]]) -> None:
    read(parts, anthropic_wire.take_event, anthropic_wire.finish_of)
    read(parts, anthropic_wire.take_message, anthropic_wire.finish_of)


def test_tool_calls_without_end_are_kept_only_so_far() -> None:
    call = {"function": {"name": "t", "arguments": "{}"}}
    calls = [{**call, "index": number} for number in range(1_000)]
    parts = [{"choices": [{"delta": {"tool_calls": calls}}]}]
    assert len(read(parts, openai_wire.take, openai_wire.finish_of).tool_calls) == 128


def test_a_refusal_goes_whole_from_process_to_process() -> None:
    refusal = Refusal(FailureKind.RATE_LIMIT, "Too many.", 7.0)
    told = CallRefused(refusal, Heard("r-1"), Answer("Hel", Finish.MISSING))
    again = pickle.loads(pickle.dumps(told))
    assert (again.refusal, again.heard, again.answer) == (refusal, told.heard, told.answer)
    assert str(again) == str(told) == "A call to a model has failed (RATE_LIMIT): Too many."
