"""What must be reached, and the page that the measured tables are written into."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import page
from bench.__main__ import BENCHMARKS
from bench.report import markdown, targets_table
from bench.result import Result, Table, Target, above, at_least, at_most, below
from bench.runner import ROOT


def test_a_bound_belongs_to_what_is_reached_or_not() -> None:
    assert at_least("rate", 4.0, 4.0).met
    assert not at_least("rate", 3.99, 4.0).met
    assert at_most("p99", 50.0, 50.0, " ms").met
    assert not at_most("p99", 50.1, 50.0, " ms").met
    assert not below("lost", 10.0, 10.0, " %").met
    assert below("lost", -3.0, 10.0, " %").met
    assert not above("ratio", 1.0, 1.0).met


def test_what_was_missed_stands_out_and_a_quick_run_judges_nothing() -> None:
    targets = [at_least("rate", 25_000.0, 30_000.0, "/s", aim="60,000"), at_most("p50", 1.25, 10.0)]
    judged = targets_table(targets, judged=True)
    assert judged.rows == [
        ("rate", ">= 30,000/s (aim 60,000)", "25,000/s", "MISSED"),
        ("p50", "<= 10", "1.25", "ok"),
    ]
    assert {row[3] for row in targets_table(targets, judged=False).rows} == {"not judged"}


def _result(name: str, cell: str) -> Result:
    table = Table("a title", ("program", "/s"), [["some", cell]])
    return Result(name, [table], [Target("rate", ">= 1", cell, met=True)], {}, load=(0.5, 1.0))


_FACTS = {"cores": 2, "processor": "P", "kernel": "K", "python": "3", "fdatasyncMs": 0.2}


def test_the_tables_stand_between_their_markers_and_nothing_else_changes(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    place = "<!-- measured: {0} -->\n{1}\n<!-- end: {0} -->\n"
    path.write_text("before\n" + place.format("a", "old") + place.format("b", "other") + "after\n")
    page.write(path, _FACTS, [_result("a", r"1,000 \1")])
    text = path.read_text()
    assert markdown(Table("", ("program", "/s"), [["some", r"1,000 \1"]])) in text
    assert "load 0.5 before and 1.0 after" in text
    assert "old" not in text
    assert place.format("b", "other") + "after\n" in text
    page.write(path, _FACTS, [_result("a", r"1,000 \1")])
    assert path.read_text() == text


def test_a_page_without_a_place_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("nothing")
    with pytest.raises(ValueError, match="measured: a"):
        page.write(path, _FACTS, [_result("a", "1")])


def test_the_page_has_a_place_for_every_benchmark() -> None:
    text = (ROOT / page.PAGE).read_text(encoding="utf-8")
    for name in BENCHMARKS:
        assert page.filled(text, name, "x") != text


def test_the_readme_has_the_tables_that_are_shown_there_too(tmp_path: Path) -> None:
    path = tmp_path / "readme.md"
    path.write_text("before\n<!-- measured: a -->\nold\n<!-- end: a -->\nafter\n")
    shown = replace(_result("a", "2,000"), shown=Table("", ("short", "/s"), [["one", "2,000"]]))
    page.write_shown(path, [shown, _result("b", "not shown")])
    text = path.read_text()
    assert markdown(Table("", ("short", "/s"), [["one", "2,000"]])) in text
    assert "old" not in text
    assert "not shown" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
