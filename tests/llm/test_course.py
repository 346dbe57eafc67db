"""Whom a call asks next, and when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.failure import FailureKind
from stagepost.llm.catalogue import Catalogue, Model
from stagepost.llm.course import Ask, Closed, Course, GiveUp, Next, Wait
from stagepost.llm.reactions import MOST_SENT, PATIENCE
from stagepost.llm.refusal import Refusal

K = FailureKind
CHAIN = Catalogue.parse(
    """\
[providers.main]
kind = "openai"
[providers.backup]
kind = "anthropic"
[models.best]
chain = ["main/large", "main/small", "backup/long"]
[limits."main/large"]
context = 8_000
[limits."main/small"]
context = 8_000
[limits."backup/long"]
context = 200_000
"""
).chain("best")
LARGE, SMALL, LONG = CHAIN


def course(*chain: Model, closed: dict[str, float] | None = None) -> Course:
    waits = {} if closed is None else closed

    def closed_now(model: Model) -> Closed | None:
        seconds = waits.get(model.name, 0.0)
        return Closed(seconds, K.AUTH if model is SMALL else K.OVERLOADED) if seconds else None

    return Course(chain or CHAIN, closed_now)


def tries(course: Course, kind: FailureKind) -> list[Next]:
    """What follows each refusal until it is given up or another model is asked."""
    found: list[Next] = []
    while not found or isinstance(found[-1], Wait):
        found.append(course.refused(Refusal(kind, "no"), 0.5))
    return found


def test_the_first_of_the_chain_is_asked_first() -> None:
    assert course().begin() == Ask(LARGE)


@pytest.mark.parametrize("kind", [K.OVERLOADED, K.SERVER_ERROR, K.TIMEOUT])
def test_a_kind_has_so_many_tries_of_each_model(kind: FailureKind) -> None:
    patience = PATIENCE[kind]
    alone = tries(course(LARGE), kind)
    assert len(alone) == patience.tries
    assert isinstance(alone[-1], GiveUp)
    several = course()
    assert tries(several, kind)[-1] == Ask(SMALL)
    assert several.sent == patience.another_after


def test_waits_double_up_to_a_bound_and_are_spread() -> None:
    waits = [step.seconds for step in tries(course(LARGE), K.OVERLOADED) if isinstance(step, Wait)]
    assert waits == [1, 2, 4, 8, 16]
    first = course(LARGE).refused(Refusal(K.OVERLOADED, "no"), 0.0)
    assert isinstance(first, Wait)
    assert first.seconds == pytest.approx(0.2)


def test_what_the_provider_asks_for_is_waited_for() -> None:
    step = course().refused(Refusal(K.RATE_LIMIT, "slow down", 40.0), 0.5)
    assert isinstance(step, Wait)
    assert step.seconds == 40
    step = course().refused(Refusal(K.RATE_LIMIT, "slow down", float("inf")), 0.5)
    assert isinstance(step, Wait)
    assert step.seconds == 0.5


def test_each_refusal_has_a_wait_of_its_own() -> None:
    limited = course(LARGE)
    asked = [1.0, 5.0, 30.0, 1.0, None]
    steps = [limited.refused(Refusal(K.RATE_LIMIT, "slow down", each), 0.1) for each in asked]
    waits = [step.seconds for step in steps if isinstance(step, Wait)]
    # Where less is asked for than what our own waits have grown to, or nothing, those are waited.
    assert waits == pytest.approx([1.0, 5.0, 30.0, 1.0, 1.6])


def test_a_limit_stays_with_its_model() -> None:
    limited = course()
    for _ in range(MOST_SENT - 1):
        assert isinstance(limited.refused(Refusal(K.RATE_LIMIT, "no"), 0.5), Wait)
        assert limited.begin() == Ask(LARGE)
    assert isinstance(limited.refused(Refusal(K.RATE_LIMIT, "no"), 0.5), GiveUp)


@pytest.mark.parametrize("kind", [K.AUTH, K.CONFIG, K.QUOTA])
def test_what_a_person_must_mend_is_asked_for_elsewhere(kind: FailureKind) -> None:
    assert course().refused(Refusal(kind, "no"), 0.5) == Ask(SMALL)
    last = course(LONG)
    assert last.refused(Refusal(kind, "no"), 0.5) == GiveUp(Refusal(kind, "no"))


@pytest.mark.parametrize("kind", [K.INVALID_INPUT, K.CONTENT_POLICY, K.BAD_OUTPUT])
def test_what_no_model_answers_is_given_up_at_once(kind: FailureKind) -> None:
    assert isinstance(course().refused(Refusal(kind, "no"), 0.5), GiveUp)


def test_what_is_too_long_goes_to_a_model_that_holds_more_and_only_once() -> None:
    too_long = course()
    assert too_long.refused(Refusal(K.CONTEXT_LENGTH, "too long"), 0.5) == Ask(LONG)
    assert isinstance(too_long.refused(Refusal(K.CONTEXT_LENGTH, "too long"), 0.5), GiveUp)
    none = course(LARGE, SMALL)
    assert isinstance(none.refused(Refusal(K.CONTEXT_LENGTH, "too long"), 0.5), GiveUp)


def test_models_that_get_no_call_are_passed_over() -> None:
    assert course(closed={LARGE.name: 5, SMALL.name: 9}).begin() == Ask(LONG)


def test_where_none_gets_a_call_the_first_that_will_is_waited_for() -> None:
    step = course(closed={LARGE.name: 50, SMALL.name: 9, LONG.name: 20}).begin()
    assert isinstance(step, Wait)
    assert (step.seconds, step.refusal.kind) == (9, K.AUTH)
    assert "main/large, main/small, backup/long" in step.refusal.message


def test_a_model_that_is_back_is_asked_though_a_later_one_was() -> None:
    closed = {LARGE.name: 5.0}
    one = course(closed=closed)
    assert one.begin() == Ask(SMALL)
    closed.update({LARGE.name: 0, SMALL.name: 5, LONG.name: 5})
    assert one.begin() == Ask(LARGE)


@given(
    st.lists(st.tuples(st.sampled_from(FailureKind), st.floats(0, 1)), min_size=MOST_SENT),
    st.sampled_from([CHAIN, CHAIN[:1], CHAIN[1:]]),
)
def test_it_ends_after_so_many_calls_whatever_happens(
    refusals: list[tuple[FailureKind, float]], chain: tuple[Model, ...]
) -> None:
    one = course(*chain)
    for sent, (kind, spread) in enumerate(refusals, 1):
        step = one.refused(Refusal(kind, "no"), spread)
        if isinstance(step, GiveUp):
            assert sent <= MOST_SENT
            return
        if isinstance(step, Wait):
            assert 0 < step.seconds <= 60
    raise AssertionError("it never gave up")
