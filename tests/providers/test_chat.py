"""Answers of eight providers through their real SDKs, and what each is sent."""

from dataclasses import replace
from typing import Any

import pytest

from stagepost.failure import FailureKind as Kind
from stagepost.llm.dialect import Dialect
from stagepost.llm.provider import (
    CallRefused,
    ChatRequest,
    EmbedRequest,
    Finish,
    Message,
    OneTool,
    Role,
    Sampling,
    Tool,
    ToolUse,
    Usage,
)
from support.asking import HELLO, KEY, asked_at, refused_by, streamed
from support.given_answers import FILTERED, GIVEN, WEATHER, openai
from support.scripted_provider import Asked, data, events, scripted, whole

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
FULL = ChatRequest(
    model="m-1",
    messages=(
        Message(Role.SYSTEM, "Be brief."),
        Message(Role.USER, "Weather?"),
        Message(Role.ASSISTANT, "", (WEATHER, replace(WEATHER, id="call_2", arguments="[broken"))),
        Message(Role.TOOL, "Sun.", tool_call_id="call_1"),
        Message(Role.TOOL, "Rain.", tool_call_id="call_2"),
        Message(Role.USER, "And?"),
    ),
    max_output_tokens=77,
    sampling=Sampling(temperature=0.0, top_p=0.5, seed=7, frequency_penalty=0.25),
    tools=(Tool("weather", "Tells the weather.", SCHEMA),),
    tool_use=ToolUse.ANY,
    stop=("END",),
    extra={"enable_thinking": False},
)


@pytest.mark.parametrize("name", GIVEN)
async def test_an_answer_says_what_its_provider_said(name: str) -> None:
    given = GIVEN[name]
    headers = {"anthropic-ratelimit-requests-remaining": "3", "request-id": "req_7"}
    async with (
        scripted(whole(given.body, 200, headers)) as server,
        asked_at(server.address, given.dialect) as asked,
    ):
        answer = await asked.chat(HELLO)
    assert (answer.text, answer.finish, answer.tool_calls) == (
        given.text, given.finish, given.calls
    )  # fmt: skip
    assert answer.usage == given.usage
    assert (answer.heard.request_id, answer.heard.model) == ("req_7", "m-1-0613")
    assert answer.heard.limits == {"anthropic-ratelimit-requests-remaining": "3"}
    assert len(server.asked) == 1


@pytest.mark.parametrize("name", FILTERED)
async def test_an_answer_that_was_filtered_is_none_and_is_paid(name: str) -> None:
    dialect, body = FILTERED[name]
    async with scripted(whole(body)) as server, asked_at(server.address, dialect) as asked:
        refused = await refused_by(asked, "chat")
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.CONTENT_POLICY, True)
    assert refused.answer is not None
    assert refused.answer.usage.input == 9


async def test_an_answer_without_a_finish_reason_is_none() -> None:
    async with (
        scripted(whole(openai({"content": "Hel"}, None, None))) as server,
        asked_at(server.address, Dialect.OTHER) as asked,
    ):
        refused = await refused_by(asked, "chat")
    assert refused.refusal.kind is Kind.TIMEOUT
    assert refused.answer is not None
    assert (refused.answer.text, refused.answer.finish) == ("Hel", Finish.MISSING)
    assert refused.heard.request_id == "chatcmpl-1", "where no header tells it"


async def sent(request: ChatRequest, dialect: Dialect, verb: str = "chat") -> Asked:
    async with (
        scripted(whole("", 500)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        await refused_by(asked, verb, request)
    [found] = server.asked
    return found


async def test_what_is_sent_in_openais_language() -> None:
    found = await sent(FULL, Dialect.DASHSCOPE)
    calls = [
        {
            "id": id_, "type": "function",
            "function": {"name": "weather", "arguments": arguments},
        }
        for id_, arguments in (("call_1", '{"city": "Berlin"}'), ("call_2", "[broken"))
    ]  # fmt: skip
    assert found.path == "/v1/chat/completions"
    assert found.body == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "content": "Sun.", "tool_call_id": "call_1"},
            {"role": "tool", "content": "Rain.", "tool_call_id": "call_2"},
            {"role": "user", "content": "And?"},
        ],
        "max_tokens": 77,
        "temperature": 0.0,
        "top_p": 0.5,
        "seed": 7,
        "frequency_penalty": 0.25,
        "stop": ["END"],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "Tells the weather.",
                    "parameters": SCHEMA,
                },
            }
        ],
        "tool_choice": "required",
        "enable_thinking": False,
    }


async def test_what_is_sent_to_anthropic() -> None:
    found = await sent(FULL, Dialect.ANTHROPIC)
    calls = [
        {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Berlin"}},
        {
            "type": "tool_use", "id": "call_2", "name": "weather",
            "input": {"no_json_object": "[broken"},
        },
    ]  # fmt: skip
    results = [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "Sun."},
        {"type": "tool_result", "tool_use_id": "call_2", "content": "Rain."},
    ]
    assert found.path == "/v1/messages"
    assert found.headers["anthropic-version"]
    assert found.body == {
        "model": "m-1",
        "max_tokens": 77,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
            {"role": "assistant", "content": calls},
            {"role": "user", "content": [*results, {"type": "text", "text": "And?"}]},
        ],
        "temperature": 0.0,
        "top_p": 0.5,
        "stop_sequences": ["END"],
        "tools": [{"name": "weather", "description": "Tells the weather.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "any"},
        "enable_thinking": False,
    }


@pytest.mark.parametrize(
    ("use", "openais", "anthropics"),
    [
        (ToolUse.AUTO, "auto", {"type": "auto"}),
        (ToolUse.NONE, "none", {"type": "none"}),
        (
            OneTool("weather"),
            {"type": "function", "function": {"name": "weather"}},
            {"type": "tool", "name": "weather"},
        ),
    ],
)
async def test_the_choice_of_tools(use: ToolUse | OneTool, openais: Any, anthropics: Any) -> None:
    request = replace(FULL, tool_use=use)
    assert (await sent(request, Dialect.OTHER)).body["tool_choice"] == openais
    assert (await sent(request, Dialect.ANTHROPIC)).body["tool_choice"] == anthropics


@pytest.mark.parametrize("dialect", [Dialect.OPENAI, Dialect.AZURE, Dialect.DEEPSEEK])
async def test_the_bound_of_an_answer_has_two_names(dialect: Dialect) -> None:
    body = (await sent(HELLO, dialect)).body
    new = dialect is not Dialect.DEEPSEEK
    assert body.get("max_completion_tokens") == (4_096 if new else None)
    assert body.get("max_tokens") == (None if new else 4_096)


@pytest.mark.parametrize("verb", ["chat", "stream"])
@pytest.mark.parametrize("dialect", Dialect)
async def test_no_wish_is_sent_that_was_not_made(dialect: Dialect, verb: str) -> None:
    body = (await sent(HELLO, dialect, verb)).body
    stream = {"stream", "stream_options"} if verb == "stream" else set()
    expected = {"model", "messages", "max_tokens", "max_completion_tokens"} | stream
    assert set(body) <= expected


@pytest.mark.parametrize(
    "indexes", [(0, 0, 1, 1), (None, None, None, None)], ids=["indexed", "without indexes"]
)
async def test_tool_calls_come_in_pieces(indexes: tuple[int | None, ...]) -> None:
    pieces: list[dict[str, Any]] = [
        {"id": "a", "type": "function", "function": {"name": "one", "arguments": ""}},
        {"function": {"arguments": '{"x": 1}'}},
        {"id": "b", "type": "function", "function": {"name": "two", "arguments": '{"y"'}},
        {"function": {"arguments": ": 2}"}},
    ]
    told = [
        piece if index is None else {"index": index, **piece}
        for index, piece in zip(indexes, pieces, strict=True)
    ]
    parts = [data({"choices": [{"delta": {"tool_calls": [each]}}]}) for each in told]
    end = data({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    async with (
        scripted(events(*parts, end)) as server,
        asked_at(server.address, Dialect.GEMINI) as asked,
    ):
        texts, answer = await streamed(asked, FULL)
    assert texts == []
    assert [(call.id, call.name, call.arguments) for call in answer.tool_calls] == [
        ("a", "one", '{"x": 1}'),
        ("b", "two", '{"y": 2}'),
    ]
    assert answer.finish is Finish.TOOL_CALLS


async def test_anthropics_tool_calls_come_in_pieces_too() -> None:
    block = {"type": "tool_use", "id": "t", "name": "weather", "input": {}}
    parts: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 1, "content_block": block},
        *(
            {
                "type": "content_block_delta", "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            }
            for piece in ("", '{"city"', ': "Bonn"}')
        ),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
    ]  # fmt: skip
    async with (
        scripted(events(*(data(part, str(part["type"])) for part in parts))) as server,
        asked_at(server.address, Dialect.ANTHROPIC) as asked,
    ):
        _, answer = await streamed(asked, FULL)
    assert [(call.id, call.arguments) for call in answer.tool_calls] == [("t", '{"city": "Bonn"}')]


async def test_vectors_come_in_the_order_of_their_texts() -> None:
    body = {
        "object": "list", "model": "e-1",
        "data": [{"index": 1, "embedding": [3, 4.5]}, {"index": 0, "embedding": [1.0, 2.0]}],
        "usage": {"prompt_tokens": 6, "total_tokens": 6},
    }  # fmt: skip
    request = EmbedRequest("e-1", ("one", "two"), dimensions=2)
    async with scripted(whole(body)) as server, asked_at(server.address, Dialect.OPENAI) as asked:
        found = await asked.embed(request)
    assert found.vectors == ((1.0, 2.0), (3.0, 4.5))
    assert (found.usage, found.heard.model) == (Usage(input=6), "e-1")
    assert server.asked[0].path == "/v1/embeddings"
    assert server.asked[0].body == {
        "model": "e-1", "input": ["one", "two"], "encoding_format": "float", "dimensions": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}],
        [{"embedding": [1.0]}, {"embedding": "AAAA"}],
        [{"embedding": [1.0]}, {"embedding": []}],
    ],
)
async def test_too_few_vectors_are_none(rows: list[dict[str, Any]]) -> None:
    async with (
        scripted(whole({"data": rows})) as server,
        asked_at(server.address, Dialect.OTHER) as asked,
    ):
        with pytest.raises(CallRefused, match="There are not 2 vectors") as raised:
            await asked.embed(EmbedRequest("e-1", ("one", "two")))
    assert KEY not in str(raised.value)


async def test_anthropic_has_no_vectors() -> None:
    async with (
        scripted(whole({})) as server,
        asked_at(server.address, Dialect.ANTHROPIC) as asked,
    ):
        with pytest.raises(CallRefused, match="Anthropic has no embeddings"):
            await asked.embed(EmbedRequest("e-1", ("one",)))
    assert server.asked == []
