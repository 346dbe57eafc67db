"""Lists on terminals of any width: an id, a status and a type are never cut."""

import io

import pytest
from rich.console import Console

from stagepost.cli.dead_letters import _COLUMNS as DEAD
from stagepost.cli.rows import Rows
from stagepost.cli.tasks import _COLUMNS as TASKS

ID = "01a229e3-a5c1-7679-b17e-ffdaddce83d7"
MESSAGE = "The service did not answer within its time, and so did its stand-in; it is tried again."
TASK = (ID, "contract-review", "DEAD_LETTER", 100, "interactive", "4/4", "11m", MESSAGE)
LETTER = (ID, "contract-review", "INVALID_INPUT", 4, "11m", "after a change", MESSAGE)


def printed(rows: Rows, width: int) -> list[str]:
    out = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    out.print(rows)
    assert isinstance(out.file, io.StringIO)
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("columns", "row", "whole"),
    [
        (TASKS, TASK, (ID, "DEAD_LETTER", "100", "11m", "contract-review")),
        (DEAD, LETTER, (ID, "INVALID_INPUT", "11m", "contract-review")),
    ],
)
def test_eighty_columns_hold_a_row_on_a_line_and_its_message_below(
    columns: object, row: tuple[object, ...], whole: tuple[str, ...]
) -> None:
    lines = printed(Rows.of(columns, [row]), 80)  # type: ignore[arg-type]
    assert lines[0].split()[0] == "ID"
    assert "…" not in "".join(lines)
    assert lines[1].split() == list(whole)
    below = lines[2:]
    assert all(line.startswith("  ") for line in below)
    assert " ".join(line.strip() for line in below).endswith(MESSAGE)
    assert len(below) <= 3


def test_a_long_type_goes_on_in_the_next_line() -> None:
    name = "a" * 63
    lines = printed(Rows.of(TASKS, [(ID, name, "COMPLETED", 100, "batch", "1/4", "3s", None)]), 80)
    assert "".join("".join(lines[1:]).split()).replace(f"{ID}COMPLETED1003s", "") == name


def test_a_wide_terminal_has_a_table() -> None:
    lines = printed(Rows.of(TASKS, [TASK]), 200)
    assert lines[0].split()[:5] == ["ID", "TYPE", "STATUS", "%", "LANE"]
    assert len(lines) == 2
