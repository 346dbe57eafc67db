"""What the headers of an answer tell is told before its body has come. Every server is real."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from stagepost.llm.dialect import Dialect
from stagepost.llm.provider import CallRefused, EmbedRequest, Hear, Heard, Provider
from support.asking import HELLO, asked_at
from support.given_answers import GIVEN
from support.scripted_provider import Line, scripted, whole

LEFT = {"x-ratelimit-remaining-requests": "3", "retry-after": "7"}
PATIENCE = 10.0  # seconds


class Ear:
    """Is told once, of which the body of the answer waits."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.told = asyncio.Event()

    def hear(self, heard: Heard) -> None:
        self.heard.append(heard)
        self.told.set()

    def reply(self, body: Any, status: int = 200) -> Callable[[Line], Any]:
        async def reply(line: Line) -> None:
            async def send(data: bytes) -> None:
                if b"HTTP/1.1" not in data:
                    async with asyncio.timeout(PATIENCE):
                        await self.told.wait()
                await Line.send(line, data)

            line.send = send  # type: ignore[method-assign]
            await whole(body, status, LEFT)(line)

        return reply


async def chat(provider: Provider, hear: Hear) -> None:
    await provider.chat(HELLO, hear=hear)


async def stream(provider: Provider, hear: Hear) -> None:
    async with aclosing(provider.stream(HELLO, hear=hear)) as parts:
        async for _ in parts:
            pass


async def embed(provider: Provider, hear: Hear) -> None:
    await provider.embed(EmbedRequest("m-1", ("Hello",)), hear=hear)


VECTORS = {"data": [{"index": 0, "embedding": [1.0, 2.0]}], "model": "m-1"}
ASKS = [
    (chat, GIVEN["openai"]), (chat, GIVEN["anthropic"]),
    (stream, GIVEN["openai"]), (stream, GIVEN["anthropic"]),
]  # fmt: skip


@pytest.mark.parametrize(("ask", "given"), ASKS)
async def test_headers_are_told_before_the_body_has_come(ask: Any, given: Any) -> None:
    ear = Ear()
    async with (
        scripted(ear.reply(given.body)) as server,
        asked_at(server.address, given.dialect) as provider,
    ):
        await ask(provider, ear.hear)
    assert [heard.limits for heard in ear.heard] == [LEFT]


async def test_those_of_vectors_are_told_too() -> None:
    ear = Ear()
    async with (
        scripted(ear.reply(VECTORS)) as server,
        asked_at(server.address, Dialect.OPENAI) as provider,
    ):
        await embed(provider, ear.hear)
    assert [heard.limits for heard in ear.heard] == [LEFT]


@pytest.mark.parametrize("ask", [chat, stream])
async def test_those_of_a_refusal_are_told_too(ask: Any) -> None:
    ear = Ear()
    async with (
        scripted(ear.reply({"error": {"message": "Slow down."}}, 429)) as server,
        asked_at(server.address, Dialect.OPENAI) as provider,
    ):
        with pytest.raises(CallRefused):
            await ask(provider, ear.hear)
    assert [heard.limits for heard in ear.heard] == [LEFT]


async def test_each_of_many_calls_hears_its_own() -> None:
    asked = iter(range(20))

    async def reply(line: Line) -> None:
        left = {"x-ratelimit-remaining-requests": str(next(asked))}
        await whole(GIVEN["openai"].body, 200, left)(line)

    ears = [Ear() for _ in range(20)]
    async with scripted(reply) as server, asked_at(server.address, Dialect.OPENAI) as provider:
        answers = await asyncio.gather(*(provider.chat(HELLO, hear=ear.hear) for ear in ears))
    for ear, answer in zip(ears, answers, strict=True):
        assert [heard.limits for heard in ear.heard] == [answer.heard.limits]
    assert len({answer.heard.limits["x-ratelimit-remaining-requests"] for answer in answers}) == 20
