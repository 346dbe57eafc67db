"""Tokens are estimated from characters, and rarely too low."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.llm.estimate import Estimate, Size, size_of

ENGLISH = "The Supplier shall indemnify the Customer against all losses arising from a breach. "
CHINESE = "供应商应赔偿客户因违约而产生的一切损失，包括合理的律师费用。"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("hello", (5, 0, 0)),
        ("naïve – “yes”", (13, 0, 0)),
        ("合同，第1条", (1, 5, 0)),
        ("こんにちは", (0, 5, 0)),
        ("안녕", (0, 2, 0)),
        ("𠮷", (0, 1, 0)),
        ("договор", (0, 0, 14)),
        ("สัญญา", (0, 0, 15)),
        ("ok 👍", (3, 0, 4)),
        ("", (0, 0, 0)),
        ("\ud800", (0, 0, 1)),
    ],
)
def test_texts_are_measured_by_script(text: str, size: tuple[int, int, int]) -> None:
    assert size_of([text])[:3] == size


@given(st.text())
def test_every_character_counts(text: str) -> None:
    size = size_of([text])
    assert size.latin + size.wide + size.other >= len(text)


def test_messages_have_something_around_them() -> None:
    assert size_of(["a", "b"], messages=2) == Size(2, 0, 0, 11)


def test_before_there_is_experience_it_goes_by_what_is_usual() -> None:
    english, chinese = size_of([ENGLISH * 20]), size_of([CHINESE * 20])
    assert Estimate().tokens(english) == pytest.approx(english.latin / 3.5 * 1.2, rel=0.02)
    assert Estimate().tokens(chinese) == pytest.approx(chinese.wide / 1.2 * 1.2, rel=0.02)


@pytest.mark.parametrize("per_token", [1.5, 2.6, 4.7, 6.0])
def test_a_model_is_learnt_within_some_calls(per_token: float) -> None:
    known, chance = Estimate(), random.Random(1)
    for _ in range(40):
        size = Size(latin=chance.randint(500, 20_000), around=7)
        known = known.learn(size, round(size.latin / per_token) + 7)
    size = Size(latin=10_000, around=7)
    true = 10_000 / per_token + 7
    assert true <= known.tokens(size) <= true * 1.15


def test_scripts_are_learnt_apart() -> None:
    known = Estimate()
    for _ in range(60):
        known = known.learn(Size(latin=4_000), 1_000)
        known = known.learn(Size(wide=3_000), 2_000)
        known = known.learn(Size(other=3_000), 1_000)
    assert known.latin == pytest.approx(4.0, rel=0.02)
    assert known.wide == pytest.approx(1.5, rel=0.02)
    assert known.other == pytest.approx(3.0, rel=0.02)


def test_texts_of_both_scripts_are_learnt_together() -> None:
    known, chance = Estimate(), random.Random(2)
    for _ in range(300):
        size = Size(latin=chance.randint(0, 8_000), wide=chance.randint(0, 4_000))
        known = known.learn(size, round(size.latin / 4.4 + size.wide / 1.6))
    assert known.latin == pytest.approx(4.4, rel=0.1)
    assert known.wide == pytest.approx(1.6, rel=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_rarely_too_low_though_texts_differ(seed: int) -> None:
    known, chance, low = Estimate(), random.Random(seed), 0
    for _ in range(500):
        size = Size(latin=chance.randint(300, 20_000), around=7)
        true = round(size.latin / chance.gauss(4.2, 0.35)) + 7
        low += known.tokens(size) < true
        known = known.learn(size, true)
    assert low <= 500 * 0.08


def test_calls_that_differ_much_are_met_with_more_on_top() -> None:
    steady = wild = Estimate()
    for turn in range(100):
        steady = steady.learn(Size(latin=4_000), 1_000)
        wild = wild.learn(Size(latin=4_000), 700 if turn % 2 else 1_300)
    assert wild.tokens(Size(latin=4_000)) > 1.3 * steady.tokens(Size(latin=4_000))


@given(
    st.builds(Size, *[st.integers(0, 10**7)] * 4),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**7)), max_size=30),
)
def test_whatever_is_told_it_stays_an_estimate(size: Size, calls: list[tuple[int, int]]) -> None:
    known = Estimate()
    for latin, tokens in calls:
        known = known.learn(Size(latin, wide=latin // 3), tokens)
    assert size.around <= known.tokens(size) < 10**9
    assert Estimate.load(known.dump()) == known


def test_a_short_call_tells_nothing() -> None:
    assert Estimate().learn(Size(latin=10, around=7), 12) == Estimate()
