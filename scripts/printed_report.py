"""What the terminal shows of a review: the level and all that made it, the gravest first."""

import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stagepost.cli.output import cleaned
from stagepost.tasks.contract_review.category_words import word
from stagepost.tasks.contract_review.clause_label import clause_name, shortened
from stagepost.tasks.contract_review.wording import counted

TOP = 5  # entries of each list
WIDEST = 100  # columns
QUOTE_MOST = 160  # characters
_INDENT = 9  # columns before an entry's text: two, the severity, a space
_Entry = Mapping[str, Any]
_SEVERITIES = ("HIGH", "MEDIUM", "LOW")


def report_lines(report: _Entry) -> Iterator[str]:
    """The lines to print: warnings, the level with its reason, findings, failed checks, missing."""
    findings = _gravest(report["findings"])
    checks, missing = _gravest(report["checks"]), _gravest(report["missingClauses"])
    counts = ", ".join(
        (
            counted(len(findings), "finding"),
            counted(len(missing), "missing clause"),
            counted(len(checks), "failed check"),
        )
    )
    yield f"{report['engine']}: overall risk {report['riskLevel']}, {counts}"
    yield from _wrapped(report, report["summary"], 2)
    for warning in report["warnings"]:
        if warning not in report["summary"]:
            yield from _wrapped(report, f"Warning: {warning}", 2)
    yield from _section(report, "findings", findings, _finding)
    yield from _section(report, "missing clauses", missing, _missing)
    yield from _section(report, "failed checks", checks, _check)


def _gravest(entries: Sequence[_Entry]) -> list[_Entry]:
    return sorted(entries, key=lambda entry: _SEVERITIES.index(entry["severity"]))


def _section(
    report: _Entry,
    title: str,
    entries: list[_Entry],
    told: Callable[[_Entry, _Entry], tuple[str, str]],
) -> Iterator[str]:
    if not entries:
        return
    yield f"\n{title} ({len(entries)})"
    for entry in entries[:TOP]:
        head, quote = told(report, entry)
        lines = _wrapped(report, head, _INDENT)
        yield f"  {entry['severity']:<6} {next(lines).strip()}"
        yield from lines
        if quote:
            yield from _wrapped(report, f"“{shortened(cleaned(quote), QUOTE_MOST)}”", _INDENT)
    if len(entries) > TOP:
        yield f"  ... and {len(entries) - TOP} more in the report"


def _finding(report: _Entry, finding: _Entry) -> tuple[str, str]:
    where = clause_name(finding["clause"], report["language"])
    page = f" (p. {finding['page']})" if report["pages"] > 1 else ""
    return f"{where[:1].upper()}{where[1:]}{page}: {finding['risk']}", finding["quote"]


def _missing(report: _Entry, missing: _Entry) -> tuple[str, str]:
    return f"{word(missing['category'], report['language'])}: {missing['why']}", ""


def _check(_report: _Entry, check: _Entry) -> tuple[str, str]:
    return check["message"], check["quote"]


def _wrapped(report: _Entry, text: str, indent: int) -> Iterator[str]:
    """Lines of a text, each indented; a Chinese character fills two columns."""
    columns = min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns) - indent
    width = max(20, columns // 2 if report["language"] == "zh" else columns)
    for line in textwrap.wrap(cleaned(text), width):
        yield f"{' ' * indent}{line}"
