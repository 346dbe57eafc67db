"""How a claim is told to end, and which reason wins."""

import pytest

from stagepost.failure import Failure, FailureKind
from stagepost.outcome import Cancelled, Drained, Failed
from stagepost.retry import Retry
from stagepost.running import Running, Stop, Why, failed, outcome_of
from stagepost.task import CancelRequest
from support.claims import CLAIM

RETRY = Retry(attempts=4, first=1, factor=2, jitter=0)


def test_the_stronger_reason_wins_and_the_weaker_is_ignored() -> None:
    running, told = Running(CLAIM, 100.0, 60.0), list[Stop]()
    running.remote = told.append
    for why in (Why.DRAIN, Why.CANCEL, Why.DEADLINE, Why.DRAIN, Why.CANCEL):
        running.end(Stop(why))
    assert [stop.why for stop in told] == [Why.DRAIN, Why.CANCEL]
    assert not running.gate.unwinding
    running.end(Stop(Why.TIMEOUT))
    assert running.gate.unwinding
    assert running.stop == Stop(Why.TIMEOUT)


def test_a_handler_that_has_ended_is_told_nothing() -> None:
    running = Running(CLAIM, 100.0, 60.0)
    running.handled = True
    running.end(Stop(Why.TIMEOUT))
    running.unwind()
    assert running.stop is None
    assert not running.gate.unwinding


def test_a_claim_knows_when_its_time_is_over() -> None:
    running = Running(CLAIM, 100.0, 60.0)
    assert (running.ends_at, running.deadline_at) == (160.0, 105.0)


def test_every_reason_has_its_outcome() -> None:
    request = CancelRequest("ann", "enough")
    outcomes = {why: outcome_of(Stop(why, request), CLAIM, RETRY, 0.5) for why in Why}
    assert outcomes[Why.DRAIN] == Drained()
    assert outcomes[Why.CANCEL] == Cancelled(request)
    assert outcomes[Why.LOST] is None
    late, slow = outcomes[Why.DEADLINE], outcomes[Why.TIMEOUT]
    assert isinstance(late, Failed)
    assert (late.failure.kind, late.delay) == (FailureKind.DEADLINE, None)
    assert isinstance(slow, Failed)
    assert (slow.failure.kind, slow.delay) == (FailureKind.TIMEOUT, 1.0)


@pytest.mark.parametrize(
    ("attempt", "max_attempts", "delay"),
    [(1, 4, 1.0), (2, 4, 2.0), (3, 4, 4.0), (4, 4, None), (5, 8, 1.0), (6, 8, 2.0), (8, 8, None)],
)
def test_failures_are_counted_from_the_last_redrive(
    attempt: int, max_attempts: int, delay: float | None
) -> None:
    claim = CLAIM._replace(attempt=attempt, max_attempts=max_attempts)
    outcome = failed(claim, Failure(FailureKind.BUG, "no"), RETRY, 0.5)
    assert outcome.delay == delay
