"""The sample contract of the demo: the same bytes each time, and all that was planted is found."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from stagepost.tasks.contract_review import ReviewReport
from support.scripts import script_module
from tasks.contract_review.drafting import draft, review


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_module("sample_contract")


@pytest.fixture(scope="module")
def pages(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("sample") / "sample.pdf"
    script.write_sample(path)
    document = importlib.import_module("pypdfium2").PdfDocument(path)
    try:
        return [page.get_textpage().get_text_range() for page in document]
    finally:
        document.close()


@pytest.fixture(scope="module")
def report(pages: list[str]) -> ReviewReport:
    return review(draft("\n".join(pages).replace("\r\n", "\n")), side="partyB")


def test_two_calls_write_the_same_bytes(script: ModuleType, tmp_path: Path) -> None:
    script.write_sample(tmp_path / "a.pdf")
    script.write_sample(tmp_path / "b.pdf")
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()


def test_it_is_a_few_pages_long(pages: list[str]) -> None:
    assert 3 <= len(pages) <= 5


def test_the_planted_risks_are_found(report: ReviewReport) -> None:
    assert {finding.rule_id for finding in report.findings} >= {
        "liability-unlimited", "indemnity-regardless", "termination-convenience-one-sided",
        "termination-short-notice", "unilateral-change", "subcontracting-free", "price-change",
        "acceptance-silence", "late-interest-high", "forfeiture", "auto-renewal",
        "data-licence-broad", "warranty-disclaimer", "consequential-one-sided",
        "liability-cap-low", "audit-unlimited", "assignment-free", "arbitration-no-seat",
    }  # fmt: skip
    assert sum(finding.severity == "HIGH" for finding in report.findings) <= 3


def test_the_planted_mistakes_are_found(report: ReviewReport) -> None:
    assert {check.kind for check in report.checks} == {
        "amount-words", "dangling-reference", "missing-annex",
    }  # fmt: skip
    assert report.risk_level == "HIGH"
    assert [party.alias for party in report.parties] == ["Supplier", "Customer"]
    assert {finding.law_reference for finding in report.findings} == {None}
