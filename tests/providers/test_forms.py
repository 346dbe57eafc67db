"""Answers in a form: how each provider is asked, and what it gives is the text of the answer."""

import json
from dataclasses import replace
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from stagepost.llm.dialect import Dialect, Structured
from stagepost.llm.provider import Finish, Form, Message, Role, Tool
from stagepost.llm.structured import MOST_REPAIRS, Unfit, form_of, read_answer, repaired
from support.asking import HELLO, asked_at, refused_by, streamed
from support.given_answers import anthropic, openai
from support.scripted_provider import data, events, scripted, whole


class Finding(BaseModel):
    risk: Literal["low", "high"]
    clause: int


FORM = form_of(Finding)
ASKING = replace(HELLO, form=FORM)
LOOK_UP = Tool("look_up", "Looks a law up.", {"type": "object", "properties": {}})
ANSWER = '{"risk": "low", "clause": 3}'


async def asked(
    dialect: Dialect, way: Structured | None = None, request: Any = ASKING
) -> dict[str, Any]:
    async with (
        scripted(whole("", 500)) as server,
        asked_at(server.address, dialect, way) as provider,
    ):
        await refused_by(provider, "chat", request)
    found: dict[str, Any] = server.asked[0].body
    return found


@pytest.mark.parametrize("dialect", [Dialect.OPENAI, Dialect.AZURE, Dialect.GEMINI, Dialect.OTHER])
async def test_who_holds_a_model_to_a_schema_is_given_it(dialect: Dialect) -> None:
    body = await asked(dialect)
    told = body["response_format"]
    assert (told["type"], told["json_schema"]["name"]) == ("json_schema", "Finding")
    assert told["json_schema"]["strict"] is True
    assert told["json_schema"]["schema"] == {
        "type": "object",
        "properties": {
            "risk": {"type": "string", "enum": ["low", "high"]},
            "clause": {"type": "integer"},
        },
        "required": ["risk", "clause"],
        "additionalProperties": False,
    }
    assert body["messages"] == [{"role": "user", "content": "Say hello."}]


async def test_a_schema_beyond_the_strict_ones_is_given_as_it_is() -> None:
    free = Form("Free", {"type": "object", "additionalProperties": {"type": "integer"}})
    told = (await asked(Dialect.OPENAI, None, replace(HELLO, form=free)))["response_format"]
    assert told["json_schema"] == {"name": "Free", "schema": free.schema, "strict": False}


@pytest.mark.parametrize("dialect", [Dialect.DEEPSEEK, Dialect.DASHSCOPE])
async def test_who_knows_only_json_is_told_the_schema_in_words(dialect: Dialect) -> None:
    body = await asked(dialect)
    assert body["response_format"] == {"type": "json_object"}
    wish, question = body["messages"]
    assert wish["role"] == "system"
    assert "JSON" in wish["content"], "they refuse the mode without the word"
    assert json.dumps(FORM.schema) in wish["content"]
    assert question["content"] == "Say hello."


@pytest.mark.parametrize("dialect", [Dialect.OTHER, Dialect.ANTHROPIC])
async def test_who_can_do_nothing_is_asked_in_words(dialect: Dialect) -> None:
    told = replace(ASKING, messages=(Message(Role.SYSTEM, "Be brief."), *HELLO.messages))
    body = await asked(dialect, Structured.PROMPT, told)
    assert not {"response_format", "output_config", "tools"} & set(body)
    system = body.get("system") or body["messages"][0]["content"]
    assert system.startswith("Be brief.\n\nAnswer with one JSON object")


async def test_anthropic_is_asked_by_a_tool_or_by_its_schema() -> None:
    tool = await asked(Dialect.ANTHROPIC)
    assert tool["tool_choice"] == {"type": "tool", "name": "give_answer"}
    assert [each["input_schema"] for each in tool["tools"]] == [FORM.schema]
    both = await asked(Dialect.ANTHROPIC, None, replace(ASKING, tools=(LOOK_UP,)))
    assert both["tool_choice"] == {"type": "any"}
    assert [each["name"] for each in both["tools"]] == ["look_up", "give_answer"]
    schema = await asked(Dialect.ANTHROPIC, Structured.SCHEMA)
    assert schema["output_config"]["format"]["schema"]["additionalProperties"] is False
    assert "tools" not in schema


async def test_openais_language_has_the_tool_too() -> None:
    body = await asked(Dialect.OTHER, Structured.TOOL)
    assert body["tool_choice"] == {"type": "function", "function": {"name": "give_answer"}}
    assert "response_format" not in body


async def test_the_tools_input_is_the_text_of_the_answer() -> None:
    block = {"type": "tool_use", "id": "t", "name": "give_answer", "input": json.loads(ANSWER)}
    async with (
        scripted(whole(anthropic([block], "tool_use"))) as server,
        asked_at(server.address, Dialect.ANTHROPIC) as provider,
    ):
        answer = await provider.chat(ASKING)
    assert read_answer(answer.text, Finding) == Finding(risk="low", clause=3)
    assert (answer.finish, answer.tool_calls) == (Finish.STOP, ())


@pytest.mark.parametrize("dialect", [Dialect.ANTHROPIC, Dialect.OTHER])
async def test_the_tools_input_comes_as_a_stream_of_text(dialect: Dialect) -> None:
    pieces = [ANSWER[:9], ANSWER[9:20], ANSWER[20:]]
    start = {"type": "tool_use", "id": "t", "name": "give_answer", "input": {}}
    if dialect is Dialect.ANTHROPIC:
        told: list[dict[str, Any]] = [
            {"type": "content_block_start", "index": 0, "content_block": start},
            *(
                {
                    "type": "content_block_delta", "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": piece},
                }
                for piece in pieces
            ),
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        ]  # fmt: skip
    else:
        named = {"id": "t", "type": "function", "function": {"name": "give_answer"}}
        functions: list[dict[str, Any]] = [
            named,
            *({"function": {"arguments": piece}} for piece in pieces),
        ]
        calls = [{"tool_calls": [{"index": 0, **each}]} for each in functions]
        told = [{"choices": [{"delta": call}]} for call in calls]
        told.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    parts = [data(each, str(each.get("type", ""))) for each in told]
    async with (
        scripted(events(*parts)) as server,
        asked_at(server.address, dialect, Structured.TOOL) as provider,
    ):
        texts, answer = await streamed(provider, ASKING)
    assert texts == pieces
    assert (answer.text, answer.finish, answer.tool_calls) == (ANSWER, Finish.STOP, ())


async def test_a_bad_answer_is_mended_by_at_most_two_further_calls() -> None:
    answers = iter(["Sorry: {risk: low}", '```json\n{"risk": "mid", "clause": 3}\n```', ANSWER])

    async def reply(line: Any) -> None:
        await whole(openai({"content": next(answers)}, "stop", None))(line)

    request, found = ASKING, None
    async with (
        scripted(reply) as server,
        asked_at(server.address, Dialect.OTHER) as provider,
    ):
        for _ in range(1 + MOST_REPAIRS):
            answer = await provider.chat(request)
            found = read_answer(answer.text, Finding)
            if not isinstance(found, Unfit):
                break
            request = repaired(request, answer.text, found)
    assert found == Finding(risk="low", clause=3)
    last = [message["content"] for message in server.asked[-1].body["messages"]]
    assert last[1] == "Sorry: {risk: low}"
    assert "risk: Input should be 'low' or 'high'" in last[-1]
    assert len(server.asked) == 3
