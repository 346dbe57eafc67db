"""When a model is left alone, and how it comes back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.failure import FailureKind
from stagepost.llm.breaker import FIRST, IN_A_ROW, MOST, PROBE, Breaker, State
from stagepost.llm.reactions import ELSEWHERE

K = FailureKind
DOWN = [K.OVERLOADED, K.SERVER_ERROR, K.TIMEOUT]


def opened(kind: FailureKind = K.AUTH, now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(IN_A_ROW):
        breaker.failed(kind, now)
    return breaker


@pytest.mark.parametrize("kind", sorted(ELSEWHERE))
def test_what_a_person_must_mend_opens_it_at_once(kind: FailureKind) -> None:
    breaker = Breaker()
    breaker.failed(kind, 100.0)
    assert (breaker.state(100.0), breaker.why, breaker.wait(100.0)) == (State.OPEN, kind, FIRST)


@pytest.mark.parametrize("kind", DOWN)
def test_a_provider_that_is_down_opens_it_after_some_failures_in_a_row(kind: FailureKind) -> None:
    breaker = Breaker()
    for _ in range(IN_A_ROW - 1):
        breaker.failed(kind, 0.0)
    assert breaker.state(0.0) is State.CLOSED
    breaker.failed(kind, 0.0)
    assert breaker.state(0.0) is State.OPEN


@pytest.mark.parametrize("kind", [K.INVALID_INPUT, K.CONTENT_POLICY, K.CONTEXT_LENGTH])
def test_a_refusal_that_is_about_the_call_tells_that_the_model_is_there(kind: FailureKind) -> None:
    breaker = Breaker()
    for _ in range(IN_A_ROW - 1):
        breaker.failed(K.OVERLOADED, 0.0)
    breaker.failed(kind, 0.0)
    breaker.failed(K.OVERLOADED, 0.0)
    assert breaker.state(0.0) is State.CLOSED


def test_a_limit_is_none_of_its_business() -> None:
    breaker = Breaker()
    for _ in range(100):
        breaker.failed(K.RATE_LIMIT, 0.0)
    assert breaker.state(0.0) is State.CLOSED


def test_one_call_goes_as_a_probe_and_closes_it() -> None:
    breaker = opened()
    assert breaker.state(FIRST) is State.HALF_OPEN
    assert breaker.wait(FIRST) == 0
    breaker.begin(FIRST)
    assert breaker.wait(FIRST + 1) == PROBE - 1
    breaker.succeeded()
    assert (breaker.state(FIRST + 1), breaker.wait(FIRST + 1)) == (State.CLOSED, 0)


def test_a_probe_that_fails_opens_it_for_longer_up_to_a_bound() -> None:
    breaker, now, lasted = opened(), 0.0, []
    for _ in range(10):
        lasted.append(breaker.wait(now))
        now += breaker.wait(now)
        breaker.begin(now)
        breaker.failed(K.OVERLOADED, now)
    assert lasted[:4] == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST]
    assert lasted[-1] == MOST


def test_calls_that_were_on_their_way_when_it_opened_make_it_no_longer() -> None:
    breaker = opened(K.OVERLOADED)
    for _ in range(50):
        breaker.failed(K.OVERLOADED, 1.0)
    assert breaker.wait(1.0) == FIRST


def test_a_probe_of_which_nothing_is_heard_is_given_up() -> None:
    breaker = opened()
    breaker.begin(FIRST)
    assert breaker.wait(FIRST + PROBE) == 0


def test_a_provider_that_names_an_instant_is_believed() -> None:
    breaker = Breaker()
    breaker.failed(K.QUOTA, 0.0, 3_600.0)
    assert breaker.wait(0.0) == 3_600
    breaker = Breaker()
    breaker.failed(K.QUOTA, 0.0, float("nan"))
    assert breaker.wait(0.0) == FIRST


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*FailureKind, "ok", "begin"]), st.floats(0, 100), st.floats(0, 1_000)
        ),
        max_size=60,
    )
)
def test_it_always_lets_a_call_through_again(
    causes: list[tuple[FailureKind | str, float, float]],
) -> None:
    breaker, now = Breaker(), 0.0
    for cause, passes, asked in causes:
        now += passes
        if cause == "ok":
            breaker.succeeded()
        elif cause == "begin":
            breaker.begin(now)
        else:
            breaker.failed(FailureKind(cause), now, asked)
        assert (breaker.state(now) is State.CLOSED) == (breaker.why is None)
        assert 0 <= breaker.wait(now) <= max(MOST, 1_000, PROBE)
        assert breaker.wait(now + breaker.wait(now) + 0.001) == 0
