"""An answer that comes as a stream, from whichever SDK."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

import httpx2
from pydantic import BaseModel

from stagepost.failure import FailureKind
from stagepost.llm.provider import Answer, CallRefused, Chunk, Finish, Hear, Heard
from stagepost.llm.refusal import refusal_in_answer
from stagepost.providers.gathered import Gathered
from stagepost.providers.watch import Watch
from stagepost.providers.way import Way, heard_in, is_error

Take = Callable[[Gathered, Mapping[str, Any]], str]
FinishOf = Callable[[Gathered], Finish]


class Events(Protocol):
    """What both SDKs give for a stream."""

    @property
    def response(self) -> httpx2.Response:
        """Its status and headers."""
        ...

    def __anext__(self) -> Awaitable[Any]:
        """The next event."""
        ...

    async def close(self) -> None:
        """Let go of the connection."""
        ...


@dataclass(frozen=True, slots=True)
class Words:
    """How a provider's answers are read: whole ones, the events of streams, the end of both."""

    take_whole: Take
    take_event: Take
    finish_of: FinishOf


class Streamed:
    """Reads the stream of one call, in the words of one provider."""

    def __init__(self, way: Way, watch: Watch, words: Words) -> None:
        self._way = way
        self._watch = watch
        self._words = words
        self._gathered = Gathered()
        self._headers: Mapping[str, str] = {}

    async def read(
        self, opening: Awaitable[Any], hear: Hear | None = None
    ) -> AsyncGenerator[Chunk | Answer, None]:
        """The text as it comes, then the whole answer. Raises CallRefused."""
        watch = self._watch
        events: Events = await self._way.within(opening, watch.until, watch.late, hear=hear)
        self._headers = events.response.headers
        try:
            async with aclosing(self._texts(events)) as texts:
                async for text in texts:
                    yield Chunk(text)
        finally:
            await events.close()
        yield whole(self._gathered, self._words.finish_of(self._gathered), self._headers)

    async def _texts(self, events: Events) -> AsyncGenerator[str, None]:
        if self._headers.get("content-type", "").startswith("application/json"):
            if text := await self._at_once(events.response):
                yield text
            return
        while (event := await self._next(events)) is not None:
            if text := self._taken(event):
                yield text
            if self._gathered.alive:
                self._watch.alive()

    async def _at_once(self, response: httpx2.Response) -> str:
        # Some servers have no streams, and some tell an error so.
        await self._way.within(response.aread(), self._watch.end, self._watch.never, began=True)
        return self._words.take_whole(self._gathered, self._way.json(response))

    async def _next(self, events: Events) -> Any:
        watch, ended = self._watch, self._gathered.finish is not None
        try:
            return await self._way.within(anext(events, None), watch.until, watch.late, began=True)
        except CallRefused as refused:
            if ended and refused.refusal.kind is FailureKind.TIMEOUT:
                return None  # All of the answer is there, but for its count of tokens.
            raise CallRefused(refused.refusal, self._heard(), self._partial()) from None

    def _taken(self, event: Any) -> str:
        part = plain(event)
        if not isinstance(part, Mapping) or is_error(part):
            refused = self._way.told(part, self._heard())
            raise CallRefused(refused.refusal, self._heard(), self._partial())
        text = self._words.take_event(self._gathered, part)
        if self._gathered.finish is not None:
            self._watch.ended()
        return text

    def _heard(self) -> Heard:
        return heard_in(self._headers, model=self._gathered.model, id_=self._gathered.id)

    def _partial(self) -> Answer:
        return self._gathered.answer(self._words.finish_of(self._gathered), self._heard())


def whole(gathered: Gathered, finish: Finish, headers: Mapping[str, str]) -> Answer:
    """The answer, now that nothing more comes. Raises CallRefused for one that is none."""
    heard = heard_in(headers, model=gathered.model, id_=gathered.id)
    answer = gathered.answer(finish, heard)
    refusal = refusal_in_answer(gathered.finish, gathered.refused)
    if refusal is not None:
        raise CallRefused(refusal, heard, answer)
    return answer


def plain(event: Any) -> Any:
    """An event as the JSON that it was, whether the SDK knows its shape or not."""
    if isinstance(event, BaseModel):
        return event.model_dump(mode="python", by_alias=True, exclude_unset=True, warnings=False)
    return event
