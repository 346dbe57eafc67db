"""What a call that can't be made now means to its handler: a wait, or a failure. Pure."""

import math
from typing import Final

from stagepost.errors import CallFailed
from stagepost.failure import FailureKind
from stagepost.journal import CallWait
from stagepost.limiter import Verdict
from stagepost.llm.course import Course
from stagepost.llm.refusal import Refusal
from stagepost.llm.reserving import is_budget
from stagepost.waiting import ENDLESS

SHORTEST: Final = 0.1
"""Seconds of a wait without a worker."""


def later(seconds: float, refusal: Refusal, course: Course, *, patient: bool) -> CallWait:
    """The wait that a refusal asks for. Raises CallFailed where the handler is not patient."""
    if not patient:
        raise failed(refusal, seconds)
    # Users read what a task waits for; what the provider said is not for them.
    return CallWait(max(seconds, SHORTEST), f"{course.model.name} ({refusal.kind})")


def limited(verdict: Verdict, *, patient: bool) -> CallWait:
    """The wait for a limit. Raises CallFailed where the handler is not patient."""
    budget = is_budget(verdict.limit)
    wait = max(verdict.wait, SHORTEST) if math.isfinite(verdict.wait) else ENDLESS
    if not patient:
        raise CallFailed(
            f"The limit {verdict.limit} is used up.",
            kind=FailureKind.BUDGET if budget else FailureKind.RATE_LIMIT,
            retry_after=wait,
        )
    return CallWait(wait, verdict.limit)


def failed(refusal: Refusal, retry_after: float | None = None) -> CallFailed:
    """The failure that a refusal is."""
    after = refusal.retry_after if retry_after is None else retry_after
    return CallFailed(refusal.message, kind=refusal.kind, retry_after=after)
