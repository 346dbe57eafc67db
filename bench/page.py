"""The measured tables of docs/performance.md: each benchmark's stand between its two markers.

Some have one in the README as well.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.report import markdown, targets_table
from bench.result import Result, Table

PAGE = "docs/performance.md"
README = "README.md"


def write(path: Path, facts: Mapping[str, object], results: Sequence[Result]) -> None:
    """Replace the tables of the benchmarks that were run; the others stay as they are.

    Raises ValueError when the page has no place for one.
    """
    text = path.read_text(encoding="utf-8")
    for result in results:
        text = filled(text, result.name, _section(facts, result))
    path.write_text(text, encoding="utf-8")


def write_shown(path: Path, results: Sequence[Result]) -> None:
    """Replace the tables that the README has of the benchmarks that were run.

    Raises ValueError when it has no place for one.
    """
    text = path.read_text(encoding="utf-8")
    for result in results:
        if result.shown is not None:
            text = filled(text, result.name, markdown(result.shown))
    path.write_text(text, encoding="utf-8")


def filled(text: str, name: str, content: str) -> str:
    """The page with this between the markers of that name."""
    begin, end = f"<!-- measured: {name} -->", f"<!-- end: {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"the page must have {begin} and {end} once")
    return pattern.sub(lambda _: f"{begin}\n{content}\n{end}", text)


def _section(facts: Mapping[str, object], result: Result) -> str:
    targets = targets_table(result.targets, judged=True)
    parts = [_titled(table) for table in (*result.tables, targets)]
    return "\n\n".join([*parts, _machine(facts, result)])


def _titled(table: Table) -> str:
    return f"*{table.title}*\n\n{markdown(table)}"


def _machine(facts: Mapping[str, object], result: Result) -> str:
    before, after = result.load
    return (
        f"{facts['cores']} cores ({facts['processor']}), kernel {facts['kernel']}, Python "
        f"{facts['python']}, fdatasync {facts['fdatasyncMs']} ms, load {before} before and {after} "
        "after."
    )
