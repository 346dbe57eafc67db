"""Asking a simulated provider by HTTP, as a client does."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx

from stagepost.simulated import SimulatedProvider, Simulation, serve

LONGEST = 30.0
"""Seconds for any answer; far more than it takes."""
CHAT = "/v1/chat/completions"


class Asking(NamedTuple):
    """A provider and a client of it."""

    provider: Simulation
    client: httpx.AsyncClient

    async def chat(self, content: str = "Hello", **more: Any) -> httpx.Response:
        return await self.client.post(CHAT, json=chat_body(content, **more))

    async def streamed(self, content: str = "Hello", **more: Any) -> list[dict[str, Any]]:
        """The chunks of a stream that has come whole."""
        body = chat_body(content, stream=True, **more)
        answer = await self.client.post(CHAT, json=body)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/event-stream"
        return chunks(answer.text)

    async def summary(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (await self.client.get("/_sim/summary")).json()
        return found


@asynccontextmanager
async def asking(**settings: Any) -> AsyncIterator[Asking]:
    async with (
        serve(SimulatedProvider(**settings)) as provider,
        httpx.AsyncClient(base_url=provider.url, timeout=LONGEST, verify=False) as client,
    ):
        yield Asking(provider, client)


def chat_body(content: str = "Hello", **more: Any) -> dict[str, Any]:
    return {"model": "sim-large", "messages": [{"role": "user", "content": content}], **more}


def chunks(text: str) -> list[dict[str, Any]]:
    """The events of a stream that ends as it should."""
    *parts, done, rest = text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return [json.loads(part.removeprefix("data: ")) for part in parts if part.startswith("data")]


def said(parts: list[dict[str, Any]]) -> str:
    """The text of a stream's chunks."""
    choices = [part["choices"][0]["delta"] for part in parts if part["choices"]]
    return "".join(delta.get("content") or "" for delta in choices)
