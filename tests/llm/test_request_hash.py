"""The memo key of a request: what it holds, what it leaves out, and that it never changes."""

import math
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.llm.provider import (
    ChatRequest,
    EmbedRequest,
    Form,
    Message,
    OneTool,
    Role,
    Sampling,
    Tool,
    ToolCall,
    ToolUse,
)
from stagepost.llm.request_hash import request_hash

PLAIN = ChatRequest("m-1", (Message(Role.USER, "Grüße"),))
FULL = ChatRequest(
    model="m-1",
    messages=(
        Message(Role.SYSTEM, "Be brief."),
        Message(Role.ASSISTANT, "", (ToolCall("c", "t", "{}"),)),
        Message(Role.TOOL, "1", tool_call_id="c"),
    ),
    max_output_tokens=77,
    sampling=Sampling(temperature=0.5, seed=1),
    form=Form("F", {"type": "object", "properties": {"a": {}, "b": {}}}),
    tools=(Tool("t", "d", {"x": 1}),),
    tool_use=OneTool("t"),
    stop=("END",),
    extra={"b": [1, 2.5, None, True], "a": {"y": 1, "x": 2}},
)

# Ledgers hold these: a change of them pays every saved call again.
KEPT: dict[str, tuple[ChatRequest | EmbedRequest, str]] = {
    "0": (PLAIN, "62382c6f93eaa07e7248ee0d9a91c5033930d080ce22b70c4ac1cd88c8a9233b"),
    "1": (FULL, "3289be2fd0ce66ef87fdeb9d449ae4b1f30fbd9ac3d808cc83ad3b17a238e3e5"),
    "2": (
        EmbedRequest("e-1", ("a", "b")),
        "47f738e5c2b877841b944c91b44d9fc1414127f5e69c1cbf9f306847de407ac9",
    ),
}

OTHERS: list[ChatRequest] = [
    PLAIN,
    replace(PLAIN, model="m-2"),
    replace(PLAIN, messages=(Message(Role.USER, "Grüsse"),)),
    replace(PLAIN, messages=(Message(Role.SYSTEM, "Grüße"),)),
    replace(PLAIN, messages=PLAIN.messages * 2),
    replace(PLAIN, messages=(Message(Role.USER, "\ud83d"),)),
    replace(PLAIN, messages=(Message(Role.USER, "\\ud83d"),)),
    replace(PLAIN, max_output_tokens=4_095),
    replace(PLAIN, sampling=Sampling(temperature=0.0)),
    replace(PLAIN, sampling=Sampling(top_p=0.0)),
    replace(PLAIN, sampling=Sampling(seed=0)),
    replace(PLAIN, form=Form("F", {})),
    replace(PLAIN, form=Form("G", {})),
    replace(PLAIN, form=Form("F", {"type": "object"})),
    replace(PLAIN, tools=(Tool("t", "d", {}),)),
    replace(PLAIN, tools=(Tool("t", "d", {}),), tool_use=ToolUse.NONE),
    replace(PLAIN, tools=(Tool("t", "d", {}),), tool_use=OneTool("none")),
    replace(PLAIN, stop=("a",)),
    replace(PLAIN, stop=("a", "b")),
    replace(PLAIN, stop=("b", "a")),
    replace(PLAIN, extra={"a": 1}),
    replace(PLAIN, extra={"a": True}),
    replace(PLAIN, extra={"a": "1"}),
    replace(PLAIN, extra={"a": None}),
    replace(PLAIN, extra={"a": 1.5}),
]


@pytest.mark.parametrize("name", KEPT)
def test_a_hash_stays_what_it_was(name: str) -> None:
    request, kept = KEPT[name]
    assert request_hash(request) == kept


def test_each_difference_is_another_request() -> None:
    hashes = [request_hash(request) for request in OTHERS]
    assert len(set(hashes)) == len(OTHERS)
    embeds = [EmbedRequest("e", ("a",)), EmbedRequest("e", ("a",), 3), EmbedRequest("e", ("a", ""))]
    assert len({request_hash(request) for request in embeds}) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PLAIN, ChatRequest(model="m-1", messages=(Message(Role("user"), "Grüße"),), extra={})),
        (
            replace(PLAIN, sampling=Sampling(temperature=1.0)),
            replace(PLAIN, sampling=Sampling(temperature=1)),
        ),
        (replace(PLAIN, extra={"a": 1, "b": 2}), replace(PLAIN, extra={"b": 2.0, "a": 1})),
        (replace(PLAIN, extra={"a": [1]}), replace(PLAIN, extra={"a": (1,)})),
        (replace(PLAIN, extra={"a": 0.0}), replace(PLAIN, extra={"a": -0.0})),
    ],
)
def test_the_same_said_otherwise_is_the_same(one: ChatRequest, other: ChatRequest) -> None:
    assert request_hash(one) == request_hash(other)


def test_another_process_finds_the_same() -> None:
    code = (
        "from stagepost.llm.provider import *\n"
        "from stagepost.llm.request_hash import request_hash\n"
        "print(request_hash(ChatRequest('m-1', (Message(Role.USER, 'Grüße'),))))"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.stdout.strip() == request_hash(PLAIN)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(JSON, JSON)
def test_two_values_have_one_hash_only_if_they_are_equal(one: Any, other: Any) -> None:
    hashes = [request_hash(replace(PLAIN, extra={"v": value})) for value in (one, other)]
    assert (hashes[0] == hashes[1]) is (told(one) == told(other))


def told(value: Any) -> Any:
    match value:
        case bool() | None | str():
            return (type(value), value)
        case list():
            return [told(item) for item in value]
        case dict():
            return {key: told(item) for key, item in value.items()}
    return ("number", value)


@pytest.mark.parametrize(
    ("extra", "error"),
    [
        ({"a": {1}}, TypeError),
        ({"a": b"x"}, TypeError),
        ({1: "a"}, TypeError),
        ({"a": math.nan}, ValueError),
        ({"a": math.inf}, ValueError),
    ],
)
def test_what_is_no_json_has_no_hash(extra: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="JSON"):
        request_hash(replace(PLAIN, extra=extra))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ChatRequest("m", ()),
        lambda: ChatRequest("m", PLAIN.messages * 10_001),
        lambda: replace(PLAIN, max_output_tokens=0),
        lambda: replace(PLAIN, tools=FULL.tools * 129),
        lambda: EmbedRequest("m", ()),
        lambda: EmbedRequest("m", ("a",) * 2_049),
    ],
)
def test_a_request_has_bounds(make: Any) -> None:
    with pytest.raises(ValueError, match=r"has|is at least"):
        make()
