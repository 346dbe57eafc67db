"""docs/model-failures.md says what the code does: its tables are printed from the code's."""

from pathlib import Path
from types import ModuleType

import pytest

from stagepost.failure import REACTIONS as ATTEMPTS
from stagepost.failure import FailureKind
from stagepost.llm import breaker
from stagepost.llm.reactions import MOST_SENT, REACTIONS
from stagepost.llm.refusal import RULES
from support.scripts import script_module

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "model-failures.md").read_text()
OURS = {
    FailureKind.BUDGET,
    FailureKind.BAD_OUTPUT,
    FailureKind.BUG,
    FailureKind.WORKER_LOST,
    FailureKind.DEADLINE,
    FailureKind.CODE_CHANGED,
    FailureKind.CHILD_FAILED,
    FailureKind.UNKNOWN_OUTCOME,
}
"""What no provider can cause."""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_module("failure_table")


def test_the_page_has_the_codes_tables(script: ModuleType) -> None:
    assert script.written(PAGE) == PAGE, "python scripts/failure_table.py --write"


def test_a_page_that_differs_is_seen_and_mended(script: ModuleType) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| OVERLOADED"))
    worse = PAGE.replace(row, row.replace("| 6 |", "| 7 |"))
    assert worse != PAGE
    assert script.written(worse) == PAGE
    with pytest.raises(ValueError, match="0 places for the table rules"):
        script.written(PAGE.replace("<!-- end of rules -->", ""))


def test_every_kind_has_a_row_of_its_own() -> None:
    assert set(REACTIONS) == set(ATTEMPTS) - OURS
    assert {rule.kind for rule in RULES} == set(REACTIONS)


def test_the_bounds_are_told() -> None:
    page = " ".join(PAGE.split())
    assert f"sent {MOST_SENT} times" in page
    assert f"after {breaker.IN_A_ROW} failures in a row" in page
    assert f"for {breaker.FIRST:g} s" in page
    assert f"{breaker.MOST / 60:g} minutes" in page
