"""Chat completions as a client sees them: whole, streamed, to a schema, with tools."""

import json
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from simulated.asking import CHAT, asking, chat_body, said
from stagepost.simulated import Answer, Asked


async def test_the_same_is_answered_the_same() -> None:
    async with asking() as one:
        first, again, other = [
            (await one.chat(text)).json() for text in ("Hello", "Hello", "Goodbye")
        ]
    async with asking() as another:
        later = (await another.chat()).json()
    async with asking(seed=1) as seeded:
        elsewhere = (await seeded.chat()).json()
    message = first["choices"][0]["message"]
    assert message["role"] == "assistant"
    assert len(message["content"]) > 20
    assert message == again["choices"][0]["message"] == later["choices"][0]["message"]
    assert message != other["choices"][0]["message"]
    assert message != elsewhere["choices"][0]["message"]
    assert first["id"] != again["id"]
    assert first["choices"][0]["finish_reason"] == "stop"


async def test_a_stream_says_the_same_and_its_usage_last() -> None:
    async with asking() as sim:
        whole = (await sim.chat()).json()
        parts = await sim.streamed(stream_options={"include_usage": True})
        plain = await sim.streamed()
    assert said(parts) == said(plain) == whole["choices"][0]["message"]["content"]
    assert parts[-1]["choices"] == []
    assert parts[-1]["usage"] == whole["usage"]
    assert parts[-2]["choices"][0]["finish_reason"] == "stop"
    assert not any(part.get("usage") for part in plain)
    assert plain[-1]["choices"][0]["finish_reason"] == "stop"
    sent = [part for part in plain if part["choices"][0]["delta"].get("content")]
    assert len(sent) == whole["usage"]["completion_tokens"], "a chunk is a token"


async def test_no_more_is_answered_than_may_be() -> None:
    async with asking() as sim:
        answer = (await sim.chat(max_tokens=3)).json()
        newer = (await sim.chat(max_completion_tokens=3)).json()
    assert newer["usage"] == answer["usage"]
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 3


class Finding(BaseModel, extra="forbid"):
    clause: int
    risk: str
    quote: str
    parts: list["Finding"] = []


async def test_an_answer_fits_the_schema_and_quotes_the_text() -> None:
    text = "The supplier may end this contract at any time. " * 20
    form = {
        "type": "json_schema",
        "json_schema": {"name": "finding", "strict": True, "schema": Finding.model_json_schema()},
    }
    async with asking() as sim:
        answer = (await sim.chat(text, response_format=form)).json()
        parts = await sim.streamed(text, response_format=form)
    found = Finding.model_validate_json(answer["choices"][0]["message"]["content"])
    assert found.quote
    assert found.quote in text
    assert Finding.model_validate_json(said(parts)) == found


async def test_a_schema_that_nothing_fits_is_refused_and_not_billed() -> None:
    inner = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}
    endless = {"$ref": "#/$defs/a", "$defs": {"a": inner}}
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": endless}}
    async with asking() as sim:
        answer = await sim.chat(response_format=form)
        assert answer.status_code == 400
        assert "without end" in answer.json()["error"]["message"]
        assert sim.provider.ledger.billed == 0
        assert sim.provider.ledger.refused == {"400 schema": 1}
        assert sim.provider.ledger.flying == 0


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 2}}},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": 1}},
        {"type": "array", "minItems": "many"},
        {"type": "number", "multipleOf": "x"},
        {"type": "number", "minimum": 1, "multipleOf": 1e-320},
        {"enum": 5},
    ],
    ids=range(7),
)
async def test_a_malformed_schema_is_refused_or_answered(schema: Any) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    async with asking() as sim:
        answer = await sim.chat(response_format=form)
        assert answer.status_code in {200, 400}
        assert sim.provider.ledger.open == sim.provider.ledger.flying == 0


async def test_an_answer_of_the_callers_own_that_fails_is_no_bill() -> None:
    def fails(_asked: Asked) -> Any:
        raise RuntimeError("of the test")

    async with asking(answer=fails) as sim:
        answer = await sim.chat()
        assert answer.status_code == 500
        assert sim.provider.ledger.refused == {"500 own fault": 1}
        assert sim.provider.ledger.open == sim.provider.ledger.flying == 0


WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look_up",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
            "required": ["city", "days"],
        },
    },
}


@pytest.mark.parametrize(
    ("content", "choice"),
    [
        ("Hello", "required"),
        ("Hello", {"type": "function", "function": {"name": "look_up"}}),
        ("Please look_up the weather", "auto"),
    ],
)
async def test_a_tool_that_is_wanted_is_called(content: str, choice: Any) -> None:
    async with asking() as sim:
        answer = (await sim.chat(content, tools=[WEATHER], tool_choice=choice)).json()
        parts = await sim.streamed(content, tools=[WEATHER], tool_choice=choice)
    [choice] = answer["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    [call] = choice["message"]["tool_calls"]
    assert call["function"]["name"] == "look_up"
    arguments = json.loads(call["function"]["arguments"])
    assert arguments["days"] >= 1
    [streamed] = [
        part["choices"][0]["delta"]["tool_calls"][0]
        for part in parts
        if part["choices"][0]["delta"].get("tool_calls")
    ]
    assert streamed == {"index": 0, **call}


async def test_a_tool_that_nobody_speaks_of_is_not_called() -> None:
    async with asking() as sim:
        answer = (await sim.chat("Hello", tools=[WEATHER])).json()
    assert answer["choices"][0]["finish_reason"] == "stop"


async def test_a_caller_gives_answers_of_its_own() -> None:
    async def own(asked: Asked) -> Any:
        match asked.last:
            case "text":
                return "my own words"
            case "data":
                return {"a": [1]}
            case "cut":
                return Answer(pieces=["half"], finish="length")
        return None

    async with asking(answer=own) as sim:
        choices = [
            (await sim.chat(text)).json()["choices"][0] for text in ("text", "data", "cut", "other")
        ]
    texts = [choice["message"]["content"] for choice in choices]
    assert texts[:3] == ["my own words", '{"a":[1]}', "half"]
    assert len(texts[3]) > 20
    assert choices[2]["finish_reason"] == "length"


async def test_embeddings_are_near_where_texts_are() -> None:
    texts = ["the fee is due in March", "the fee is due in April", "quite another sentence"]
    body = {"model": "sim-embedding", "input": texts, "dimensions": 64}
    async with asking() as sim:
        answer = (await sim.client.post("/v1/embeddings", json=body)).json()
        packed = (
            await sim.client.post("/v1/embeddings", json={**body, "encoding_format": "base64"})
        ).json()
    a, b, c = [each["embedding"] for each in answer["data"]]
    assert len(a) == 64
    assert sum(x * x for x in a) == pytest.approx(1.0)

    def near(one: list[float], other: list[float]) -> float:
        return sum(x * y for x, y in zip(one, other, strict=True))

    assert near(a, b) > near(a, c)
    assert answer["usage"]["prompt_tokens"] == answer["usage"]["total_tokens"] > 10
    assert isinstance(packed["data"][0]["embedding"], str)


async def test_the_vectors_of_an_answer_are_bounded() -> None:
    async with asking() as sim:
        body = {"model": "sim-embedding", "input": ["a"] * 2_000, "dimensions": 501}
        answer = await sim.client.post("/v1/embeddings", json=body)
        fits = await sim.client.post("/v1/embeddings", json={**body, "dimensions": 8})
    assert (answer.status_code, fits.status_code) == (400, 200)
    assert "at most 500" in answer.json()["error"]["message"]


async def test_the_models_are_listed_and_others_are_not_there() -> None:
    async with asking(models=("a", "b")) as sim:
        listed = (await sim.client.get("/v1/models")).json()
        answer = await sim.chat()
    assert [model["id"] for model in listed["data"]] == ["a", "b"]
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "model_not_found"


async def test_a_key_is_asked_for_where_there_is_one() -> None:
    async with asking(api_key="secret") as sim:
        wrong = await sim.chat()
        right = await sim.client.post(
            CHAT, json=chat_body(), headers={"authorization": "Bearer secret"}
        )
    assert (wrong.status_code, right.status_code) == (401, 200)
    assert sim.provider.ledger.refused == {"401 key": 1}
    assert "secret" not in json.dumps(sim.provider.summary())


async def test_what_does_not_fit_into_the_context_is_refused() -> None:
    async with asking(context=100) as sim:
        answer = await sim.chat("word " * 200)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "context_length_exceeded"


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "could not parse"),
        (b"{", 400, "could not parse"),
        (b"[]", 400, "must be a JSON object"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, 400, "nested deeper"),
        (b'{"a":' * 100_000, 400, "could not parse"),
        (b'{"messages": []}', 400, "messages"),
        (b'{"messages": [{"role": "king"}], "model": "sim-large"}', 400, "role"),
        (b'{"messages": [{"role": "user", "content": "a"}]}', 400, "model"),
        (json.dumps(chat_body(n=2)).encode(), 400, "'n' must be 1"),
        (json.dumps(chat_body(max_tokens=0)).encode(), 400, "max_tokens"),
        (json.dumps(chat_body(max_tokens="many")).encode(), 400, "an integer"),
        (json.dumps(chat_body(tools=[1])).encode(), 400, "tools[0]"),
        (json.dumps(chat_body(tool_choice={"a": 1})).encode(), 400, "name"),
        (json.dumps(chat_body(response_format={"type": "xml"})).encode(), 400, "response_format"),
        (b"x" * (17 * 1024 * 1024), 413, "larger than"),
    ],
    ids=range(15),
)
async def test_what_makes_no_sense_is_refused_in_one_sentence(
    body: bytes, status: int, says: str
) -> None:
    async with asking() as sim:
        answer = await sim.client.post(CHAT, content=body)
        assert answer.status_code == status
        error = answer.json()["error"]
        assert error["type"] == "invalid_request_error"
        assert says in error["message"]
        assert sim.provider.ledger.received == 1
        assert sim.provider.ledger.refused == {f"{status} request": 1}
        assert (await sim.chat()).status_code == 200, "it goes on"


async def test_a_compressed_body_is_refused() -> None:
    async with asking() as sim:
        answer = await sim.client.post(CHAT, content=b"x", headers={"content-encoding": "gzip"})
    assert answer.status_code == 400


async def test_other_addresses_are_not_there() -> None:
    async with asking() as sim:
        answers: list[httpx.Response] = [
            await sim.client.get("/v1/nothing"),
            await sim.client.get(CHAT),
        ]
    assert [answer.status_code for answer in answers] == [404, 405]
    assert "Invalid URL" in answers[0].json()["error"]["message"]
