"""docs/model-failures.md says what the code does."""

from pathlib import Path

import pytest

from stagepost.failure import FailureKind
from stagepost.llm import breaker
from stagepost.llm.course import MOST_SENT, PATIENCE
from stagepost.llm.refusal import RULES
from stagepost.llm.structured import MOST_REPAIRS

PAGE = (Path(__file__).parents[2] / "docs" / "model-failures.md").read_text()
ROWS = {
    cells[0]: cells
    for line in PAGE.splitlines()
    if line.startswith("| ") and (cells := [cell.strip() for cell in line.strip("|").split("|")])
}


@pytest.mark.parametrize("kind", sorted(PATIENCE))
def test_a_row_has_the_figures_of_its_kind(kind: FailureKind) -> None:
    row, patience = ROWS[kind], PATIENCE[kind]
    assert row[2].startswith(f"{patience.first:g} to {patience.most:g} s")
    assert row[3] == str(patience.tries)


def test_every_kind_that_a_rule_gives_has_a_row() -> None:
    assert {rule.kind for rule in RULES} <= set(ROWS)


def test_the_bounds_are_told() -> None:
    assert f"sent {MOST_SENT} times" in " ".join(PAGE.split())
    assert ROWS["BAD_OUTPUT"][3] == str(1 + MOST_REPAIRS)
    assert f"after {breaker.IN_A_ROW} failures in a row" in " ".join(PAGE.split())
    assert f"for {breaker.FIRST:g} s" in PAGE
    assert f"{breaker.MOST / 60:g} minutes" in PAGE
