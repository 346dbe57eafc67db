"""Conditions: fixed when the wait begins, shown by the nearest, kept as plain data."""

import math

import orjson
import pytest

from stagepost.waiting import (
    ENDLESS,
    BudgetTurns,
    Condition,
    LimitFree,
    SignalSent,
    TimeComes,
    begun,
    ends_at,
    milliseconds,
    nearest,
    packed,
    shown_until,
    unpacked,
)

NOW = 1_000_000
EVERY: list[Condition] = [
    TimeComes("sleep", NOW + 5),
    SignalSent("go", "wait_for go", NOW + 9),
    SignalSent("stop", "a/wait_for stop#2"),
    LimitFree("model", 0.0, NOW + 7),
    BudgetTurns("budget:task/1:ever", 0.0, NOW + 8, None),
]


def test_they_come_back_from_plain_data() -> None:
    assert unpacked(orjson.loads(orjson.dumps(packed(EVERY)))) == tuple(EVERY)
    assert unpacked(packed([])) == ()


def test_a_limit_counts_from_the_moment_of_the_wait() -> None:
    (limit,) = begun([LimitFree("model", 2.5)], NOW)
    assert limit == LimitFree("model", 0.0, NOW + 2_500)
    assert begun([limit], NOW + 60) == (limit,), "once"


def test_of_what_only_passes_with_time_the_first_is_kept() -> None:
    late, limit = TimeComes("sleep", NOW + 9_000), LimitFree("model", 2.0)
    signals = EVERY[1], EVERY[2]
    assert begun([late, *signals, limit], NOW) == (LimitFree("model", 0.0, NOW + 2_000), *signals)
    assert begun([late, limit, TimeComes("sleep", NOW)], NOW) == (TimeComes("sleep", NOW),)
    assert begun(signals, NOW) == signals


def test_people_see_what_ends_first() -> None:
    assert nearest(EVERY) == EVERY[0]
    assert nearest([EVERY[2], EVERY[1]]) == EVERY[1]
    assert nearest([EVERY[2]]) == EVERY[2]
    assert ends_at(EVERY) == NOW + 5
    assert ends_at([EVERY[2]]) is None


@pytest.mark.parametrize(
    ("seconds", "found"),
    [(1.5, 1_500), (0, 0), (-1, 0), (math.nan, 0), (math.inf, 315_360_000_000)],
)
def test_a_delay_in_milliseconds(seconds: float, found: int) -> None:
    assert milliseconds(seconds) == found


def test_a_budget_is_looked_at_before_it_turns() -> None:
    hour = 3_600_000
    (soon,) = begun([BudgetTurns("day", 60.0)], NOW)
    assert (ends_at([soon]), shown_until(soon)) == (NOW + 60_000, NOW + 60_000)
    (late,) = begun([BudgetTurns("month", 86_400.0)], NOW)
    assert (ends_at([late]), shown_until(late)) == (NOW + hour, NOW + 24 * hour)
    (never,) = begun([BudgetTurns("task", ENDLESS)], NOW)
    assert (ends_at([never]), shown_until(never)) == (NOW + hour, None)
    assert unpacked(packed([never])) == (never,)
