"""One call: planned, judged, admitted, answered in its time, billed. Everything else is beside."""

import secrets
from collections.abc import Mapping, MutableSet
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

import orjson

from stagepost.clock import Clock
from stagepost.simulated.asked import Asked, BadRequest
from stagepost.simulated.delivery import Delivery
from stagepost.simulated.denial import Denial
from stagepost.simulated.faults import Way, drawn
from stagepost.simulated.hold import Hold
from stagepost.simulated.judge import Judge
from stagepost.simulated.ledger import Record
from stagepost.simulated.lending import Book, Lent
from stagepost.simulated.line import Line
from stagepost.simulated.model import Model, Plan
from stagepost.simulated.provider import SimulatedProvider
from stagepost.simulated.refusals import (
    limited,
    misunderstood,
    too_long,
    too_many_keys,
    unknown_model,
    wrong_key,
)
from stagepost.simulated.script import Script
from stagepost.simulated.shapes import Shapes, wait_headers

JSON: Final = "application/json"
_STRANGERS: Final = frozenset({"key", "model"})
"""Reasons of refusals for which no quota is opened, since anybody could open any number."""


@dataclass(slots=True)
class Calls:
    """Answers calls of one provider."""

    provider: SimulatedProvider
    judge: Judge
    clock: Clock
    book: Book
    script: Script
    faults: Mapping[str, float]
    lines: MutableSet[Line] = field(default_factory=set)
    """The connections on which a call is being answered."""
    _draw: Random = field(init=False)
    _model: Model = field(init=False)

    def __post_init__(self) -> None:
        """The same seed draws the same faults."""
        self._draw = Random(self.provider.seed)  # noqa: S311  # no secret depends on it
        self._model = Model(self.provider)

    async def answer(self, asked: Asked, shapes: Shapes, line: Line, key: str | None) -> None:
        """Answer a call on its connection."""
        record = await self.judge.receive(asked)
        plan = self.plan(asked, record)
        if plan.goes(Way.RESET_BEFORE):
            await self.judge.refuse(record, None, Way.RESET_BEFORE)
            await line.reset()
            return
        denial, why = self._refusal(asked, plan, key)
        lent = None if why in _STRANGERS else self._lent(asked)
        if denial is None and lent is not None:
            await self._admit(asked, plan, shapes, line, record, lent)
        else:
            await self._deny(line, shapes, record, denial or too_many_keys(), why or "key", lent)

    async def misunderstand(
        self, path: str, error: BadRequest, shapes: Shapes, line: Line, status: int = 400
    ) -> None:
        """Refuse what is no request at all."""
        record = await self.judge.receive(Asked(path=path, model="", text=""))
        denial = replace(misunderstood(error), status=status)
        await self._deny(line, shapes, record, denial, "request")

    def plan(self, asked: Asked, record: Record) -> Plan:
        """What the script says of a call, else what chance does."""
        step = self.script.take(asked)
        if step is not None and step.change is not None:
            self.book.change(step.change, self.clock.monotonic())
        fault = drawn(self.faults, self._draw) if step is None else step.goes_wrong
        if fault is not None:
            self.judge.fault(record, fault.name)
        if step is None:
            return Plan(fault)
        return Plan(fault, step.answer, step.wait)

    def refusal_of(self, asked: Asked, plan: Plan) -> tuple[Denial | None, str]:
        """Why it can't be answered at all, and the reason's name; no limit is asked."""
        if plan.fault is not None and plan.fault.denial is not None:
            wait = plan.fault.denial.wait if plan.wait is None else plan.wait
            scaled = None if wait is None else wait / self.provider.speed
            return replace(plan.fault.denial, wait=scaled), plan.fault.name
        if asked.model not in self.provider.models:
            return unknown_model(asked.model), "model"
        tokens = self._model.too_long(asked)
        if tokens is not None:
            return too_long(self.provider.context, tokens), "context"
        return None, ""

    @property
    def model(self) -> Model:
        """What makes the answers."""
        return self._model

    def _refusal(self, asked: Asked, plan: Plan, key: str | None) -> tuple[Denial | None, str]:
        wanted = self.provider.api_key
        if wanted is not None and not secrets.compare_digest((key or "").encode(), wanted.encode()):
            return wrong_key(), "key"
        return self.refusal_of(asked, plan)

    def _lent(self, asked: Asked) -> Lent | None:
        """The quota of a call; None of a model that is not there, or where there are too many."""
        if asked.model not in self.provider.models:
            return None
        return self.book.of(asked.model, asked.credential, self.clock.monotonic())

    async def _admit(
        self, asked: Asked, plan: Plan, shapes: Shapes, line: Line, record: Record, lent: Lent
    ) -> None:
        may_use = self._model.may_use(asked)
        refused = lent.quota.admit(may_use, self.clock.monotonic())
        if refused is not None:
            denial = limited(asked.model, lent.quota, refused, may_use)
            await self._deny(line, shapes, record, denial, refused.what, lent)
            return
        hold = Hold(lent, may_use, self.judge.ledger, self.clock)
        hold.begin()
        try:
            answer = await self._model.answer(asked, plan)
            headers = self._headers(shapes, lent)
            delivery = Delivery(
                asked, plan, shapes, line, record, hold, self.judge, self._model, headers
            )
            await delivery.deliver(answer)
        except BadRequest as error:
            hold.settle(0)
            await self._deny(line, shapes, record, misunderstood(error), "schema", lent)
        except Exception:
            # A caller's own answer has failed, or the ledger's disk.
            if record.state == "open":
                await self.judge.refuse(record, 500, "own fault")
            raise
        finally:
            hold.settle(0)

    async def _deny(
        self,
        line: Line,
        shapes: Shapes,
        record: Record,
        denial: Denial,
        why: str,
        lent: Lent | None = None,
    ) -> None:
        await self.judge.refuse(record, denial.status, why)
        headers = {} if denial.bare else dict(self._headers(shapes, lent))
        if not denial.bare:
            form = self.provider.tells_waits
            headers |= wait_headers(denial.wait, form, self.clock.now() / 1000)
        body = shapes.error(denial)
        text = isinstance(body, str)
        await line.whole(
            denial.status,
            headers,
            "text/html" if text else JSON,
            body.encode() if text else orjson.dumps(body),
        )

    def _headers(self, shapes: Shapes, lent: Lent | None) -> Mapping[str, str]:
        found: dict[str, str] = {"x-request-id": f"req_{secrets.token_hex(12)}"}
        if lent is not None and self.provider.headers:
            now, wall = self.clock.monotonic(), self.clock.now() / 1000
            found |= shapes.limits(lent.quota, now, wall)
        return found
