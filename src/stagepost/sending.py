"""One call on its way: its intent, what comes back, and its end.

The intent is in the ledger before the call is sent, and its end before anybody gets the answer.
"""

from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol

from uuid_utils import uuid7

from stagepost.calls import Answered, Body, CallEnd, CallKey, Estimate, NewCall
from stagepost.claim_watch import ClaimWatch
from stagepost.errors import LeaseLost
from stagepost.insisting import insist
from stagepost.journal import GotCall, WantedCall
from stagepost.llm import entries
from stagepost.llm.asking import Asking
from stagepost.llm.catalogue import Model
from stagepost.llm.hearing import Hearing
from stagepost.llm.kept import kept_answer, kept_request, read_answer, whole_text
from stagepost.llm.lending import Lent
from stagepost.llm.provider import (
    Answer,
    CallRefused,
    Chunk,
    Embeddings,
    EmbedRequest,
    Provider,
)
from stagepost.llm.refusal import Refusal
from stagepost.llm.spans import Operation
from stagepost.records import Claimed
from stagepost.store import Store

FIRST_CLAIM: Final = 1
"""The fence of a task's first claim, before which nothing can have been sent."""


class Keeper(Protocol):
    """Keeps texts for the ledger, and passes on what comes in pieces: the claim's journal."""

    async def body(self, text: str) -> Body:
        """A text as it is kept."""
        ...

    async def body_text(self, body: Body) -> str:
        """And back."""
        ...

    async def emit(self, step: str, text: str) -> None:
        """Send text to whoever watches."""
        ...


class Asked(NamedTuple):
    """One call of the handler: its name in the ledger, and all about it."""

    key: CallKey
    wanted: WantedCall
    keeper: Keeper
    span: Operation


class _Came(NamedTuple):
    """An answer, and the milliseconds until its first piece, if it came in pieces."""

    answer: Answer | Embeddings
    first_token: int | None = None


class Sending:
    """Sends one claim's calls. What was sent ends in the ledger whatever becomes of the claim."""

    def __init__(self, claim: Claimed, store: Store, asking: Asking, watch: ClaimWatch) -> None:
        self._claim = claim
        self._store = store
        self._asking = asking
        self._watch = watch
        self.progressed = False
        """True once the claim has an answer that no earlier one had."""

    async def send(
        self, model: Model, provider: Provider, asked: Asked, lent: Lent
    ) -> GotCall | Refusal:
        """Send it under what was lent for it; returns once its end is in the ledger."""
        lending = self._asking.lending
        hearing = lending.hearing(model)
        sent = False
        try:
            if (late := await self._late(asked)) is not None:
                await lending.unused(lent)
                return late
            call = await self._intent(model, asked, lent)
            await insist(lambda: self._store.calls.begin(self._claim.lease, call))
            sent, began = True, self._asking.clock.monotonic()
            self._watch.sent(model)
            with asked.span.attempt(model, call.id) as attempt:
                came = await self._answer(model, provider, asked, hearing, began)
                attempt.answered(*came)
            came = came._replace(answer=whole_text(came.answer))
        except CallRefused as error:
            self._asking.refused(model, error)
            # Written first: a limiter that is away must not keep it.
            await self._end(call, await self._refused(model, error, asked.keeper, began))
            await lending.refused(model, lent, error.refusal, await hearing.rest(error.heard))
            return error.refusal
        except BaseException:
            await hearing.over()
            await (lending.dropped(lent) if sent else lending.unused(lent))
            raise
        self._asking.answered(model)
        await self._end(call, await self._accepted(model, came, asked.keeper, began))
        self.progressed = True
        heard = await hearing.rest(came.answer.heard)
        await lending.answered(model, lent, came.answer.usage, heard)
        return GotCall(call.id, model.name, came.answer)

    async def _late(self, asked: Asked) -> GotCall | None:
        """An answer to an earlier claim's call that has come since this one has looked."""
        if self._claim.fence == FIRST_CLAIM:
            return None
        task_id, key = self._claim.task_id, asked.key
        found = await insist(lambda: self._store.calls.memo(task_id, key))
        return None if found is None else await replayed(found, asked.keeper)

    async def _answer(
        self, model: Model, provider: Provider, asked: Asked, hearing: Hearing, began: float
    ) -> _Came:
        wanted, hear = asked.wanted, hearing.hear
        if isinstance(wanted.request, EmbedRequest):
            texts = replace(wanted.request, model=model.asked_as)
            return _Came(await provider.embed(texts, timeouts=wanted.timeouts, hear=hear))
        chat = replace(wanted.request, model=model.asked_as)
        if not wanted.emit:
            return _Came(await provider.chat(chat, timeouts=wanted.timeouts, hear=hear))
        first: int | None = None
        heard = True
        stream = provider.stream(chat, timeouts=wanted.timeouts, hear=hear)
        async with aclosing(stream) as pieces:
            async for piece in pieces:
                if not isinstance(piece, Chunk):
                    return _Came(piece, first)
                first = self._since(began) if first is None else first
                heard = heard and await _emitted(asked, piece.text)
        raise AssertionError("a stream ends by its answer, or by CallRefused")

    async def _intent(self, model: Model, asked: Asked, lent: Lent) -> NewCall:
        request = asked.wanted.request
        # By the name that the handler gave: the row says which model of the chain was asked.
        body = await asked.keeper.body(kept_request(request))
        estimate = Estimate(*lent.need, lent.cost)
        return entries.intent(str(uuid7()), asked.key, model, estimate, body)

    async def _accepted(self, model: Model, came: _Came, keeper: Keeper, began: float) -> CallEnd:
        took, first = self._since(began), came.first_token
        body = await keeper.body(kept_answer(came.answer))
        return entries.accepted(model, came.answer, body, _now(), took=took, first_token=first)

    async def _refused(
        self, model: Model, error: CallRefused, keeper: Keeper, began: float
    ) -> CallEnd:
        took = self._since(began)
        answer = error.answer
        body = None if answer is None else await keeper.body(kept_answer(whole_text(answer)))
        return entries.refused(model, error, body, _now(), took=took)

    async def _end(self, call: NewCall, end: CallEnd) -> None:
        self._watch.ended(call, end)
        await insist(lambda: self._store.calls.end(self._claim.task_id, call.id, end))

    def _since(self, began: float) -> int:
        return round((self._asking.clock.monotonic() - began) * 1000)


async def replayed(found: Answered, keeper: Keeper) -> GotCall:
    """What an earlier claim has got, as this one gets it."""
    answer = read_answer(await keeper.body_text(found.body))
    return GotCall(found.call_id, f"{found.provider}/{found.model}", answer)


async def _emitted(asked: Asked, text: str) -> bool:
    """Whether somebody may still hear it; the answer is paid for either way."""
    try:
        await asked.keeper.emit(asked.wanted.path or "main", text)
    except LeaseLost:
        return False
    return True


def _now() -> datetime:
    return datetime.now(UTC)
