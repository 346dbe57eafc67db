"""Whatever a contract says and whatever a model answers, the same things hold."""

from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.tasks.contract_review.by_model.answer import NAMES, ClauseAnswer, FindingAnswer
from stagepost.tasks.contract_review.by_model.clean import visible
from stagepost.tasks.contract_review.by_model.fence import fenced
from stagepost.tasks.contract_review.by_model.grounds import grounds
from stagepost.tasks.contract_review.by_model.prompt import FINDINGS_MOST, asked
from stagepost.tasks.contract_review.by_model.screen import screened
from stagepost.tasks.contract_review.by_model.trouble import OF_THE_CLAUSE
from stagepost.tasks.contract_review.report import SEVERITIES
from tasks.contract_review.by_model.scripted import made
from tasks.contract_review.drafting import contract, framed

DRAFTED = contract("lease")
FRAME = framed(DRAFTED)
WINDOWS = made(DRAFTED, FRAME)
ARTICLES = {
    article.cited("zh") for one in WINDOWS for article in grounds(one, FRAME).articles.values()
}

_WORDS = st.text(max_size=60) | st.sampled_from(
    [
        "",
        "null",
        "A1",
        "A7",
        "<b>x</b>",
        "见《民法典》第九条",
        "https://evil.example",
        "HIGH",
        *NAMES,
    ]
)


@st.composite
def findings(draw: st.DrawFn, text: str) -> FindingAnswer:
    start = draw(st.integers(0, len(text)))
    part = text[start : start + draw(st.integers(0, 80))]
    return FindingAnswer(
        quote=draw(st.just(part) | st.just(" ".join(part)) | _WORDS),
        category=draw(st.sampled_from(NAMES) | _WORDS),
        severity=draw(st.sampled_from(SEVERITIES) | _WORDS),
        risk=draw(_WORDS),
        for_whom=draw(st.sampled_from(["partyA", "partyB", "neutral"]) | _WORDS),
        law_reference=draw(st.none() | _WORDS),
        suggestion=draw(_WORDS),
        negotiability=draw(_WORDS),
        confidence=draw(st.floats()),
    )


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_is_answered_only_what_is_sound_is_let_through(data: st.DataObject) -> None:
    window = data.draw(st.sampled_from(WINDOWS))
    given_findings = data.draw(st.lists(findings(window.item.text), max_size=12))
    verdict = data.draw(st.sampled_from(["risks", "no-issue", "unclear"]) | _WORDS)
    answer = ClauseAnswer(verdict=verdict, findings=given_findings)
    reading = screened(answer, window, grounds(window, FRAME), FRAME, "main/large")
    assert len(reading.findings) <= FINDINGS_MOST
    for finding in reading.findings:
        assert DRAFTED[0].text[finding.start : finding.end] == finding.quote != ""
        assert window.item.start <= finding.start < finding.end <= window.item.end
        assert finding.category in NAMES
        assert finding.law_reference is None or finding.law_reference in ARTICLES
        assert 0 <= finding.confidence <= 1
        for text in (finding.risk, finding.suggestion):
            assert text == visible(text).strip()
            assert not {"<", ">"} & set(text)
            assert "民法典" not in text
            assert "evil" not in text
    refused = reading.refused
    left_out = refused.unproved + refused.unknown + refused.surplus
    assert len(reading.findings) + left_out <= len(given_findings)
    if reading.failure is None and not reading.findings:
        assert (verdict, given_findings) == ("no-issue", [])
    assert reading.failure is None or reading.failure in OF_THE_CLAUSE


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text(max_size=200), min_size=1, max_size=5),
    st.text(alphabet="0123456789abcdef \nBEGINDT", max_size=120),
)
def test_whatever_a_text_holds_it_stays_between_its_lines(texts: list[str], other: str) -> None:
    sections = [("CLAUSE", text) for text in (*texts, other)]
    block, code = fenced(sections, "a task")
    lines = block.split("\n")
    assert (lines[0], lines[-1]) == (f"{code} BEGIN DATA", f"{code} END DATA")
    ours = [line for line in lines if code in line]
    assert set(ours) <= {lines[0], lines[-1], f"{code} CLAUSE"}
    assert len(ours) == 2 + sum(bool(visible(text).strip()) for _, text in sections)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_what_is_asked_outside_of_the_fence_does_not_depend_on_the_contract_s_words(
    text: str,
) -> None:
    window = WINDOWS[5].model_copy(update={"rules": (), "definitions": (text,)})
    plain = asked(WINDOWS[5].model_copy(update={"rules": ()}), FRAME, "x")
    question = asked(window, FRAME, "x")

    def outside(user: str, code: str) -> tuple[str, str]:
        before, _, rest = user.replace(code, "CODE").partition("CODE BEGIN DATA")
        return before, rest.rpartition("CODE END DATA")[2]

    users = [outside(one.messages[1]["content"], one.code) for one in (plain, question)]
    assert users[0] == users[1]
    assert plain.messages[0] == question.messages[0]
