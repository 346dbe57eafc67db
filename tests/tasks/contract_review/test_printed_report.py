"""What the demo prints of a report: nothing that made the level is left out."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stagepost.tasks.contract_review import ReviewReport
from support.scripts import script_module
from tasks.contract_review.drafting import contract, draft, review


@pytest.fixture(scope="module")
def lines() -> Callable[[ReviewReport], list[str]]:
    printed: Callable[[Any], Iterator[str]] = script_module("printed_report").report_lines
    return lambda report: list(printed(report.model_dump(mode="json", by_alias=True)))


def test_missing_clauses_failed_checks_and_warnings_are_printed(
    lines: Callable[[ReviewReport], list[str]],
) -> None:
    text = (
        "SERVICES AGREEMENT\n1. The party works as agreed. See Schedule 2.\n"
        + "2. It works.\n" * 150
    )
    report = review(draft(text))
    printed = lines(report)
    assert printed[0] == (
        f"offline rules, no language model: overall risk MEDIUM, 0 findings,"
        f" {len(report.missing_clauses)} missing clauses, 1 failed check"
    )
    words = " ".join(" ".join(printed).split())
    assert report.missing_clauses[0].why in words
    assert report.checks[0].message in words
    assert "Warning: The parties could not be made out" in words
    assert "because the lists come to" in words
    assert f"missing clauses ({len(report.missing_clauses)})" in words


def test_findings_come_gravest_first_and_name_their_clause(
    lines: Callable[[ReviewReport], list[str]],
) -> None:
    text = (
        'AGREEMENT between Ash Ltd (the "Supplier") and Elm Ltd (the "Customer").\n'
        "Section 7 The Customer may terminate this Agreement at any time for convenience upon three"
        " (3) days' notice.\n"
    )
    printed = lines(review(draft(text)))
    assert "findings (" in " ".join(printed)
    assert "clause Section" not in " ".join(printed)
    severities = [line.split()[0] for line in printed if line.startswith(("  HIGH", "  MEDIUM"))]
    assert severities == sorted(severities, key=("HIGH", "MEDIUM").index)


def test_chinese_lines_fit_the_terminal(lines: Callable[[ReviewReport], list[str]]) -> None:
    printed = lines(review(contract("software")))
    wide = max(sum(1 + (ord(letter) > 0x2E80) for letter in line) for line in printed)
    assert wide <= 100
    assert any("第七条" in line or "7.1" in line for line in printed)
