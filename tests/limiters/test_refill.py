"""Whether a provider refills evenly or at its minutes, learnt from its headers."""

from datetime import UTC, datetime

import pytest

from stagepost.limit import Limit, Pace
from stagepost.limiter import Notice
from stagepost.limiters.refill import Refill
from stagepost.llm.said import Said
from stagepost.llm.told import What, told_of
from stagepost.simulated.quota import Kind, Meter, Quota

NOW = datetime(2026, 11, 30, tzinfo=UTC)
LIMIT = Limit("model:m:tokens", 6_000, pace=Pace())
MINUTE = 60_000


def learnt(kind: Kind, *, seconds: int, tokens: int = 160, late: float = 0.0) -> Refill:
    """From a call each second, each of whose answers is so late in telling."""
    quota, refill = Quota(tokens=Meter(6_000, kind)), Refill.unknown()
    for second in range(seconds):
        now = 1_000_000.0 + second
        quota.admit(tokens, now)
        told = told_of(Said(200, quota.headers(now)), NOW)[What.TOKENS]
        at = round((now + late * (second % 3)) * 1000)
        refill.learn(Notice(LIMIT, told.most, told.left, told.whole_in), MINUTE, at)
    return refill


NEXT = 1_000_000_000 + 200_000


@pytest.mark.parametrize("tokens", [110, 160, 400])
def test_a_bucket_is_known_after_a_minute(tokens: int) -> None:
    refill = learnt(Kind.BUCKET, seconds=200, tokens=tokens)
    assert refill.is_even(MINUTE, NEXT)
    assert not learnt(Kind.BUCKET, seconds=30).is_even(MINUTE, 1_000_030_000)


@pytest.mark.parametrize("tokens", [20, 99, 160])
def test_a_window_is_known_with_the_instant_at_which_it_turns(tokens: int) -> None:
    refill = learnt(Kind.WINDOW, seconds=200, tokens=tokens)
    assert not refill.is_even(MINUTE, NEXT)
    turn = refill.last_turn(MINUTE, NEXT)
    assert turn is not None
    assert turn == pytest.approx(1_000_000_000 + 200_000 - 20_000 - 20_000, abs=MINUTE)
    assert turn % MINUTE == pytest.approx(0, abs=2)
    assert NEXT - MINUTE < turn <= NEXT


def test_who_tells_too_late_is_not_known() -> None:
    refill = learnt(Kind.WINDOW, seconds=200, late=1.0)
    assert refill.last_turn(MINUTE, NEXT) is None
    assert not refill.is_even(MINUTE, NEXT)


def test_a_refusal_makes_it_unknown_for_a_while() -> None:
    refill = learnt(Kind.BUCKET, seconds=200)
    refill.learn(Notice(LIMIT, slower=True), MINUTE, NEXT)
    assert not refill.is_even(MINUTE, NEXT)
    for second in range(1, 100):
        notice = Notice(LIMIT, 6_000, 3_000, 30.0)
        refill.learn(notice, MINUTE, NEXT + second * 1_000)
    assert not refill.is_even(MINUTE, NEXT + 100_000)


def test_where_hardly_anything_is_gone_nothing_is_learnt() -> None:
    refill = Refill.unknown()
    for second in range(200):
        refill.learn(Notice(LIMIT, 6_000, 5_950, 0.5), MINUTE, second * 1_000)
    assert not refill.is_even(MINUTE, 200_000)


def test_it_is_kept_as_numbers_and_moves_with_the_clock() -> None:
    refill = learnt(Kind.WINDOW, seconds=200)
    assert Refill.load(refill.dump()) == refill
    turn = refill.last_turn(MINUTE, NEXT)
    assert turn is not None
    refill.shift(-7_000)
    assert refill.last_turn(MINUTE, NEXT - 7_000) == turn - 7_000
