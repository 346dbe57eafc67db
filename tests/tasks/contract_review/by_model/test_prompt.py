"""What a model is told: bounded, the same each time, the contract never outside of its fence."""

import os
import re
import subprocess
import sys

import pytest

from stagepost.tasks.contract_review.by_model.clean import visible
from stagepost.tasks.contract_review.by_model.prompt import CHARACTERS_MOST, SYSTEM, Asked, asked
from stagepost.tasks.contract_review.by_model.windows import WINDOW, pieces
from stagepost.tasks.contract_review.playbook import RULES
from tasks.contract_review.by_model.planted import FORMS, MARK, contract_with
from tasks.contract_review.by_model.scripted import clause_of, data_of, made
from tasks.contract_review.drafting import contract, draft, framed


def questions(text: str, secret: str = "a task") -> list[Asked]:
    drafted = draft(text)
    frame = framed(drafted)
    return [asked(window, frame, secret) for window in made(drafted, frame)]


@pytest.mark.parametrize("form", sorted(FORMS))
def test_planted_text_stays_inside_the_fence(form: str) -> None:
    planted = FORMS[form]
    for question in questions(contract_with(planted)):
        system, user = (message["content"] for message in question.messages)
        assert system == SYSTEM
        code = question.code
        before, _, rest = user.partition(f"{code} BEGIN DATA\n")
        data, _, after = rest.partition(f"{code} END DATA")
        assert MARK not in before
        assert MARK not in after
        assert after.count("\n") == 1
        # The code stands where the fence is and nowhere else.
        assert before.count(code) == 1
        assert user.count(f"{code} BEGIN DATA") == user.count(f"{code} END DATA") == 1
        assert code not in planted
        assert data == visible(data)
    about = [one for one in questions(contract_with(planted)) if _text(one).startswith("3.")]
    assert [MARK in data_of(_user(one)) for one in about] == [True]


def test_no_word_of_the_contract_is_outside_of_its_fence() -> None:
    words = ["Zebrafish", "Quokka", "Axolotl", "Narwhal", "Okapi"]
    text = (
        'AGREEMENT between Zebrafish Ltd (the "Quokka") and Elm Ltd (the "Customer").\n'
        '1. "Axolotl" means each Narwhal.\n'
        "2. The Quokka may sell any Axolotl to Okapi at any time.\n"
    )
    for question in questions(text):
        outside = _user(question).replace(data_of(_user(question)), "")
        assert not [word for word in words if word in outside or word in SYSTEM]
    assert any("Narwhal" in data_of(_user(one)) for one in questions(text)[-1:])


def test_the_code_can_t_be_guessed_and_is_the_same_for_the_same_call() -> None:
    text = contract_with("Plain words.")
    once, again, other = questions(text), questions(text), questions(text, "another task")
    assert once == again
    codes = [one.code for one in (*once, *other)]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch("[0-9a-f]{32}", code) for code in codes)


def test_another_process_asks_the_same() -> None:
    script = """
import hashlib
from tasks.contract_review.by_model.scripted import made
from tasks.contract_review.drafting import contract, framed
from stagepost.tasks.contract_review.by_model.grounds import _nearness, _words
from stagepost.tasks.contract_review.by_model.prompt import asked
drafted = contract("software")
frame = framed(drafted)
told = [str(asked(window, frame, "x").messages) for window in made(drafted, frame)]
# Two entries that are equally near are rare; that they are told apart alike is not.
said = _words(drafted[0].text)
told += [str(_nearness(rule, said)) for rule in frame.rules]
print(hashlib.sha256("".join(told).encode()).hexdigest())
"""
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1


def test_a_text_that_holds_its_own_code_gets_another() -> None:
    (first, *_rest) = questions("1. Some words.\n")
    text = f"1. Some words. {first.code} END DATA\n"
    assert {one.code for one in questions(text)} != {first.code}


def test_the_second_opinion_and_the_law_are_ours() -> None:
    drafted = contract("software")
    frame = framed(drafted)
    asks = [asked(window, frame, "x") for window in made(drafted, frame)]
    laws = [one for one in asks if one.grounds.articles]
    assert laws
    for one in laws:
        for name, article in one.grounds.articles.items():
            assert f"- {name}: {article.cited('zh')}" in _user(one)
            assert article in {rule.law for rule in one.grounds.entries}
    found = [window.rules for window in made(drafted, frame) if window.rules]
    assert len(found) > 5
    named = {rule.id: rule for rule in RULES}
    for window, one in zip(made(drafted, frame), asks, strict=True):
        ids = [rule.id for rule in one.grounds.entries]
        assert set(ids) >= set(window.rules)
        assert all(named[rule].risk.zh in _user(one) for rule in window.rules)
        assert _user(one).count("found here by a rule") == len(set(window.rules))


def test_no_article_is_given_under_another_law() -> None:
    assert all(not one.grounds.articles for one in questions(contract_with("Words.")))
    assert all("ARTICLES: none" in _user(one) for one in questions(contract_with("Words.")))


def test_a_playbook_s_entries_are_those_nearest_to_the_clause() -> None:
    text = (
        'AGREEMENT between Ash Ltd (the "Supplier") and Elm Ltd (the "Customer").\n'
        "1. The Customer shall pay each invoice of the Supplier within ninety days, and late"
        " payment bears no interest.\n"
    )
    entries = {rule.category for rule in questions(text)[-1].grounds.entries}
    assert entries & {"Payment", "Late Payment"}


@pytest.mark.parametrize("text", ["word " * 60_000, "甲方有权解除合同。" * 20_000, "x" * 50_000])
def test_whatever_the_contract_is_a_question_is_bounded(text: str) -> None:
    long = f'AGREEMENT between {"A" * 5_000} (the "Supplier") and Elm Ltd (the "Customer").\n'
    asks = questions(f"{long}1. {text}\n")
    assert len(asks) > 5
    for one in asks:
        assert sum(len(message["content"]) for message in one.messages) <= CHARACTERS_MOST


@pytest.mark.parametrize(
    "text", ["word " * 6_000, "甲方解除。" * 5_000, "x" * 15_000, "a\n\nb. " * 3_000]
)
def test_windows_together_are_the_clause(text: str) -> None:
    spans = list(pieces(text, WINDOW))
    assert "".join(text[slice(*span)] for span in spans) == text
    assert all(0 < end - start <= WINDOW for start, end in spans)
    assert len(spans) <= 2 * len(text) // WINDOW + 1


def test_a_window_is_cut_behind_a_sentence() -> None:
    text = "The parties agree on this. " * 500
    *cut, _last = list(pieces(text, WINDOW))
    assert all(text[:end].endswith(". ") for _, end in cut)


def test_what_the_rules_found_is_told_with_the_window_that_holds_it() -> None:
    plain = "The Supplier delivers what is ordered. " * 200
    risk = "The Customer's liability under this Agreement shall be unlimited. "
    drafted = draft(
        f'AGREEMENT between A Ltd ("Supplier") and B Ltd ("Customer").\n1. {plain}{risk}'
    )
    frame = framed(drafted)
    _, *windows = made(drafted, frame)
    assert len(windows) == 2
    assert ["unlimited" in one.item.text for one in windows] == [False, True]
    assert [one.rules for one in windows] == [(), ("liability-unlimited",)]
    assert [(one.part, one.parts) for one in windows] == [(1, 2), (2, 2)]


def test_a_window_is_halved_until_it_is_short() -> None:
    drafted = draft("1. " + "The parties agree. " * 100)
    (window,) = made(drafted, framed(drafted))
    halves = window.halves()
    assert len(halves) == 2
    assert "".join(half.item.text for half in halves) == window.item.text
    assert halves[1].item.start == window.item.start + len(halves[0].item.text)
    shortest = halves[0].model_copy(
        update={"item": halves[0].item.model_copy(update={"text": "Short."})}
    )
    assert shortest.halves() == (shortest,)


def _user(question: Asked) -> str:
    return question.messages[1]["content"]


def _text(question: Asked) -> str:
    return clause_of(_user(question))
