"""All that speak OpenAI's language, through its official SDK.

These are OpenAI, Azure, Gemini, DashScope, DeepSeek, vLLM, llama.cpp and Ollama. The SDK sends
nothing again (`max_retries=0`), and takes nothing from its own environment variables but
`OPENAI_CUSTOM_HEADERS`.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from openai import AsyncOpenAI, Omit

from stagepost.clock import Clock
from stagepost.failure import FailureKind
from stagepost.llm import catalogue
from stagepost.llm.dialect import Dialect
from stagepost.llm.provider import (
    Answer,
    CallRefused,
    ChatRequest,
    Chunk,
    Embeddings,
    EmbedRequest,
    Hear,
    Heard,
    Timeouts,
)
from stagepost.llm.refusal import Refusal
from stagepost.providers.gathered import Gathered
from stagepost.providers.openai_wire import body_of, finish_of, take, usage_of
from stagepost.providers.reading import count, inner, items, text
from stagepost.providers.streamed import Streamed, Words, whole
from stagepost.providers.watch import Watch
from stagepost.providers.way import Way, connect_timeout, heard_in, open_client

_OWN_ADDRESS: Final = "https://api.openai.com/v1"
_TIMEOUTS: Final = Timeouts()
_WORDS: Final = Words(take, take, finish_of)

# What the SDK insists on. All the rest goes into the body as it is: which parameters the SDK has by
# name changes from version to version.
_NAMED: Final = ("model", "messages")


class OpenAIProvider:
    """One provider that speaks OpenAI's language."""

    def __init__(self, spec: catalogue.Provider, key: str, clock: Clock) -> None:
        self._dialect = spec.speaks
        self._structured = spec.asked_for_forms
        self._way = Way(self._dialect, key, clock)
        self._client = _client(spec, key)
        # The SDK imports these when they are first named, which is better done now than in a call.
        self._chat = self._client.chat.completions
        self._embeddings = self._client.embeddings
        self._headers = _headers(self._dialect, key)

    async def chat(
        self, request: ChatRequest, *, timeouts: Timeouts = _TIMEOUTS, hear: Hear | None = None
    ) -> Answer:
        """Ask, and wait for the whole answer. Raises CallRefused."""
        watch = Watch(timeouts)
        asking = self._chat.with_raw_response.create(**self._asked(request, timeouts))
        raw = await self._way.within(asking, watch.end, watch.never, hear=hear)
        gathered = Gathered()
        take(gathered, self._way.json(raw.http_response))
        return whole(gathered, finish_of(gathered), raw.headers)

    async def stream(
        self, request: ChatRequest, *, timeouts: Timeouts = _TIMEOUTS, hear: Hear | None = None
    ) -> AsyncGenerator[Chunk | Answer, None]:
        """Ask, and give the text as it comes, then the answer. Raises CallRefused."""
        opening = self._chat.create(
            stream=True,
            stream_options={"include_usage": True},
            **self._asked(request, timeouts),
        )
        streamed = Streamed(self._way, Watch(timeouts), _WORDS)
        async with aclosing(streamed.read(opening, hear)) as parts:
            async for part in parts:
                yield part

    async def embed(
        self, request: EmbedRequest, *, timeouts: Timeouts = _TIMEOUTS, hear: Hear | None = None
    ) -> Embeddings:
        """Ask for vectors. Raises CallRefused."""
        watch = Watch(timeouts)
        asking = self._embeddings.with_raw_response.create(
            model=request.model,
            input=list(request.texts),
            encoding_format="float",  # base64, which the SDK would ask for, is OpenAI's alone
            dimensions=Omit() if request.dimensions is None else request.dimensions,
            **self._sent_by(timeouts),
        )
        raw = await self._way.within(asking, watch.end, watch.never, hear=hear)
        body = self._way.json(raw.http_response)
        heard = heard_in(raw.headers, model=text(body, "model"), id_=text(body, "id"))
        vectors = _vectors(body, len(request.texts), heard)
        return Embeddings(vectors, usage_of(inner(body, "usage")), heard)

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.close()

    def _asked(self, request: ChatRequest, timeouts: Timeouts) -> dict[str, Any]:
        body = body_of(request, self._dialect, self._structured)
        named = {name: body.pop(name) for name in _NAMED}
        extra = {**body, **request.extra}
        return named | {"extra_body": extra, **self._sent_by(timeouts)}

    def _sent_by(self, timeouts: Timeouts) -> dict[str, Any]:
        return {"extra_headers": self._headers, "timeout": connect_timeout(timeouts)}


def _client(spec: catalogue.Provider, key: str) -> AsyncOpenAI:
    parts = urlsplit(spec.base_url or _OWN_ADDRESS)
    client = AsyncOpenAI(
        # It insists on a key; the header that it would make of this one is left out.
        api_key=key or "none",
        base_url=urlunsplit(parts._replace(query="", fragment="")),
        default_query=dict(parse_qsl(parts.query)),  # Azure's api-version
        max_retries=0,
        http_client=open_client(),
    )
    client.organization = client.project = None  # OpenAI's, and no business of the others
    return client


def _headers(dialect: Dialect, key: str) -> Mapping[str, Any]:
    # Only with each request does the SDK believe that there is to be no such header.
    none = {"Authorization": Omit()}
    if not key:
        return none
    # To Azure's older addresses what stands in Authorization is a token, and no key.
    return {**none, "api-key": key} if dialect is Dialect.AZURE else {}


def _vectors(body: Mapping[str, Any], wanted: int, heard: Heard) -> tuple[tuple[float, ...], ...]:
    found = items(body, "data")
    vectors = {
        (place if (index := count(item, "index")) is None else index): item.get("embedding")
        for place, item in enumerate(found)
    }
    told = [vectors.get(place) for place in range(wanted)]
    if len(found) != wanted or not all(_is_vector(each) for each in told):
        what = f"There are not {wanted} vectors in the answer."
        raise CallRefused(Refusal(FailureKind.SERVER_ERROR, what, maybe_billed=True), heard)
    return tuple(tuple(float(number) for number in each) for each in told if each)


def _is_vector(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(number, (int, float)) for number in value)
    )
