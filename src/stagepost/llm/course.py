"""The course of one model call through its tries: whom to ask next, and when. Pure.

It goes by the table in `reactions.py`. Tries are counted for each model of the chain, since another
one is another chance; `MOST_SENT` bounds them all.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stagepost.failure import FailureKind
from stagepost.llm.catalogue import Model
from stagepost.llm.reactions import MOST_SENT, REACTIONS, Patience
from stagepost.llm.refusal import Refusal

_K = FailureKind


class Closed(NamedTuple):
    """No call gets through for so many seconds, since this kind of failure."""

    seconds: float
    why: FailureKind


class Ask(NamedTuple):
    """Send it to this model."""

    model: Model


class Wait(NamedTuple):
    """Ask again after so many seconds; why, for those who wonder."""

    seconds: float
    refusal: Refusal


class GiveUp(NamedTuple):
    """The attempt fails with this."""

    refusal: Refusal


Next = Ask | Wait | GiveUp


@dataclass(slots=True)
class Course:
    """One call's.

    `closed` tells for how long and why a model's breaker lets no call through; None if it does.
    """

    chain: Sequence[Model]
    closed: Callable[[Model], Closed | None]
    sent: int = 0
    """Calls so far, those of earlier claims among them that may have been paid for."""
    _place: int = 0
    _failed: Counter[tuple[int, FailureKind]] = field(default_factory=Counter)

    @property
    def model(self) -> Model:
        """The one that is asked now."""
        return self.chain[self._place]

    def begin(self) -> Next:
        """Whom to ask: the first model of the chain, from here on, whose breaker lets it through.

        If none does: when the first of all of them will.
        """
        for place in range(self._place, len(self.chain)):
            if self.closed(self.chain[place]) is None:
                self._place = place
                return Ask(self.model)
        soonest = Closed(math.inf, _K.OVERLOADED)
        for place, model in enumerate(self.chain):
            closed = self.closed(model)
            if closed is None:
                # One before this place is back.
                self._place = place
                return Ask(self.model)
            soonest = min(soonest, closed)
        names = ", ".join(model.name for model in self.chain)
        return Wait(soonest.seconds, Refusal(soonest.why, f"No call gets through to {names} now."))

    def refused(self, refusal: Refusal, spread: float) -> Next:
        """What follows when the model that was asked has refused; `spread` is random in [0, 1)."""
        self.sent += 1
        if self.sent >= MOST_SENT:
            return GiveUp(refusal)
        row = REACTIONS.get(refusal.kind)
        if row is None:
            return GiveUp(refusal)
        if row.larger:
            return self._larger(refusal)
        patience = row.patience
        if patience is None:
            return self._elsewhere(refusal) if row.elsewhere else GiveUp(refusal)
        self._failed[self._place, refusal.kind] += 1
        failed = self._failed[self._place, refusal.kind]
        if failed >= patience.another_after and self._move():
            return self.begin()
        if failed >= patience.tries:
            return GiveUp(refusal)
        return Wait(_wait(patience, failed, refusal.retry_after, spread), refusal)

    def _elsewhere(self, refusal: Refusal) -> Next:
        return self.begin() if self._move() else GiveUp(refusal)

    def _larger(self, refusal: Refusal) -> Next:
        """A model that holds more, once: what is too long for that one too is too long."""
        if self._failed[-1, refusal.kind]:
            return GiveUp(refusal)
        self._failed[-1, refusal.kind] += 1
        here = self.model.limits.context or 0
        for place in range(self._place + 1, len(self.chain)):
            if (self.chain[place].limits.context or 0) > here:
                self._place = place
                return self.begin()
        return GiveUp(refusal)

    def _move(self) -> bool:
        if self._place + 1 == len(self.chain):
            return False
        self._place += 1
        return True


def _wait(patience: Patience, failed: int, asked: float | None, spread: float) -> float:
    most = min(patience.first * 2.0 ** min(failed - 1, 32), patience.most)
    # Never less than a tenth, or a whole fleet would come back at once.
    jittered = most * max(0.1, spread)
    if asked is None or not math.isfinite(asked):
        return jittered
    return max(jittered, asked)
