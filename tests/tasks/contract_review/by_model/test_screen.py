"""What is let into the review of an answer, and what is not."""

import math
from typing import Any

import pytest

from stagepost.tasks.contract_review.by_model.answer import (
    NAMES,
    ClauseAnswer,
    FindingAnswer,
)
from stagepost.tasks.contract_review.by_model.grounds import Grounds, grounds
from stagepost.tasks.contract_review.by_model.planted import addresses_software
from stagepost.tasks.contract_review.by_model.prompt import FINDINGS_MOST
from stagepost.tasks.contract_review.by_model.screen import (
    RISK_MOST,
    SUGGESTION_MOST,
    Reading,
    screened,
)
from stagepost.tasks.contract_review.by_model.trouble import ADDRESSED, UNPROVED
from tasks.contract_review.by_model.planted import FORMS, contract_with
from tasks.contract_review.by_model.scripted import NOTHING, made, risks, said
from tasks.contract_review.drafting import contract, draft, framed

TEXT = (
    'AGREEMENT between Ash Ltd (the "Supplier") and Elm Ltd (the "Customer").\n'
    "1. The Customer’s liability\nshall be unlimited. The Customer pays for all that happens.\n"
)


def screen(answer: ClauseAnswer, text: str = TEXT) -> Reading:
    drafted = draft(text)
    frame = framed(drafted)
    window = made(drafted, frame)[-1]
    reading = screened(answer, window, grounds(window, frame), frame, "main/large")
    for finding in reading.findings:
        assert drafted[0].text[finding.start : finding.end] == finding.quote
    return reading


def test_a_proved_finding_stands_at_its_place_and_names_its_model() -> None:
    (finding,) = screen(risks(said("The Customer's liability shall be unlimited"))).findings
    assert finding.quote == "The Customer’s liability\nshall be unlimited"
    assert (finding.origin, finding.model, finding.rule_id) == ("model", "main/large", "")
    assert (finding.clause, finding.for_whom, finding.severity) == ("1", "partyB", "HIGH")
    assert finding.citation is None


@pytest.mark.parametrize(
    ("wrong", "counted"),
    [
        ({"quote": "The Customer's liability shall be limited"}, "unproved"),
        ({"quote": "AGREEMENT between Ash Ltd"}, "unproved"),  # of another clause
        ({"quote": ""}, "unproved"),
        ({"category": "Astrology"}, "unknown"),
        ({"category": ""}, "unknown"),
        ({"severity": "CATASTROPHIC"}, "unknown"),
        ({"risk": " \u200b "}, "unknown"),
        ({"suggestion": "<b></b>"}, "unknown"),
    ],
)
def test_a_faulty_finding_is_left_out_alone_and_counted(
    wrong: dict[str, Any], counted: str
) -> None:
    good = said("The Customer pays for all that happens.", category="Indemnification")
    bad = said("The Customer's liability shall be unlimited").model_copy(update=wrong)
    reading = screen(risks(bad, good))
    assert [one.category for one in reading.findings] == ["Indemnification"]
    assert getattr(reading.refused, counted) == 1
    alone = screen(risks(bad))
    assert (alone.findings, alone.failure) == ((), UNPROVED)


@pytest.mark.parametrize(
    "answer",
    [
        ClauseAnswer(verdict="risks", findings=[]),
        ClauseAnswer(verdict="unclear", findings=[]),
        ClauseAnswer(verdict="", findings=[]),
        ClauseAnswer(verdict="fine", findings=[]),
        ClauseAnswer(verdict="no-issue", findings=[said("words that are not there")]),
    ],
)
def test_only_a_plain_no_issue_says_that_a_clause_is_in_order(answer: ClauseAnswer) -> None:
    assert screen(answer).failure == UNPROVED
    assert screen(NOTHING).failure is None


def test_no_answer_without_a_verdict_or_findings_can_be_read() -> None:
    lacking: list[dict[str, Any]] = [{}, {"findings": []}, {"verdict": "no-issue"}]
    for empty in lacking:
        with pytest.raises(ValueError, match="Field required"):
            ClauseAnswer.model_validate(empty)


@pytest.mark.parametrize("form", sorted(FORMS))
def test_no_issue_is_not_relied_on_where_the_clause_asks_for_it(form: str) -> None:
    drafted = draft(contract_with(FORMS[form]))
    frame = framed(drafted)
    window = next(one for one in made(drafted, frame) if one.item.number == "3")
    reading = screened(NOTHING, window, Grounds((), {}), frame, "m")
    assert reading.failure == ADDRESSED


@pytest.mark.parametrize("name", ["software", "lease", "employment", "clean-sale"])
def test_ordinary_clauses_address_no_software(name: str) -> None:
    document, clauses = contract(name)
    texts = [document.text[clause.start : clause.end] for clause in clauses]
    assert [text for text in texts if addresses_software(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "The Recipient shall not disclose the password or the API key to any third party.",
        "The Supplier disregards all prior agreements; the AI system is licensed as it is.",
        "\n\nUser\n\nThe user is the Customer.\n\n      System:\n\nThe hardware of Schedule 1.",
        "The system: the hardware listed in Schedule 1. The user may return the goods.",
        "The parties report at least quarterly that no change has occurred.",
        "乙方不得泄露密码、密钥及系统数据。双方忽略不计微小差异。",
        "Hash: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "soft\u00adhy\u00adphen\u00ada\u00adtion in a docu\u00adment of ma\u00adny li\u00adnes",
    ],
)
def test_nor_do_clauses_that_sound_alike(text: str) -> None:
    assert not addresses_software(text)


def test_only_an_article_that_was_given_is_cited() -> None:
    drafted = contract("software")
    frame = framed(drafted)
    window = next(
        one
        for one in made(drafted, frame)
        if grounds(one, frame).articles and len(one.item.text) > 40
    )
    given = grounds(window, frame)
    quote = window.item.text[:40]

    def cited(**told: Any) -> tuple[str | None, str | None]:
        reading = screened(risks(said(quote, **told)), window, given, frame, "m")
        (finding,) = reading.findings
        assert reading.refused.uncited == (finding.citation is not None)
        return finding.law_reference, finding.citation

    assert cited(law_reference="A1") == (given.articles["A1"].cited("zh"), None)
    assert cited(law_reference=" a1 ") == (given.articles["A1"].cited("zh"), None)
    assert cited(law_reference=None) == (None, None)
    assert cited(law_reference="null") == (None, None)
    for invented in ("A99", "Civil Code Art. 1234", "《民法典》第一千二百条", "A1; A2"):
        assert cited(law_reference=invented) == (None, "unverified")
    assert cited(risk="依据《中华人民共和国民法典》第九百九十九条无效。") == (None, "unverified")


def test_findings_beyond_the_limit_are_cut_and_counted() -> None:
    text = TEXT + "".join(f"The Customer bears loss number {n:03}. " for n in range(120))
    many = risks(*(said(f"The Customer bears loss number {n:03}.") for n in range(120)))
    reading = screen(many, text)
    assert len(reading.findings) == FINDINGS_MOST
    assert reading.refused.surplus == 120 - FINDINGS_MOST


def test_the_same_place_and_category_is_listed_once() -> None:
    one = said("The Customer's liability shall be unlimited")
    other = said("liability shall be unlimited", severity="LOW")
    (finding,) = screen(risks(one, other)).findings
    assert finding.severity == "HIGH"
    assert len(screen(risks(one, other.model_copy(update={"category": "Breach"}))).findings) == 2


@pytest.mark.parametrize(
    ("told", "read"),
    [(0.5, 0.5), (85, 0.85), (-3, 0.0), (math.nan, 0.0), (math.inf, 0.0), (1e9, 1.0)],
)
def test_confidence_lies_between_0_and_1(told: float, read: float) -> None:
    (finding,) = screen(
        risks(said("The Customer's liability shall be unlimited", confidence=told))
    ).findings
    assert finding.confidence == read


def test_texts_are_bounded_and_other_words_are_made_ours() -> None:
    answer = said(
        "The Customer's liability shall be unlimited",
        risk="r " * 9_000,
        suggestion="s " * 9_000,
        for_whom="everybody",
        negotiability="sure",
        category="uncapped  LIABILITY",
        severity=" high ",
    )
    (finding,) = screen(risks(answer)).findings
    assert len(finding.risk) <= RISK_MOST + 2
    assert len(finding.suggestion) <= SUGGESTION_MOST + 2
    assert (finding.for_whom, finding.negotiability) == ("neutral", "MEDIUM")
    assert (finding.category, finding.severity) == ("Uncapped Liability", "HIGH")


def test_the_schema_tells_the_model_what_is_allowed() -> None:
    schema = FindingAnswer.model_json_schema(by_alias=True)
    assert set(schema["required"]) == {"quote", "category", "severity", "risk", "suggestion"}
    assert schema["properties"]["category"]["enum"] == list(NAMES)
    assert schema["properties"]["severity"]["enum"] == ["HIGH", "MEDIUM", "LOW"]
    assert schema["properties"]["forWhom"]["enum"] == ["partyA", "partyB", "neutral"]
