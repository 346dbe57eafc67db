"""The calls to models of one claim: each in the ledger before it is sent, and none sent twice.

A call goes through its course (`llm/course.py`): an answer that an earlier attempt has got is
returned; else limits are reserved, the intent is written, the call is sent, its end is written, and
only then the handler gets the answer. What was sent ends in the ledger whatever becomes of the
claim.
"""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol

from uuid_utils import uuid7

from stagepost.calls import Answered, Body, CallEnd, CallKey, Estimate, NewCall, replays
from stagepost.errors import CallFailed, LeaseLost
from stagepost.failure import FailureKind
from stagepost.insisting import insist
from stagepost.journal import CallWait, GotCall, WantedCall
from stagepost.limiter import Verdict
from stagepost.limiting import place_in_line
from stagepost.llm import entries
from stagepost.llm.asking import Asking, Flying
from stagepost.llm.catalogue import Model, UnknownModel
from stagepost.llm.course import ELSEWHERE, Ask, Course, GiveUp, Wait
from stagepost.llm.kept import kept_answer, kept_request, read_answer
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
from stagepost.llm.request_hash import request_hash
from stagepost.llm.reserving import is_budget
from stagepost.records import Claimed
from stagepost.store import Store

NO_MODELS: Final = "There is no models.toml: write one, and name it in STAGEPOST_MODELS."

PATIENCE: Final = 5.0
"""Seconds of waiting in place; a longer wait holds no worker."""

_PAGE: Final = 1_000
_SHORTEST: Final = 0.1  # seconds of a wait without a worker
_FIRST_CLAIM: Final = 1
_CROWDED: Final = 1.0  # seconds before another try where this worker has too many calls in flight


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


class _Asked(NamedTuple):
    """One call of the handler: its name in the ledger, and all about it."""

    key: CallKey
    wanted: WantedCall
    keeper: Keeper


class _Came(NamedTuple):
    """An answer, and the milliseconds until its first piece, if it came in pieces."""

    answer: Answer | Embeddings
    first_token: int | None = None


class ClaimCalls:
    """One claim's. `hold`: a call whose outcome nobody knows is not paid for again."""

    def __init__(self, claim: Claimed, store: Store, asking: Asking, *, hold: bool) -> None:
        self._claim = claim
        self._store = store
        self._asking = asking
        self._hold = hold
        self._courses: dict[CallKey, Course] = {}
        self._known: Mapping[CallKey, Answered] | None = None
        self.progressed = False
        """True once this claim has an answer that no earlier one had."""

    @property
    def models(self) -> Sequence[str]:
        """The aliases that there are."""
        return tuple(self._asking.models.models)

    async def call(self, wanted: WantedCall, keeper: Keeper) -> GotCall | CallWait:
        """The answer, or how long it will take. Raises CallFailed."""
        key = CallKey(wanted.path, request_hash(wanted.request), wanted.n)
        found = (await self._memo()).get(key)
        if found is not None:
            return await _replayed(found, keeper)
        if self._claim.fence > _FIRST_CLAIM:
            # What an earlier claim has sent from here may still be on its way back.
            await self._asking.landing((self._claim.task_id, key))
            await self._check_unknown(key)
        if key not in self._courses:
            self._courses[key] = self._course(wanted)
        told = await self._go(_Asked(key, wanted, keeper), self._courses[key])
        if isinstance(told, GotCall):
            del self._courses[key]
        return told

    async def reject(self, call_id: str, why: str) -> None:
        """An accepted answer can't be used after all."""
        await insist(lambda: self._store.calls.reject(self._claim.task_id, call_id, why))

    async def landing(self) -> None:
        """Return once nothing that this claim has sent is on its way any more."""
        await self._asking.landing_of(self._claim.lease_id)

    def _course(self, wanted: WantedCall) -> Course:
        try:
            return self._asking.course(wanted.request.model)
        except UnknownModel as error:
            raise CallFailed(str(error), kind=FailureKind.CONFIG) from error

    async def _go(self, asked: _Asked, course: Course) -> GotCall | CallWait:
        clock, patient = self._asking.clock, asked.wanted.patient
        until = clock.monotonic() + PATIENCE
        step = course.begin()
        while True:
            match step:
                case Ask(model):
                    sent = await self._ask(model, asked, course, until)
                    if not isinstance(sent, Refusal):
                        return sent
                    step = course.refused(sent, self._asking.spread())
                case Wait(seconds, refusal):
                    if clock.monotonic() + seconds > until:
                        return _later(seconds, refusal, course, patient=patient)
                    await clock.sleep(seconds)
                    step = course.begin()
                case GiveUp(refusal):
                    del self._courses[asked.key]
                    if refusal.kind not in ELSEWHERE:
                        raise _failed(refusal)
                    # Somebody has to mend it; a call goes again when a breaker lets it.
                    wait = course.begin()
                    seconds = wait.seconds if isinstance(wait, Wait) else _SHORTEST
                    return _later(seconds, refusal, course, patient=patient)

    async def _ask(
        self, model: Model, asked: _Asked, course: Course, until: float
    ) -> GotCall | CallWait | Refusal:
        async with self._asking.turn(model) as turn:
            try:
                provider = await self._asking.provider(model)
            except CallRefused as error:
                self._asking.refused(model, error)
                return error.refusal
            patience = max(0.0, until - self._asking.clock.monotonic())
            if not await turn.seat(patience):
                return _limited(_crowded(model), patient=asked.wanted.patient)
            lent = await self._lent(model, asked, course, until)
            if isinstance(lent, Verdict):
                return _limited(lent, patient=asked.wanted.patient)
            name = Flying(self._claim.lease_id, (self._claim.task_id, asked.key))
            return await turn.fly(self._send(model, provider, asked, lent), name)

    async def _lent(
        self, model: Model, asked: _Asked, course: Course, until: float
    ) -> Lent | Verdict:
        # Each one that is sent takes its own; what waits keeps its place in line.
        key = asked.key
        mark = f"call {key.request_hash[:16]} {key.n} {course.sent} {key.path}"
        name = (place_in_line(self._claim.task_id, mark), self._claim.lease_id)
        patience = max(0.0, until - self._asking.clock.monotonic())
        return await self._asking.lending.reserve(model, asked.wanted.request, name, patience)

    async def _send(
        self, model: Model, provider: Provider, asked: _Asked, lent: Lent
    ) -> GotCall | Refusal:
        lending = self._asking.lending
        sent = False
        try:
            if (late := await self._late(asked)) is not None:
                await lending.unused(model, lent)
                return late
            call = await self._intent(model, asked, lent)
            await insist(lambda: self._store.calls.begin(self._claim.lease, call))
            sent, began = True, self._asking.clock.monotonic()
            came = await self._answer(model, provider, asked, began)
        except CallRefused as error:
            self._asking.refused(model, error)
            # Written first: a limiter that is away must not keep it.
            await self._end(call, await self._refused(model, error, asked.keeper, began))
            await lending.refused(model, lent, error.refusal, error.heard)
            return error.refusal
        except BaseException:
            await (lending.dropped(lent) if sent else lending.unused(model, lent))
            raise
        self._asking.answered(model)
        await self._end(call, await self._accepted(model, came, asked.keeper, began))
        self.progressed = True
        await lending.answered(model, lent, came.answer.usage, came.answer.heard)
        return GotCall(call.id, model.name, came.answer)

    async def _late(self, asked: _Asked) -> GotCall | None:
        """An answer to an earlier claim's call that has come since this one has looked."""
        if self._claim.fence == _FIRST_CLAIM:
            return None
        task_id, key = self._claim.task_id, asked.key
        found = await insist(lambda: self._store.calls.memo(task_id, key))
        return None if found is None else await _replayed(found, asked.keeper)

    async def _answer(self, model: Model, provider: Provider, asked: _Asked, began: float) -> _Came:
        wanted = asked.wanted
        if isinstance(wanted.request, EmbedRequest):
            texts = replace(wanted.request, model=model.asked_as)
            return _Came(await provider.embed(texts, timeouts=wanted.timeouts))
        chat = replace(wanted.request, model=model.asked_as)
        if not wanted.emit:
            return _Came(await provider.chat(chat, timeouts=wanted.timeouts))
        first: int | None = None
        heard = True
        async with aclosing(provider.stream(chat, timeouts=wanted.timeouts)) as pieces:
            async for piece in pieces:
                if not isinstance(piece, Chunk):
                    return _Came(piece, first)
                first = self._since(began) if first is None else first
                heard = heard and await _emitted(asked, piece.text)
        raise AssertionError("a stream ends by its answer, or by CallRefused")

    async def _intent(self, model: Model, asked: _Asked, lent: Lent) -> NewCall:
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
        body = None if error.answer is None else await keeper.body(kept_answer(error.answer))
        return entries.refused(model, error, body, _now(), took=took)

    async def _end(self, call: NewCall, end: CallEnd) -> None:
        await insist(lambda: self._store.calls.end(self._claim.task_id, call.id, end))

    async def _memo(self) -> Mapping[CallKey, Answered]:
        """The answers of earlier claims; this one's own are never asked for twice."""
        if self._known is None:
            found: list[Answered] = []
            full = self._claim.fence > _FIRST_CLAIM
            while full:
                page = await self._memos(found[-1].call_id if found else None)
                found += page
                full = len(page) == _PAGE
            self._known = replays(found)
        return self._known

    async def _memos(self, after: str | None) -> Sequence[Answered]:
        return await insist(lambda: self._store.calls.memos(self._claim.task_id, after, _PAGE))

    async def _check_unknown(self, key: CallKey) -> None:
        if not self._hold:
            return
        tally = await insist(lambda: self._store.calls.tally(self._claim.task_id, key.path))
        if tally.unknown:
            raise CallFailed(
                f'Nobody knows how {tally.unknown} call(s) of the step "{key.path or "main"}" '
                "ended; look at the task's calls, and redrive it if they may be paid for again.",
                kind=FailureKind.UNKNOWN_OUTCOME,
            )

    def _since(self, began: float) -> int:
        return round((self._asking.clock.monotonic() - began) * 1000)


def _now() -> datetime:
    return datetime.now(UTC)


async def _replayed(found: Answered, keeper: Keeper) -> GotCall:
    answer = read_answer(await keeper.body_text(found.body))
    return GotCall(found.call_id, f"{found.provider}/{found.model}", answer)


async def _emitted(asked: _Asked, text: str) -> bool:
    """Whether somebody may still hear it; the answer is paid for either way."""
    try:
        await asked.keeper.emit(asked.wanted.path or "main", text)
    except LeaseLost:
        return False
    return True


def _crowded(model: Model) -> Verdict:
    return Verdict(granted=False, wait=_CROWDED, limit=model.name)


def _later(seconds: float, refusal: Refusal, course: Course, *, patient: bool) -> CallWait:
    if not patient:
        raise _failed(refusal, seconds)
    # Users read what a task waits for; what the provider said is not for them.
    return CallWait(max(seconds, _SHORTEST), f"{course.model.name} ({refusal.kind})")


def _limited(verdict: Verdict, *, patient: bool) -> CallWait:
    budget = is_budget(verdict.limit)
    if not patient:
        raise CallFailed(
            f"The limit {verdict.limit} is used up.",
            kind=FailureKind.BUDGET if budget else FailureKind.RATE_LIMIT,
            retry_after=verdict.wait,
        )
    return CallWait(max(verdict.wait, _SHORTEST), verdict.limit)


def _failed(refusal: Refusal, retry_after: float | None = None) -> CallFailed:
    after = refusal.retry_after if retry_after is None else retry_after
    return CallFailed(refusal.message, kind=refusal.kind, retry_after=after)
