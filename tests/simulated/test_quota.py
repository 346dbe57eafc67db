"""A provider's quota: never more than it lends, and the wait that it tells is the right one."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.llm.said import Said
from stagepost.llm.waits import asked_wait
from stagepost.simulated.quota import Kind, Meter, Quota, go_duration

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def quota(kind: Kind = Kind.BUCKET, **changes: Any) -> Quota:
    return Quota(Meter(60, kind), Meter(6_000, kind), concurrency=2, **changes)


def test_what_runs_out_first_is_named_with_its_wait() -> None:
    lent = quota()
    assert lent.admit(5_900, 0.0) is None
    refused = lent.admit(200, 0.0)
    assert refused is not None
    assert refused.what == "tokens"
    assert refused.wait == pytest.approx(1.0)
    assert lent.admit(200, 1.0) is None


def test_at_once_are_only_so_many() -> None:
    lent = quota()
    assert [lent.admit(1, 0.0) for _ in range(2)] == [None, None]
    assert lent.admit(1, 0.0) == ("concurrency", 0.0)
    lent.settle(1, 1, 0.0)
    assert lent.admit(1, 0.0) is None


@pytest.mark.parametrize("kind", Kind)
def test_who_asks_again_and_again_gets_nothing_where_refusals_count(kind: Kind) -> None:
    patient, hasty = (Quota(Meter(60, kind), None, 1, counts_refused=True) for _ in range(2))
    assert [lent.admit(0, 0.0) for lent in (patient, hasty)] == [None, None]
    first = hasty.admit(0, 0.0)
    assert first == ("concurrency", 0.0)
    for tenth in range(600):
        refused = hasty.admit(0, tenth / 10)
        assert refused is not None
    for lent in (patient, hasty):
        lent.settle(0, 0, 59.9)
    assert patient.admit(0, 59.9) is None
    refused = hasty.admit(0, 59.9)
    assert refused is not None
    assert refused.what == "requests"
    # Who waits as long as it is told is served.
    assert refused.wait > 0
    assert hasty.admit(0, 59.9 + refused.wait + 1e-6) is None


def test_a_window_gives_all_at_its_begin() -> None:
    lent = Quota(Meter(3, Kind.WINDOW))
    assert [lent.admit(0, 59.0) for _ in range(3)] == [None] * 3
    refused = lent.admit(0, 59.0)
    assert refused is not None
    assert refused.what == "requests"
    assert refused.wait == pytest.approx(1.0)
    assert [lent.admit(0, 60.0) for _ in range(3)] == [None] * 3


@pytest.mark.parametrize(("charge", "left"), [("reserved", 5_000.0), ("actual", 5_900.0)])
def test_what_was_asked_for_and_not_used(charge: Any, left: float) -> None:
    lent = quota(charge=charge)
    lent.admit(1_000, 0.0)
    lent.settle(1_000, 100, 0.0)
    assert lent.tokens is not None
    assert lent.tokens.left(0.0) == left


def test_more_than_it_ever_holds_is_never_lent() -> None:
    assert quota().admit(6_001, 0.0) == ("tokens", math.inf)


@pytest.mark.parametrize("kind", Kind)
@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 1_500)), max_size=60))
def test_no_minute_lends_more_than_it_has(kind: Kind, calls: list[tuple[float, int]]) -> None:
    meter, now, taken = Meter(6_000, kind), 0.0, list[tuple[float, int]]()
    for pause, units in calls:
        now += pause
        wait = meter.wait(units, now)
        if wait:
            assert wait < 1e-6 or meter.wait(units, now + wait * 0.99) > 0, "none too much"
            assert meter.wait(units, now + wait + 1e-6) == 0, "and it was enough"
            now += wait + 1e-6
        meter.take(units, now)
        taken.append((now, units))
    for start, _ in taken:
        lent = sum(units for at, units in taken if start <= at < start + 60)
        # A bucket may be full at the begin of the minute, a window may change in it.
        assert lent <= 2 * 6_000 + 1
    for window in range(int(now // 60) + 1):
        lent = sum(units for at, units in taken if window * 60 <= at < window * 60 + 60)
        assert kind is Kind.BUCKET or lent <= 6_000


@given(st.floats(0, 100_000))
def test_a_duration_is_read_as_it_was_written(seconds: float) -> None:
    headers = {
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": go_duration(seconds),
    }
    found = asked_wait(Said(429, headers), NOW)
    assert found == pytest.approx(seconds, abs=0.0011)


def test_headers_tell_what_is_left() -> None:
    lent = quota()
    lent.admit(600, 0.0)
    assert lent.headers(0.0) == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "6000",
        "x-ratelimit-remaining-tokens": "5400",
        "x-ratelimit-reset-tokens": "6s",
    }
