"""Anthropic, through its official SDK.

The SDK sends nothing again (`max_retries=0`), makes no spans of its own, and takes nothing from its
own environment variables but `ANTHROPIC_CUSTOM_HEADERS`.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from anthropic import AsyncAnthropic, Omit

from stagepost.clock import Clock
from stagepost.failure import FailureKind
from stagepost.llm import catalogue
from stagepost.llm.provider import (
    Answer,
    CallRefused,
    ChatRequest,
    Chunk,
    Embeddings,
    EmbedRequest,
    Hear,
    Timeouts,
)
from stagepost.llm.refusal import Refusal
from stagepost.providers.anthropic_wire import body_of, finish_of, take_event, take_message
from stagepost.providers.gathered import Gathered
from stagepost.providers.streamed import Streamed, Words, whole
from stagepost.providers.watch import Watch
from stagepost.providers.way import Way, connect_timeout, open_client

_OWN_ADDRESS: Final = "https://api.anthropic.com"
_TIMEOUTS: Final = Timeouts()
_WORDS: Final = Words(take_message, take_event, finish_of)

# What the SDK insists on. All the rest goes into the body as it is: which parameters the SDK has by
# name changes from version to version.
_NAMED: Final = ("model", "messages", "max_tokens")


class AnthropicProvider:
    """Anthropic, or who speaks its language."""

    def __init__(self, spec: catalogue.Provider, key: str, clock: Clock) -> None:
        self._structured = spec.asked_for_forms
        self._way = Way(spec.speaks, key, clock)
        headers: Any = {} if key else {"Authorization": Omit(), "X-Api-Key": Omit()}
        self._client = AsyncAnthropic(
            # It insists on a key; the header that it would make of this one is left out.
            api_key=key or "none",
            base_url=spec.base_url or _OWN_ADDRESS,
            default_headers=headers,
            max_retries=0,
            open_telemetry=False,
            http_client=open_client(),
        )

    async def chat(
        self, request: ChatRequest, *, timeouts: Timeouts = _TIMEOUTS, hear: Hear | None = None
    ) -> Answer:
        """Ask, and wait for the whole answer. Raises CallRefused."""
        watch = Watch(timeouts)
        asking = self._client.messages.with_raw_response.create(**self._asked(request, timeouts))
        raw = await self._way.within(asking, watch.end, watch.never, hear=hear)
        gathered = Gathered()
        take_message(gathered, self._way.json(raw.http_response))
        return whole(gathered, finish_of(gathered), raw.headers)

    async def stream(
        self, request: ChatRequest, *, timeouts: Timeouts = _TIMEOUTS, hear: Hear | None = None
    ) -> AsyncGenerator[Chunk | Answer, None]:
        """Ask, and give the text as it comes, then the answer. Raises CallRefused."""
        opening = self._client.messages.create(stream=True, **self._asked(request, timeouts))
        streamed = Streamed(self._way, Watch(timeouts), _WORDS)
        async with aclosing(streamed.read(opening, hear)) as parts:
            async for part in parts:
                yield part

    async def embed(
        self,
        request: EmbedRequest,
        *,
        timeouts: Timeouts = _TIMEOUTS,  # noqa: ARG002  # the port's
        hear: Hear | None = None,  # noqa: ARG002  # the port's
    ) -> Embeddings:
        """Anthropic has none: raises CallRefused, and sends nothing."""
        what = f"Anthropic has no embeddings, so none by {request.model}: ask another provider."
        raise CallRefused(Refusal(FailureKind.CONFIG, what))

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.close()

    def _asked(self, request: ChatRequest, timeouts: Timeouts) -> dict[str, Any]:
        body = body_of(request, self._structured)
        named = {name: body.pop(name) for name in _NAMED}
        extra = {**body, **request.extra}
        return named | {"extra_body": extra, "timeout": connect_timeout(timeouts)}
