"""The calls to models of one claim: each in the ledger before it is sent, and none sent twice.

A call goes through its course (`llm/course.py`): an answer that an earlier attempt has got is
returned; else limits are reserved, the intent is written, the call is sent, its end is written, and
only then the handler gets the answer. What was sent ends in the ledger whatever becomes of the
claim.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from stagepost.call_waits import SHORTEST, failed, later, limited
from stagepost.calls import Answered, CallKey, replays
from stagepost.claim_watch import ClaimWatch
from stagepost.errors import CallFailed
from stagepost.failure import FailureKind
from stagepost.insisting import insist
from stagepost.journal import CallWait, GotCall, WantedCall
from stagepost.limit import Limit
from stagepost.limiter import Verdict
from stagepost.limiting import place_in_line
from stagepost.llm.asking import Asking, Flying
from stagepost.llm.catalogue import Model, UnknownModel
from stagepost.llm.course import Ask, Course, GiveUp, Wait
from stagepost.llm.lending import Lent
from stagepost.llm.provider import CallRefused
from stagepost.llm.purses import Spender
from stagepost.llm.reactions import ELSEWHERE, MOST_SENT
from stagepost.llm.refusal import Refusal
from stagepost.llm.request_hash import request_hash
from stagepost.llm.reserving import tenants_share
from stagepost.records import Claimed
from stagepost.sending import FIRST_CLAIM, Asked, Keeper, Sending, replayed
from stagepost.store import Store

NO_MODELS: Final = "There is no models.toml: write one, and name it in STAGEPOST_MODELS."

PATIENCE: Final = 5.0
"""Seconds of waiting in place; a longer wait holds no worker."""

_PAGE: Final = 1_000
_CROWDED: Final = 1.0  # seconds before another try where this worker has too many calls in flight


class ClaimCalls:
    """One claim's. `hold`: a call whose outcome nobody knows is not paid for again."""

    def __init__(self, claim: Claimed, store: Store, asking: Asking, *, hold: bool) -> None:
        self._claim = claim
        self._store = store
        self._asking = asking
        self._hold = hold
        self._courses: dict[CallKey, Course] = {}
        self.any = False
        """True once the handler has asked for a call, whether it was sent or remembered."""
        self._known: Mapping[CallKey, Answered] | None = None
        self._watch = ClaimWatch(claim, asking)
        self._spender = Spender(claim.tenant, claim.user, claim.type, claim.task_id)
        self._sending = Sending(claim, store, asking, self._watch)

    @property
    def models(self) -> Sequence[str]:
        """The aliases that there are."""
        return tuple(self._asking.models.models)

    @property
    def progressed(self) -> bool:
        """True once this claim has an answer that no earlier one had."""
        return self._sending.progressed

    async def call(self, wanted: WantedCall, keeper: Keeper) -> GotCall | CallWait:
        """The answer, or how long it will take. Raises CallFailed."""
        self.any = True
        key = CallKey(wanted.path, request_hash(wanted.request), wanted.n)
        found = (await self._memo()).get(key)
        told: GotCall | CallWait
        if found is not None:
            told = await replayed(found, keeper)
        else:
            if self._claim.fence > FIRST_CLAIM:
                # What an earlier claim has sent from here may still be on its way back.
                await self._asking.landing((self._claim.task_id, key))
                await self._check_unknown(key)
            told = await self._asked(key, wanted, keeper)
        if isinstance(told, GotCall):
            self._watch.taken(wanted, told)
        return told

    async def _asked(self, key: CallKey, wanted: WantedCall, keeper: Keeper) -> GotCall | CallWait:
        if key not in self._courses:
            self._courses[key] = await self._course(key, wanted)
        course = self._courses[key]
        span = self._watch.operation(key, wanted, course.model)
        try:
            told = await self._go(Asked(key, wanted, keeper, span), course)
        except CallFailed as error:
            self._watch.failed(key, error)
            raise
        self._watch.told(key, told)
        if isinstance(told, GotCall):
            del self._courses[key]
        return told

    def close(self) -> None:
        """The claim is over: what has no answer yet is asked for by another one."""
        self._watch.close()

    async def reject(self, call_id: str, why: str) -> None:
        """An accepted answer can't be used after all."""
        self._watch.rejected(call_id)
        await insist(lambda: self._store.calls.reject(self._claim.task_id, call_id, why))

    async def over(self) -> None:
        """The task is over, and has no budget any more."""
        if self._asking.budgeting is not None:
            await self._asking.budgeting.over(self._spender)

    async def landing(self) -> None:
        """Return once nothing that this claim has sent is on its way any more."""
        await self._asking.landing_of(self._claim.lease_id)

    async def _course(self, key: CallKey, wanted: WantedCall) -> Course:
        try:
            course = self._asking.course(wanted.request.model)
        except UnknownModel as error:
            raise CallFailed(str(error), kind=FailureKind.CONFIG) from error
        if self._claim.fence > FIRST_CLAIM:
            # A call that ends its worker each time, or is cut off by each deploy, ends as well.
            course.sent = await insist(lambda: self._store.calls.tries(self._claim.task_id, key))
        if course.sent >= MOST_SENT:
            raise CallFailed(
                f'A call of the step "{key.path or "main"}" was sent {course.sent} times, and none '
                "had an answer that can be used; look at the task's calls, and redrive it if it "
                "may be paid for again.",
                kind=FailureKind.UNKNOWN_OUTCOME,
            )
        return course

    async def _go(self, asked: Asked, course: Course) -> GotCall | CallWait:
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
                        return later(seconds, refusal, course, patient=patient)
                    await clock.sleep(seconds)
                    step = course.begin()
                case GiveUp(refusal):
                    del self._courses[asked.key]
                    if refusal.kind not in ELSEWHERE:
                        raise failed(refusal)
                    # Somebody has to mend it; a call goes again when a breaker lets it.
                    wait = course.begin()
                    seconds = wait.seconds if isinstance(wait, Wait) else SHORTEST
                    return later(seconds, refusal, course, patient=patient)

    async def _ask(
        self, model: Model, asked: Asked, course: Course, until: float
    ) -> GotCall | CallWait | Refusal:
        async with self._asking.turn(model) as turn:
            try:
                provider = await self._asking.provider(model)
            except CallRefused as error:
                self._asking.refused(model, error)
                return error.refusal
            patience = max(0.0, until - self._asking.clock.monotonic())
            if not await turn.seat(patience):
                return limited(_crowded(model), patient=asked.wanted.patient)
            lent = await self._lent(model, asked, course, until)
            if isinstance(lent, Verdict):
                return limited(lent, patient=asked.wanted.patient)
            name = Flying(self._claim.lease_id, (self._claim.task_id, asked.key))
            return await turn.fly(self._sending.send(model, provider, asked, lent), name)

    async def _lent(
        self, model: Model, asked: Asked, course: Course, until: float
    ) -> Lent | Verdict:
        # Each one that is sent takes its own; what waits keeps its place in line.
        key = asked.key
        mark = f"call {key.request_hash[:16]} {key.n} {course.sent} {key.path}"
        name = (place_in_line(self._claim.task_id, mark), self._claim.lease_id)
        clock, request = self._asking.clock, asked.wanted.request
        began = clock.monotonic()
        more = [*self._share(model), *await self._budgets()]
        patience = max(0.0, until - clock.monotonic())
        lent = await self._asking.lending.reserve(model, request, name, patience, more)
        self._watch.limits(key, model, began, lent)
        return lent

    def _share(self, model: Model) -> Sequence[Limit]:
        share = model.limits.tenant_share
        return [] if share is None else [tenants_share(model, self._claim.tenant, share)]

    async def _budgets(self) -> Sequence[Limit]:
        budgeting = self._asking.budgeting
        if budgeting is None:
            return ()
        return await insist(lambda: budgeting.limits(self._spender, self._claim.lease_id))

    async def _memo(self) -> Mapping[CallKey, Answered]:
        """The answers of earlier claims; this one's own are never asked for twice."""
        if self._known is None:
            found: list[Answered] = []
            full = self._claim.fence > FIRST_CLAIM
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


def _crowded(model: Model) -> Verdict:
    return Verdict(granted=False, wait=_CROWDED, limit=model.name)
