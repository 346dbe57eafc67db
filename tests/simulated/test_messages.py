"""Anthropic's language: messages whole and streamed, tools, schemas."""

import json
from typing import Any

import httpx
from pydantic import BaseModel

from simulated.asking import asking, chat_body
from stagepost.simulated import Step

MESSAGES = "/v1/messages"


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


async def test_a_message_whole_and_streamed() -> None:
    async with asking() as sim:
        body = chat_body(max_tokens=50)
        whole = (await sim.client.post(MESSAGES, json=body)).json()
        parts = events(await sim.client.post(MESSAGES, json={**body, "stream": True}))
        missing = await sim.client.post(MESSAGES, json=chat_body())
    assert whole["type"] == "message"
    [block] = whole["content"]
    assert parts[0]["type"] == "message_start"
    assert parts[-1]["type"] == "message_stop"
    texts = [e["delta"]["text"] for e in parts if e["type"] == "content_block_delta"]
    assert "".join(texts) == block["text"]
    [end] = [e for e in parts if e["type"] == "message_delta"]
    assert end["delta"]["stop_reason"] == whole["stop_reason"] == "max_tokens"
    assert end["usage"]["output_tokens"] == whole["usage"]["output_tokens"] == 50
    assert missing.status_code == 400
    assert missing.json()["error"]["type"] == "invalid_request_error"


async def test_a_tool_is_called_without_an_empty_text() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    tools = [{"name": "look_up", "input_schema": schema}]
    body = chat_body(max_tokens=50, tools=tools, tool_choice={"type": "any"})
    async with asking() as sim:
        whole = (await sim.client.post(MESSAGES, json=body)).json()
        parts = events(await sim.client.post(MESSAGES, json={**body, "stream": True}))
    [block] = whole["content"]
    assert (block["type"], block["name"]) == ("tool_use", "look_up")
    assert whole["stop_reason"] == "tool_use"
    starts = [e for e in parts if e["type"] == "content_block_start"]
    [(index, name)] = [(e["index"], e["content_block"]["name"]) for e in starts]
    assert (index, name) == (0, "look_up")
    [delta] = [e["delta"] for e in parts if e["type"] == "content_block_delta"]
    assert json.loads(delta["partial_json"]) == block["input"]


class Finding(BaseModel, extra="forbid"):
    risk: str
    clause: int


async def test_an_answer_fits_its_schema() -> None:
    form = {"type": "json_schema", "schema": Finding.model_json_schema()}
    async with asking() as sim:
        body = chat_body(max_tokens=500, output_config={"format": form}, system="Be brief.")
        whole = (await sim.client.post(MESSAGES, json=body)).json()
    assert Finding.model_validate_json(whole["content"][0]["text"])


async def test_what_is_refused_and_what_goes_on_for_ever() -> None:
    steps = [Step(fault="refusal"), Step(fault="no-finish"), Step(fault="529")]
    async with asking(script=steps) as sim:
        body = chat_body(max_tokens=500, stream=True)
        refused = events(await sim.client.post(MESSAGES, json=body))
        endless = events(await sim.client.post(MESSAGES, json=body))
        busy = await sim.client.post(MESSAGES, json=body)
    [end] = [e["delta"]["stop_reason"] for e in refused if e["type"] == "message_delta"]
    assert end == "refusal"
    assert not [e for e in endless if e["type"] == "message_delta"]
    assert (busy.status_code, busy.json()["error"]["type"]) == (529, "overloaded_error")
