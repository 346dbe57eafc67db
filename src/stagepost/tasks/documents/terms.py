"""Defined terms: where a contract says what a word means in it."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from stagepost.tasks.documents.document import Clause, Document

MOST_DEFINITIONS = 20_000


class Definition(BaseModel):
    """One defined term: `document.text[start:end]` is the term as it stands there, without quotes.

    `term` is the same on one line; `clause` is the index of the clause that holds it.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    term: str
    start: int
    end: int
    clause: int


_QUOTED = re.compile(
    r"\"(?P<a>[^\"“”\n]{1,80})\"|“(?P<b>[^“”\"]{1,80})”|「(?P<c>[^「」\n]{1,40})」"
    r"|『(?P<d>[^『』\n]{1,40})』|‘(?P<e>[^‘’\n]{2,60})’"
)
_OTHER = r"(?:\s{0,3}(?:,|or|and|/|或|、|和)?\s{0,3}(?:\"[^\"\n]{1,80}\"|“[^“”]{1,80}”)){0,3}"
_MEANS = re.compile(
    rf"{_OTHER}\s{{0,3}}(?:\([^()]{{0,80}}\)\s{{0,3}})?,?\s{{0,3}}"
    r"(?:(?:of|for|with\s+respect\s+to)\s[^\"“”.;()]{0,60}?\s)?"
    r"(?:(?:shall|will)\s+)?(?:(?:collectively|also|each)\s+)?"
    r"(?:means?\b|(?:have|has)\s+the\s+(?:respective\s+)?meanings?|refers?\s+to\b"
    r"|(?:is|are|be)\s+(?:hereby\s+)?defined\b)",
    re.IGNORECASE,
)
_HAN_MEANS = re.compile(rf"{_OTHER}\s{{0,3}}(?:，|,)?(?:均)?(?:是指|系指|意指|意为|即指|指|的含义)")
# What stands between an opening bracket and the term: "(hereinafter collectively the".
_LEADS = re.compile(r"\((?:[^()]{0,150}?[,;\"”]\s*)?(?:[A-Za-z’',/-]{1,20}\s{1,3}){0,14}$")
_CLOSES = re.compile(r"[^()]{0,120}\)")
_HAN_SHORT = re.compile(
    r"(?:以下|下)?[简合统]?称(?:为|作)?\s{0,2}[:：]?\s{0,2}"
    r"(?:[\"“「『‘](?P<quoted>[^\"”」』’\n]{1,30})[\"”」』’]|(?P<plain>[\u4e00-\u9fffA-Za-z0-9]{1,12})(?=[)）]))"
)
_HAN_LISTED = re.compile(
    r"^[ \t\u3000]*(?:[（(]?[\d.一二三四五六七八九十]{1,8}[)）、.]?\s{0,3})?"
    r"(?P<term>[\u4e00-\u9fff]{2,12})\s{0,2}[:：]\s{0,2}(?:是|系)?指",
    re.MULTILINE,
)
_LOOK_BACK = 200


def definitions(document: Document, clauses: Sequence[Clause]) -> tuple[Definition, ...]:
    """Every place that defines a term, in order; a term defined twice is there twice.

    Found are quoted terms that "mean" something (also 是指, 系指), quoted terms in brackets behind
    what they stand for (also 以下简称), and Chinese lists of terms ("净利润：指"). Pure; linear; at
    most 20,000.
    """
    text = document.text
    starts = [clause.start for clause in clauses]
    found = chain(_meant(text), _bracketed(text), _short_names(text), _listed(text))
    spans = set(islice(found, MOST_DEFINITIONS))
    return tuple(
        Definition(
            term=" ".join(text[start:end].split()),
            start=start,
            end=end,
            clause=max(0, bisect_right(starts, start) - 1),
        )
        for start, end in sorted(spans)
        if clauses
    )


def _span(match: re.Match[str]) -> tuple[int, int]:
    """The range of a match's one filled group, without blanks and a final comma or stop."""
    start, end = match.span(match.lastgroup or 0)
    content = match.string[start:end]
    start += len(content) - len(content.lstrip())
    return start, start + len(content.strip().rstrip(",.;，。；"))


def _meant(text: str) -> Iterator[tuple[int, int]]:
    for quoted in _QUOTED.finditer(text):
        if _MEANS.match(text, quoted.end()) or _HAN_MEANS.match(text, quoted.end()):
            yield from _proper(_span(quoted))


def _bracketed(text: str) -> Iterator[tuple[int, int]]:
    for quoted in _QUOTED.finditer(text):
        start, end = _span(quoted)
        bracket = text.rfind("(", max(0, quoted.start() - _LOOK_BACK), quoted.start())
        if bracket < 0 or not _is_name(text[start:end]):
            continue
        if _LEADS.fullmatch(text, bracket, quoted.start()) and _CLOSES.match(text, quoted.end()):
            yield from _proper((start, end))


def _is_name(term: str) -> bool:
    return not term[:1].islower()


def _short_names(text: str) -> Iterator[tuple[int, int]]:
    return (span for match in _HAN_SHORT.finditer(text) for span in _proper(_span(match)))


def _listed(text: str) -> Iterator[tuple[int, int]]:
    return (match.span("term") for match in _HAN_LISTED.finditer(text))


def _proper(span: tuple[int, int]) -> Iterator[tuple[int, int]]:
    if span[0] < span[1]:
        yield span
