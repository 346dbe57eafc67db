"""docs/contract-review.md says what the code does."""

import re
from pathlib import Path

import pytest

from stagepost.tasks.contract_review.by_model import trouble
from stagepost.tasks.contract_review.by_model.glossary import USED_MOST
from stagepost.tasks.contract_review.by_model.grounds import ENTRIES_MOST, FOUND_MOST
from stagepost.tasks.contract_review.by_model.prompt import CHARACTERS_MOST, FINDINGS_MOST
from stagepost.tasks.contract_review.by_model.told import engine
from stagepost.tasks.contract_review.by_model.windows import WINDOW
from stagepost.tasks.contract_review.report import ENGINE
from stagepost.tasks.contract_review.task import ReviewRequest

PAGE = " ".join((Path(__file__).parents[4] / "docs" / "contract-review.md").read_text().split())
KINDS = sorted(trouble.OF_THE_CLAUSE | trouble.OF_THE_SERVICE | trouble.STANDING)


def test_every_field_of_the_request_is_there_with_its_default() -> None:
    for name, field in ReviewRequest.model_fields.items():
        shown = field.alias or name
        default = "" if field.is_required() else str(field.default).lower()
        cell = {"none": "detected", "": ""}.get(default, f"`{default}`")
        assert re.search(rf"\| `{shown}` \| ({re.escape(cell)} )?\|", PAGE), shown


@pytest.mark.parametrize("kind", KINDS)
def test_every_reason_is_there_with_what_follows(kind: str) -> None:
    found = re.search(rf"\| {re.escape(trouble.reason(kind).en)} \| ([^|]+) \|", PAGE)
    assert found is not None
    follows = found[1]
    if kind in trouble.OF_THE_CLAUSE:
        assert follows.startswith("once") == (kind in trouble.ASKED_AGAIN)
    else:
        assert follows == "as below"


def test_its_figures_are_the_code_s() -> None:
    for words in (
        f"over {WINDOW:,} characters",
        f"in {CHARACTERS_MOST:,} characters at most",
        f"up to {ENTRIES_MOST} entries",
        f"up to {FOUND_MOST})",
        f"up to {USED_MOST} definitions",
        f'"{ENGINE}"',
        f'"{engine(["NAMES"])}"',
    ):
        assert words in PAGE, words
    assert FINDINGS_MOST == 8
    assert "the ninth and further findings" in PAGE
