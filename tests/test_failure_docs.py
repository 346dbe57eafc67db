"""docs/failures.md says what the code's table says."""

from pathlib import Path

from stagepost.failure import REACTIONS, FailureKind

PAGE = (Path(__file__).parent.parent / "docs" / "failures.md").read_text()


def test_the_page_has_the_codes_table() -> None:
    rows = [f"| {kind} | {row.then} | {row.redrive} |" for kind, row in REACTIONS.items()]
    assert "\n".join(rows) in PAGE


def test_the_page_tells_when_each_kind_is_seen() -> None:
    _, _, seen = PAGE.partition("| kind | seen when |")
    kinds = [line.split("|")[1].strip() for line in seen.splitlines() if line.startswith("| ")]
    assert kinds == [kind.value for kind in FailureKind]
