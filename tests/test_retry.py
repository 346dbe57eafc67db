"""When a failed attempt is tried again."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.retry import Retry, park_delay, seconds

spreads = st.floats(0, 1, exclude_max=True)
policies = st.builds(
    Retry,
    attempts=st.integers(1, 100),
    first=st.floats(0, 1e6),
    factor=st.floats(1, 10),
    most=st.floats(0, 1e6),
    jitter=st.floats(0, 1),
)


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        ("250ms", 0.25),
        ("30s", 30),
        ("1.5m", 90),
        ("24h", 86_400),
        ("2d", 172_800),
        (" 5 s ", 5),
        (0, 0),
        (2.5, 2.5),
    ],
)
def test_a_duration_is_read(duration: float | str, expected: float) -> None:
    assert seconds(duration) == expected


@pytest.mark.parametrize(
    "duration",
    ["", "5", "s", "-1s", "1e3s", "5 minutes", "1h30m", -1, math.nan, math.inf, "99999d", 10**400],
)
def test_what_is_no_duration_is_refused(duration: float | str) -> None:
    with pytest.raises(ValueError, match="duration"):
        seconds(duration)


@given(st.text())
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    try:
        value = seconds(text)
    except ValueError:
        return
    assert 0 <= value < 100 * 365 * 86_400


@given(policies, st.integers(1, 10_000), spreads)
def test_a_delay_stays_within_its_policy(policy: Retry, failures: int, spread: float) -> None:
    delay = policy.delay(failures, spread)
    most = seconds(policy.most) * (1 + policy.jitter)
    assert 0 <= delay <= most * (1 + 1e-9)


@given(policies, st.integers(1, 200))
def test_without_jitter_delays_never_shrink(policy: Retry, failures: int) -> None:
    # A spread of one half is the middle.
    assert policy.delay(failures, 0.5) <= policy.delay(failures + 1, 0.5)


@given(policies, st.integers(1, 50), spreads, spreads)
def test_more_spread_is_never_a_shorter_delay(
    policy: Retry, failures: int, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    assert policy.delay(failures, low) <= policy.delay(failures, high)


def test_the_defaults_are_those_of_the_documentation() -> None:
    retry = Retry()
    assert [retry.delay(n, 0.5) for n in range(1, 10)] == [5, 10, 20, 40, 80, 160, 320, 600, 600]
    assert retry.delay(1, 0) == pytest.approx(4)
    assert retry.delay(1, 1) == pytest.approx(6)
    assert retry.attempts == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": 0},
        {"attempts": 101},
        {"factor": 0.5},
        {"factor": 11},
        {"jitter": -0.1},
        {"jitter": 1.1},
        {"first": "soon"},
        {"most": -1},
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"Retry|duration"):
        Retry(**wrong)  # type: ignore[arg-type]


@given(st.integers(0, 10_000), spreads)
def test_a_park_grows_from_one_to_sixty_seconds(waits: int, spread: float) -> None:
    assert 0.5 <= park_delay(waits, None, spread) <= 60


@given(st.integers(0, 100), st.floats(0, 1e7), spreads)
def test_a_park_lasts_at_least_as_long_as_was_asked(
    waits: int, after: float, spread: float
) -> None:
    assert park_delay(waits, after, spread) >= after


@pytest.mark.parametrize("after", [math.nan, math.inf, -math.inf, -5.0])
def test_a_park_ignores_what_is_no_time(after: float) -> None:
    assert 0.5 <= park_delay(0, after, 0.0) <= 60
