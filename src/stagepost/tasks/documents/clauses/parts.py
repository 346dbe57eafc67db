"""Where the contract itself ends and its annexes begin: each numbers its clauses anew."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stagepost.tasks.documents.clauses.lines import Line

_LATIN = re.compile(
    r"(?:#{1,6}\s+)?[“\"(\[*_]{0,3}((?:EXHIBIT|SCHEDULE|ANNEX(?:URE)?|APPENDIX|ATTACHMENT|ADDENDUM|RIDER"
    r"|Exhibit|Schedule|Annex(?:ure)?|Appendix|Attachment|Addendum|Rider)"
    r"(?:\s+(?:No\.\s?)?[“\"]?(?:[A-Z]{1,2}|[IVX]{1,5}|\d{1,2})(?:[-.]?\d{1,2}|-[A-Z])?(?:\([a-z]\))?[”\"]?)?)"
    r"(?![\w(])"
)
_HAN = re.compile(
    r"(?:#{1,6}\s+)?[【（(*]{0,3}(附\s?(?:件|表|录|則|则)\s?[一二三四五六七八九十\d]{0,3}(?:[-－]\d{1,2})?)"
    r"(?=[\s:：、.．】）)*《—-]|$)"
)
_SENTENCE = re.compile(r"[a-z]{2,}\s+[a-z]{2,}\s+[a-z]{2,}")  # three small words: no heading
_LONGEST_HEADING = 100
_LONGEST_HAN_HEADING = 50


@dataclass(frozen=True, slots=True)
class Annex:
    """An annex's heading: what the contract calls it, and where the heading's line is."""

    label: str
    line: int


def annexes_in(
    text: str, lines: Sequence[Line], *, contents: frozenset[int], first: int
) -> list[Annex]:
    """The annexes behind line `first`, the first one of a numbered clause.

    A label that was a heading before it (the number under which a contract was filed) begins no
    annex, nor does one in a list of annexes, nor a page header that repeats the current label.
    """
    headings = [
        heading
        for index, line in enumerate(lines)
        if index not in contents and line.fresh and (heading := _heading(text, line, index))
    ]
    early = {heading.label for heading in headings if heading.line < first}
    found: list[Annex] = []
    for heading in _unlisted(headings, len(lines)):
        repeated = found and found[-1].label == heading.label
        if heading.line > first and heading.label not in early and not repeated:
            found.append(heading)
    return found


def _heading(text: str, line: Line, index: int) -> Annex | None:
    match = _LATIN.match(text, line.start, line.end) or _HAN.match(text, line.start, line.end)
    if match is None:
        return None
    rest = text[match.end() : line.end]
    han = match.re is _HAN
    if han:
        if len(rest) > _LONGEST_HAN_HEADING or rest[-1:] in {"。", "；", ";", "，"}:
            return None
    elif not _is_latin_heading(match[1], rest, opens=line.opens):
        return None
    return Annex(" ".join(match[1].split()), index)


def _is_latin_heading(label: str, rest: str, *, opens: bool) -> bool:
    """Whether a label opens an annex, and not a sentence about one.

    In capitals it does unless a sentence goes on behind it; "Exhibit A" must have a short line
    without a sentence, and a bare "Schedule" a paragraph of its own.
    """
    word, *number = label.split(maxsplit=1)
    words = rest.lstrip(' \t:.-–—"”')
    if not number:
        return opens and not words
    if words[:1].islower() or rest[:1] in {",", ";", ")"}:
        return False
    short = len(rest) <= _LONGEST_HEADING
    if word.isupper():
        capitals = rest[:1] == " " and words[:2].isupper()  # EXHIBIT B SPECIFICATIONS As provided
        return short or capitals or words[:1] in {"(", "["}
    return short and rest[-1:] not in {";", ","} and not _SENTENCE.search(rest)


def _unlisted(headings: list[Annex], end: int) -> Iterator[Annex]:
    """The headings without those on neighbouring lines, which list the annexes."""
    for at, heading in enumerate(headings):
        before = headings[at - 1].line if at else -2
        after = headings[at + 1].line if at + 1 < len(headings) else end + 1
        if heading.line - before > 1 and after - heading.line > 1:
            yield heading
