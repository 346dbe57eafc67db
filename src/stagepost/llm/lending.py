"""What models' providers lend to the whole fleet, reserved before each call and settled after it.

One reservation holds all limits of a model, and is granted wholly or not at all. What a provider
tells of its limits is told to the limiter, and so is a refusal: then the fleet pauses.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from stagepost.errors import Retryable
from stagepost.failure import FailureKind
from stagepost.limit import Limit
from stagepost.limiter import Limiter, Reservation, Verdict
from stagepost.llm import reserving
from stagepost.llm.catalogue import Model
from stagepost.llm.estimate import Estimate, Size, size_of
from stagepost.llm.hearing import Hearing
from stagepost.llm.kept import schema_text
from stagepost.llm.price import Tokens, cost
from stagepost.llm.provider import ChatRequest, EmbedRequest, Heard, Usage
from stagepost.llm.refusal import Refusal
from stagepost.llm.reserving import Need
from stagepost.llm.said import Said
from stagepost.llm.told import told_of

_log = logging.getLogger("stagepost.llm")

_AWAY: Final = 5.0  # seconds before another try when the limiter can't be asked
_PAUSING: Final = frozenset({FailureKind.RATE_LIMIT, FailureKind.OVERLOADED})
_SHORTEST_PAUSE: Final = 1.0


class Lent(NamedTuple):
    """What one call has reserved; `cost` is in millionths of a US dollar."""

    reservation: Reservation
    size: Size
    need: Need
    cost: int


class Lending:
    """One worker's; what it learns of a model's tokens stays with it."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._estimates: defaultdict[str, Estimate] = defaultdict(Estimate)

    async def reserve(
        self,
        model: Model,
        request: ChatRequest | EmbedRequest,
        name: tuple[str, str],
        patience: float,
        more: Sequence[Limit] = (),
    ) -> Lent | Verdict:
        """Take what a call may use, or say how long that takes; `name` is its id and its claim's.

        `more` are the tenant's share of the model, and the budgets of who pays. A limiter that
        can't be asked is told as a wait: nothing is granted without it.
        """
        size = _size(request)
        output = request.max_output_tokens if isinstance(request, ChatRequest) else 0
        need = Need(self._estimates[model.name].tokens(size), output)
        money = cost(model, Tokens(*need), _now()) or 0
        charges = reserving.charges(reserving.limits_of(model), need, cost=money, more=more)
        reservation = Reservation(name[0], charges, name[1])
        try:
            verdict = await self._limiter.reserve(reservation, patience=patience)
        except Retryable as error:
            _log.warning("a call waits for its limits: %s", error)
            return Verdict(granted=False, wait=_AWAY, limit=model.name)
        return Lent(reservation, size, need, money) if verdict.granted else verdict

    def hearing(self, model: Model) -> Hearing:
        """Heeds what the headers of a call's answer tell, as soon as they have come."""
        return Hearing(lambda heard: self._heed(model, heard))

    async def answered(self, model: Model, lent: Lent, usage: Usage, heard: Heard) -> None:
        """A call has an answer: settle with what it used, and heed what was told."""
        if usage.input is None:
            await self._limiter.settle(lent.reservation)
        else:
            estimate = self._estimates[model.name]
            self._estimates[model.name] = estimate.learn(lent.size, usage.input)
            counted = reserving.Usage(usage.input, usage.output or 0, usage.cached_input or 0)
            await self._limiter.settle(lent.reservation, _used(model, lent, counted))
        await self._heed(model, heard)

    async def refused(self, model: Model, lent: Lent, refusal: Refusal, heard: Heard) -> None:
        """A call has none; where nobody can have charged for it, it has used no tokens."""
        if refusal.maybe_billed:
            await self._limiter.settle(lent.reservation)
        else:
            await self.unused(lent)
        await self._heed(model, heard)
        if refusal.kind in _PAUSING:
            pause = max(_SHORTEST_PAUSE, refusal.retry_after or 0.0)
            await self._limiter.heed(reserving.refused(reserving.limits_of(model), pause))

    async def unused(self, lent: Lent) -> None:
        """A call was not sent after all, or was refused: it has used no tokens."""
        await self._limiter.settle(lent.reservation, reserving.unused(lent.reservation.charges))

    async def dropped(self, lent: Lent) -> None:
        """Nobody knows how a call ended: it counts as it was reserved."""
        await self._limiter.settle(lent.reservation)

    async def _heed(self, model: Model, heard: Heard) -> None:
        told = told_of(Said(None, heard.limits), _now())
        notices = reserving.notices(model, reserving.limits_of(model), told)
        if notices:
            await self._limiter.heed(notices)


def _used(model: Model, lent: Lent, usage: reserving.Usage) -> Mapping[str, int]:
    money = cost(model, Tokens(usage.input, usage.output, usage.cached), _now()) or 0
    charges, speaks = lent.reservation.charges, model.provider.speaks
    return reserving.used(charges, usage, cost=money, most=lent.need.output, dialect=speaks)


def _size(request: ChatRequest | EmbedRequest) -> Size:
    if isinstance(request, EmbedRequest):
        return size_of(request.texts, len(request.texts))
    return size_of([*_texts(request), schema_text(request)], len(request.messages))


def _texts(request: ChatRequest) -> Sequence[str]:
    return [
        text
        for message in request.messages
        for text in (message.content, *(call.arguments for call in message.tool_calls))
    ]


def _now() -> datetime:
    return datetime.now(UTC)
