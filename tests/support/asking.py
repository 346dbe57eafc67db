"""Asks a scripted server through a real adapter, and collects what comes."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from stagepost.llm.catalogue import Provider as Spec
from stagepost.llm.dialect import Dialect, Structured
from stagepost.llm.provider import (
    Answer,
    CallRefused,
    ChatRequest,
    Chunk,
    Message,
    Provider,
    Role,
    Timeouts,
)
from stagepost.providers import provider_for
from stagepost.testing import FakeClock
from support.refused_answers import NOW

KEY = "sk-proj-4242secret4242"
HELLO = ChatRequest(model="m-1", messages=(Message(Role.USER, "Say hello."),))
PATIENT = Timeouts()


def spec_of(
    address: str, dialect: Dialect, structured: Structured | None = None, *, key: bool = True
) -> Spec:
    """A table of models.toml for a server on loopback."""
    return Spec(
        kind="anthropic" if dialect is Dialect.ANTHROPIC else "openai",
        base_url=address.removesuffix("/v1") if dialect is Dialect.ANTHROPIC else address,
        api_key_env="PROVIDER_KEY" if key else None,
        dialect=dialect,
        structured=structured,
    )


@asynccontextmanager
async def asked_at(
    address: str, dialect: Dialect, structured: Structured | None = None, *, key: bool = True
) -> AsyncIterator[Provider]:
    """The real adapter, asking there."""
    spec = spec_of(address, dialect, structured, key=key)
    provider = provider_for(spec, {"PROVIDER_KEY": KEY}, FakeClock(int(NOW.timestamp() * 1_000)))
    try:
        yield provider
    finally:
        await provider.close()


async def streamed(
    provider: Provider, request: ChatRequest = HELLO, timeouts: Timeouts = PATIENT
) -> tuple[list[str], Answer]:
    """The texts of the chunks, and the answer behind them."""
    texts: list[str] = []
    answers: list[Answer] = []
    async with aclosing(provider.stream(request, timeouts=timeouts)) as parts:
        async for part in parts:
            assert not answers, "the answer is the last"
            if isinstance(part, Chunk):
                assert part.text
                texts.append(part.text)
            else:
                answers.append(part)
    [answer] = answers
    assert "".join(texts) == answer.text
    return texts, answer


async def refused_by(
    provider: Provider,
    verb: str,
    request: ChatRequest = HELLO,
    timeouts: Timeouts = PATIENT,
) -> CallRefused:
    """The refusal that a verb raises."""
    try:
        if verb == "chat":
            await provider.chat(request, timeouts=timeouts)
        else:
            await streamed(provider, request, timeouts)
    except CallRefused as refused:
        return refused
    raise AssertionError("there was an answer")
