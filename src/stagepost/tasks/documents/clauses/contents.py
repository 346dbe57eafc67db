"""Tables of contents: they list every clause once more and must not be taken for the clauses."""

import re
from collections.abc import Sequence

from stagepost.tasks.documents.clauses.lines import Line

_HEADING = re.compile(
    r"(?:.{0,60}?\s{2,})?(?:#{1,6}\s*)?\W{0,3}(?:table\s+of\s+contents|contents|目\s{0,4}录|目\s{0,4}次)"
    r"[\s:：*]*(?:\(?(?:continued|cont['’]?d)\.?\)?|page(?:\s+no\.?)?)?[\s:：*]*",
    re.IGNORECASE,
)
# Dots up to a page number. Each alternative begins where its dots do and gives none back.
_LEADERS = re.compile(
    r"(?:(?<!\.)\.{4,}+|(?<!\. )(?>(?:\. ){4,})|(?<!…)…{2,}+|(?<!·)·{4,}+|(?<!_)_{6,}+)"
    r"\s*+\d{1,3}\b"
)
_ENTRY = re.compile(r"(?:\s|[A-Za-z.)”\"\u4e00-\u9fff])-?(?:\d{1,3}|(?<=\s)[ivxl]{1,6})-?$")
_PAGE_MARK = re.compile(
    r"(?:page\s*)?[-–(]?\s*(?:\d{1,3}|[ivxl]{1,6})\s*[-–)]?(?:\s*page)?", re.IGNORECASE
)
_WITHIN = re.compile(r"\s\d{1,3}(?=\s+(?:[A-Z(“\"]|\d{1,2}\.|第)|$)")
_LONGEST_ENTRY = 160
_MOST_LOOKED_AT = 4000
_PROSE = 400  # characters; such a line that is no entry ends the table at once
_MOST_OTHER = 6  # lines in a row that are no entry end the table


def contents_lines(text: str, lines: Sequence[Line]) -> frozenset[int]:
    """The indices of lines that belong to a table of contents."""
    found: set[int] = set()
    at = 0
    while at < len(lines):
        if _is_heading(text, lines, at):
            end = _end_of_table(text, lines, at)
            found.update(range(at, end))
            at = end
        else:
            if _has_leaders(text, lines, at):
                found.add(at)
            at += 1
    return frozenset(found)


def _is_heading(text: str, lines: Sequence[Line], at: int) -> bool:
    line = lines[at]
    match = _HEADING.match(text, line.start, line.end)
    return match is not None and (
        match.end() == line.end or _many_entries(text[match.end() : line.end])
    )


def _many_entries(words: str) -> bool:
    """Whether a whole table stands in one line: a page number every few words."""
    numbers = len(_WITHIN.findall(words[:_MOST_LOOKED_AT]))
    return numbers >= 3 and numbers * _LONGEST_ENTRY >= min(len(words), _MOST_LOOKED_AT)


def _end_of_table(text: str, lines: Sequence[Line], heading: int) -> int:
    """The index after the last entry below a heading; the next one if there is no entry."""
    last = heading
    for at in range(heading + 1, len(lines)):
        if at - last > _MOST_OTHER:
            break
        if _is_entry(text, lines, at) or _is_heading(text, lines, at):
            last = at
        elif lines[at].end - lines[at].start > _PROSE:
            break
    return last + 1


def _is_entry(text: str, lines: Sequence[Line], at: int) -> bool:
    content = text[lines[at].start : lines[at].end]
    if _PAGE_MARK.fullmatch(content) or _LEADERS.search(content):
        return True
    if len(content) <= _LONGEST_ENTRY:
        return _ENTRY.search(content) is not None
    return _many_entries(content)


def _has_leaders(text: str, lines: Sequence[Line], at: int) -> bool:
    """Whether a line is dots up to a page number, wherever it stands."""
    line = lines[at]
    if line.end - line.start > _LONGEST_ENTRY:
        return False
    return any(found.end() == line.end for found in _LEADERS.finditer(text, line.start, line.end))
