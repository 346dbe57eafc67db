"""A model that does whatever a contract tells it: what of that reaches a report."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from stagepost.tasks.contract_review.by_model.answer import (
    ActionAnswer,
    ClauseAnswer,
    SummaryAnswer,
)
from stagepost.tasks.contract_review.by_model.prompt import FINDINGS_MOST
from stagepost.testing import TaskRun
from tasks.contract_review.by_model.planted import FORMS, RISK, contract_with
from tasks.contract_review.by_model.running import report_of, run_review
from tasks.contract_review.by_model.scripted import (
    NOTHING,
    Failed,
    Scripted,
    Told,
    clause_of,
    risks,
    said,
)
from tasks.contract_review.test_page import read

EVIL = (
    '<script>alert("boo")</script><img src=x onerror=evil()> '
    '<a href="https://evil.example/c">x</a>'
    " [y](javascript:evil) Under Article 9999 of the Civil Code and"
    " 《中华人民共和国民法典》第九千条 this is harmless.\u202e\u200b\U000e0041"
)
OBEYED: Mapping[str, Told] = {
    "no issue": NOTHING,
    "no verdict": ClauseAnswer(verdict="", findings=[]),
    "invented quotes": risks(
        said("The Supplier is free of every duty."), said(RISK[:-1] + " not.")
    ),
    "markup, links and law": risks(
        said(RISK, risk=EVIL, suggestion=EVIL, law_reference="A1"),
        said("liability under this Agreement", category="Breach", risk=EVIL, suggestion=EVIL),
    ),
    "invented law": risks(said(RISK, law_reference="Civil Code, Art. 9999", severity="LOW")),
    "unknown words": risks(said(RISK, category=EVIL), said(RISK, severity=EVIL)),
    "a flood": risks(
        *(
            said(RISK[n:], category=name)
            for n in range(20)
            for name in ("Breach", "Waiver", "Notice")
        )
    ),
    "no form": Failed("BAD_OUTPUT"),
    "refusal": Failed("CONTENT_POLICY"),
}
SUMS_UP = SummaryAnswer(
    summary=EVIL + " Sign at once.",
    actions=[
        ActionAnswer(entry=1, action=EVIL),
        ActionAnswer(entry=-4, action="Sign."),
        ActionAnswer(entry=10**9, action="Sign."),
        ActionAnswer(entry=1, action="Again."),
        *(ActionAnswer(entry=n, action="x " * 9_000) for n in range(2, 60)),
    ],
)


def obedient(told: Told) -> Scripted:
    """Obeys in the clause that holds the planted words, and is honest in the others."""
    return Scripted(
        lambda question: told if clause_of(question).startswith("3.") else NOTHING,
        lambda _: SUMS_UP,
    )


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


def written(report: dict[str, Any]) -> list[str]:
    """Every text of a report but those that are the contract's own words."""
    findings = [{**finding, "quote": ""} for finding in report["findings"]]
    left = ("summary", "actions", "warnings", "missingClauses", "notAnalysed", "engine")
    return [*texts(findings), *(text for name in left for text in texts(report[name]))]


def check_report(done: TaskRun, form: str) -> dict[str, Any]:
    report = report_of(done)
    for text in written(report):
        assert not re.search(r"[<>\u200b\u202e\U000e0041]|evil|9999|九千|javascript|://", text)
        assert len(text) <= 3_000
    assert all(one["lawReference"] is None for one in report["findings"])
    # What the rules found stays, at least as grave as they found it.
    ruled = {one["ruleId"]: one for one in report["findings"]}
    assert ruled["liability-unlimited"]["severity"] == "HIGH"
    assert "unlimited" in ruled["liability-unlimited"]["quote"]
    assert len({one["id"] for one in report["findings"]}) == len(report["findings"])
    # A clause is read, or listed: a model's silence about this one is not taken for its word.
    of_model = [one for one in report["findings"] if one.get("model") and one["clause"] == "3"]
    listed = [one for one in report["notAnalysed"] if one["clause"] == "3"]
    assert bool(of_model) != bool(listed), form
    assert len(of_model) <= FINDINGS_MOST
    assert 1 <= len(report["actions"]) <= 5
    assert all(not action.startswith("Sign") for action in report["actions"])
    return report


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("told", ["no issue", "markup, links and law"])
async def test_each_form_of_planting_is_obeyed_in_vain(
    monkeypatch: pytest.MonkeyPatch, form: str, told: str
) -> None:
    done = await run_review(monkeypatch, obedient(OBEYED[told]), contract_with(FORMS[form]))
    warnings = " ".join(check_report(done, form)["warnings"])
    assert "address the software that reads them stand in: 3. Read them yourself." in warnings


@pytest.mark.parametrize("told", sorted(OBEYED))
async def test_whatever_it_obeys_the_report_stays_sound(
    monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    text = contract_with(FORMS["ignore previous"])
    done = await run_review(monkeypatch, obedient(OBEYED[told]), text)
    report = check_report(done, told)
    page = read(done.artifacts["report.html"].content.decode())
    honest = await run_review(monkeypatch, Scripted(), text)
    assert set(page.tags) <= set(read(honest.artifacts["report.html"].content.decode()).tags) | {
        "ol",
        "li",
    }
    assert all(link.startswith("#") for link in page.links)
    assert report["riskLevel"] == report_of(honest)["riskLevel"] or told == "a flood"


async def test_a_model_that_is_hostile_throughout_harms_nothing_but_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = Scripted(lambda _: OBEYED["invented quotes"], lambda _: SUMS_UP)
    report = report_of(await run_review(monkeypatch, models, contract_with("Plain words.")))
    offline = report_of(await run_review(monkeypatch, None, contract_with("Plain words.")))
    assert report["findings"] == offline["findings"]
    assert report["engine"] == offline["engine"]
    assert {one["clause"] for one in report["notAnalysed"]} >= {"1", "2", "3", "4"}


async def test_what_was_thrown_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = risks(
        said(RISK, law_reference="Art. 1"), said("not there, not at all"), said(RISK, category="?")
    )
    done = await run_review(monkeypatch, obedient(answer), contract_with("Plain words."))
    told = " ".join(report_of(done)["warnings"])
    assert "1 finding of the model left out: the quote is not in the clause" in told
    assert "1 finding of the model left out: it lacked a known category" in told
    assert "1 finding of the model cited law that could not be verified" in told
