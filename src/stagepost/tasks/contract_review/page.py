"""The report as one HTML page: the contract's text with the findings beside it.

Self-contained (no script, no outside resource), printable, and everything that comes from the
document is escaped.
"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from stagepost.tasks.contract_review.category_words import word
from stagepost.tasks.contract_review.clause_label import clause_name
from stagepost.tasks.contract_review.labels import (
    CHECK,
    LEVEL,
    PAGE,
    SIDE,
    TERM,
    TYPE,
)
from stagepost.tasks.contract_review.layout import Layout, layout
from stagepost.tasks.contract_review.report import (
    Check,
    Finding,
    ReviewedClause,
    ReviewReport,
    Severity,
    rank,
)
from stagepost.tasks.contract_review.terms import has_terms
from stagepost.tasks.contract_review.view import sentences, view
from stagepost.tasks.documents.document import Document

_TEMPLATE = "report.html.j2"
_HEADING_MOST = 60  # characters of a clause that is but a heading


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that is marked the same way throughout.

    `level` is the gravest severity that marks it, None for plain text; `anchors` are the ids of the
    findings that begin here; `strong` text is a clause's title.
    """

    text: str
    level: Severity | None
    anchors: tuple[str, ...]
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One clause with what was found in it; a mere heading is set in bold."""

    clause: ReviewedClause
    heading: bool
    pieces: tuple[Piece, ...]
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]


def render_html(report: ReviewReport, document: Document) -> str:
    """The report as an HTML document in the report's language."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    language = report.language
    labels = {key: wording(language) for key, wording in PAGE.items()}
    return environment.get_template(_TEMPLATE).render(
        report=report,
        name=document.name,
        rows=rows(report, document),
        labels=labels,
        level={key: wording(language) for key, wording in LEVEL.items()},
        side={key: wording(language) for key, wording in SIDE.items()},
        kind={key: wording(language) for key, wording in CHECK.items()},
        term={key: wording(language) for key, wording in TERM.items()},
        type=TYPE[report.contract_type](language),
        word=partial(word, language=language),
        clause=partial(clause_name, language=language),
        quote=partial(_quote, document.text),
        counts=[
            (severity, sum(one.severity == severity for one in report.findings))
            for severity in ("HIGH", "MEDIUM", "LOW")
        ],
    )


def rows(report: ReviewReport, document: Document) -> list[Row]:
    """The clauses in order; a finding stands in the clause where its quote begins."""
    arranged = layout(document)
    made = []
    for clause in report.clauses:
        findings = tuple(
            sorted(
                (one for one in report.findings if clause.start <= one.start < clause.end),
                key=lambda one: one.start,
            )
        )
        checks = tuple(one for one in report.checks if clause.start <= one.start < clause.end)
        pieces = _pieces(arranged, clause, (*findings, *checks))
        heading = _is_heading(clause, document.text)
        made.append(Row(clause, heading, pieces, findings, checks))
    return made


def _is_heading(clause: ReviewedClause, text: str) -> bool:
    words = text[clause.start : clause.end].strip()
    short = len(words) <= _HEADING_MOST and "\n" not in words and words[-1:] not in ".;。；,，"
    return clause.kind == "heading" or (clause.kind == "clause" and short and _is_title(words))


def _is_title(words: str) -> bool:
    """Whether words name a subject and oblige nobody; blacked-out words are no title."""
    if "***" in words:
        return False
    shown = view(words)
    return not any(has_terms(shown, span, "") for span in sentences(shown))


def _title_end(clause: ReviewedClause, arranged: Layout) -> int:
    """Where the title ends that fills a clause's first line; the clause's start without one."""
    line, _, rest = arranged.text[clause.start : clause.end].partition("\n")
    end = clause.start + len(line)
    alone = rest.strip() and arranged.shown(end, end + 1) == "\n" and rest.lstrip()[0] != "("
    if alone and clause.title and line.rstrip(" .:：").endswith(clause.title) and _is_title(line):
        return end
    return clause.start


def _pieces(
    arranged: Layout, clause: ReviewedClause, marks: tuple[Finding | Check, ...]
) -> tuple[Piece, ...]:
    title = _title_end(clause, arranged)
    edges = {clause.start, title, clause.end}
    for mark in marks:
        edges |= {mark.start, min(mark.end, clause.end)}
    pieces = []
    for start, end in pairwise(sorted(edges)):
        over = [mark for mark in marks if mark.start <= start < mark.end]
        level = min((mark.severity for mark in over), key=rank, default=None)
        anchors = tuple(
            mark.id for mark in marks if isinstance(mark, Finding) and mark.start == start
        )
        pieces.append(Piece(arranged.shown(start, end), level, anchors, strong=end <= title))
    return tuple(pieces)


def _quote(text: str, check: Check) -> str:
    """A check's quote with "…" where its line goes on before or after it."""
    before = text[text.rfind("\n", 0, check.start) + 1 : check.start].strip()
    after = text[check.end :].split("\n", maxsplit=1)[0].strip() if check.end < len(text) else ""
    words = " ".join(check.quote.split())
    return f"{'… ' if before else ''}{words}{' …' if after.strip('.。') else ''}"
