"""The report as one HTML page: the contract's text with the findings beside it.

Self-contained (no script, no outside resource), printable, and everything that comes from the
document is escaped.
"""

import re
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from stagepost.tasks.contract_review.category_words import word
from stagepost.tasks.contract_review.labels import (
    CHECK,
    LEVEL,
    PAGE,
    SIDE,
    TERM,
    TYPE,
)
from stagepost.tasks.contract_review.report import (
    Check,
    Finding,
    ReviewedClause,
    ReviewReport,
    Severity,
    rank,
)
from stagepost.tasks.documents.document import Document

_TEMPLATE = "report.html.j2"
_NEW_ITEM = re.compile(
    r"[ \t　]{0,40}(?:[(（]\w{1,4}[)）]|\d{1,3}[.)、]|[a-z]\)|[一二三四五六七八九十]{1,3}、"
    r"|第\w{1,6}条|[•●·])"
)
_HEADING_MOST = 60  # characters of a clause that is but a heading
_FULL = 0.75  # share of the widest usual line from which a line counts as wrapped


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that is marked the same way throughout.

    `level` is the gravest severity that marks it, None for plain text; `anchors` are the ids of the
    findings that begin here.
    """

    text: str
    level: Severity | None
    anchors: tuple[str, ...]


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
        counts=[
            (severity, sum(one.severity == severity for one in report.findings))
            for severity in ("HIGH", "MEDIUM", "LOW")
        ],
    )


def rows(report: ReviewReport, document: Document) -> list[Row]:
    """The clauses in order; a finding stands in the clause where its quote begins."""
    wide = _usual_width(document.text)
    made = []
    for clause in report.clauses:
        findings = tuple(
            sorted(
                (one for one in report.findings if clause.start <= one.start < clause.end),
                key=lambda one: one.start,
            )
        )
        checks = tuple(one for one in report.checks if clause.start <= one.start < clause.end)
        pieces = _pieces(document.text, clause, (*findings, *checks), wide)
        heading = _is_heading(clause, document.text)
        made.append(Row(clause, heading, pieces, findings, checks))
    return made


def _is_heading(clause: ReviewedClause, text: str) -> bool:
    words = text[clause.start : clause.end].strip()
    short = len(words) <= _HEADING_MOST and "\n" not in words and words[-1:] not in ".;。；,，"
    return clause.kind == "heading" or (clause.kind == "clause" and short)


def _pieces(
    text: str, clause: ReviewedClause, marks: tuple[Finding | Check, ...], wide: int
) -> tuple[Piece, ...]:
    edges = {clause.start, clause.end}
    for mark in marks:
        edges |= {mark.start, min(mark.end, clause.end)}
    ordered = sorted(edges)
    pieces = []
    for start, end in pairwise(ordered):
        over = [mark for mark in marks if mark.start <= start < mark.end]
        level = min((mark.severity for mark in over), key=rank, default=None)
        anchors = tuple(
            mark.id for mark in marks if isinstance(mark, Finding) and mark.start == start
        )
        pieces.append(Piece(_unwrapped(text, start, end, wide), level, anchors))
    return tuple(pieces)


def _usual_width(text: str) -> int:
    """The length that wrapped lines of the text have; large when lines are whole paragraphs."""
    lengths = sorted(len(line) for line in text.splitlines() if line.strip())
    return lengths[len(lengths) * 9 // 10] if lengths else 0


def _unwrapped(text: str, start: int, end: int, wide: int) -> str:
    """A stretch of the text, with the breaks inside wrapped paragraphs shown as spaces."""
    shown = []
    for place in range(start, end):
        character = text[place]
        shown.append(" " if character == "\n" and _is_wrap(text, place, wide) else character)
    return "".join(shown)


def _is_wrap(text: str, place: int, wide: int) -> bool:
    line = text[text.rfind("\n", 0, place) + 1 : place].rstrip()
    after = text[place + 1 : place + 12]
    if not line or not after.strip() or after[0] == "\n" or _NEW_ITEM.match(after):
        return False
    return len(line) >= wide * _FULL and line[-1] not in ":：;；。"
