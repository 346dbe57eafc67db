"""What the model makes of a request, faults of its own included."""

import inspect
from dataclasses import dataclass, replace
from typing import Any, Final

from stagepost.simulated.answers import BAD, Answer, cut_to, draw_of, said, usual
from stagepost.simulated.asked import Asked
from stagepost.simulated.faults import Fault, Way
from stagepost.simulated.provider import SimulatedProvider
from stagepost.simulated.timing import Pace
from stagepost.simulated.tokens import tokens_of

_REFUSAL: Final = "I can't help with that."


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to happen to one call; `wait` is in seconds of the provider."""

    fault: Fault | None = None
    answer: Any = None
    wait: float | None = None

    def goes(self, way: Way) -> bool:
        """Whether its fault is of this way."""
        return self.fault is not None and self.fault.way is way


@dataclass(frozen=True, slots=True)
class Model:
    """All models of a provider."""

    provider: SimulatedProvider

    def input_tokens(self, asked: Asked) -> int:
        """What the prompt costs."""
        return max(1, tokens_of(asked.text) + asked.overhead)

    def may_use(self, asked: Asked) -> int:
        """What a call may use at most, or where it does not say, will use as a rule."""
        if asked.inputs:
            return self.input_tokens(asked)
        most = self.provider.length if asked.most is None else asked.most
        return self.input_tokens(asked) + most

    def too_long(self, asked: Asked) -> int | None:
        """The tokens that were asked for where they do not fit into the context."""
        whole = self.may_use(asked)
        return whole if whole > self.provider.context else None

    def pace(self, asked: Asked, call: int) -> Pace:
        """The times of a call; another one of the same content takes its own time."""
        draw = draw_of(asked, self.provider.seed, f"pace {call}")
        return Pace(self.provider.timing, draw, self.provider.speed)

    async def answer(self, asked: Asked, plan: Plan) -> Answer:
        """The answer. Raises BadRequest for a schema that nothing fits."""
        if asked.inputs:
            return Answer()
        return _spoilt(cut_to(await self._meant(asked, plan), asked.most), plan)

    async def _meant(self, asked: Asked, plan: Plan) -> Answer:
        if plan.answer is not None:
            return said(plan.answer)
        if self.provider.answer is not None:
            given = self.provider.answer(asked)
            if inspect.isawaitable(given):
                given = await given
            if given is not None:
                return said(given)
        return usual(asked, self.provider.seed, self.provider.length)


def _spoilt(answer: Answer, plan: Plan) -> Answer:
    if plan.goes(Way.FILTERED):
        half = answer.pieces[: len(answer.pieces) // 2]
        return replace(answer, pieces=half, calls=(), finish="content_filter")
    if plan.goes(Way.REFUSED):
        return Answer(refusal=_REFUSAL)
    if plan.goes(Way.BAD_ANSWER):
        return said(BAD)
    if plan.goes(Way.NO_FINISH):
        return replace(answer, finish=None)
    return answer
