"""A contract's text as it is shown: wrapped lines joined, page numbers and running lines left out.

Only what is shown changes; every offset into the document stays what it is.
"""

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from stagepost.tasks.documents.document import Document, Page

_NEW_ITEM = re.compile(
    r"[ \t　]{0,40}(?:[(（]\w{1,4}[)）]|\d{1,3}[.)、]|\d{1,2}\.\d|[a-z][.)] "
    r"|(?:the )?[\"“][^\"”\n]{2,60}+[\"”],? (?:or|and|means?|shall|has|are|is)\b"
    r"|[一二三四五六七八九十]{1,3}、|第\w{1,6}条|[•●·])"
)
_FOLIO = re.compile(
    r"(?>(?:page |p\. ?|第 ?)?)[-–—\[]{0,2}+ ?+(?:\d{1,4}+|[ivxl]{1,6}+) ?+[-–—\]]{0,2}+"
    r"(?>(?: ?(?:of|/|页，?共) ?\d{1,4}+)?)(?>(?: ?页)?)",
    re.IGNORECASE,
)
_LONE_NUMBER = re.compile(r"[-–— ]{0,4}(\d{1,4})[-–— ]{0,4}")
_PAGE_LEAST = 600  # characters between two page numbers
_DIGITS = re.compile(r"\d{1,9}")
_EDGE = 2  # lines at the top and at the foot of a page that may be no part of the text
_RUNNING_LEAST = 3  # pages that share a line from which it is a running line
_RUNNING_SHARE = 0.4  # of all pages
_RUNNING_MOST = 120  # characters of a running line
_FULL = 0.75  # share of the widest usual line from which a line counts as wrapped
_OPEN_ENDS = (",", " and", " or", " of", " to", " the", " by", " in", " a", " any", "，", "、")
_STOPS = ":：;；。"


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int  # without the line's newline
    words: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A text with the ranges of it that are shown as something else, in order."""

    text: str
    starts: tuple[int, ...]
    changes: tuple[tuple[int, int, str], ...]

    def shown(self, start: int, end: int) -> str:
        """What is shown of a range of the text."""
        pieces, at = [], start
        for place in range(max(0, bisect_left(self.starts, start) - 1), len(self.starts)):
            begin, stop, instead = self.changes[place]
            if begin >= end:
                break
            if stop > at:
                pieces += [self.text[at:begin], instead if begin >= start else ""]
                at = stop
        return "".join((*pieces, self.text[at:end] if at < end else ""))


def layout(document: Document) -> Layout:
    """How a document's text is to be shown."""
    lines = list(_lines(document.text, 0, len(document.text)))
    dropped = _furniture(document) | _folios(lines)
    read = [line for line in lines if line.start not in dropped]
    wide = _usual_width(read)
    changes = [
        (one.start, min(one.end + 1, len(document.text)), "")
        for one in lines
        if one.start in dropped
    ]
    changes += [
        (one.end, one.end + 1, " ") for one, after in pairwise(read) if _joins(one, after, wide)
    ]
    changes.sort()
    return Layout(document.text, tuple(start for start, _, _ in changes), tuple(changes))


def _lines(text: str, start: int, end: int) -> list[_Line]:
    lines, at = [], start
    for line in text[start:end].split("\n"):
        lines.append(_Line(at, at + len(line), " ".join(line.split())))
        at += len(line) + 1
    return lines


def _furniture(document: Document) -> set[int]:
    """Where the lines begin that belong to the pages and not to the contract."""
    edges = [_edge(document.text, page) for page in document.pages] if document.pages[1:] else []
    on = Counter(key for page in edges for key in {_key(line) for line in page})
    least = max(_RUNNING_LEAST, len(edges) * _RUNNING_SHARE)
    return {
        line.start
        for page in edges
        for line in page
        if _FOLIO.fullmatch(line.words)
        or (on[_key(line)] >= least and len(line.words) <= _RUNNING_MOST)
    }


def _folios(lines: list[_Line]) -> set[int]:
    """Where page numbers stand that another layout left within the text: they rise by one."""
    rising: dict[int, list[_Line]] = {}
    chains: list[list[_Line]] = []
    for line in lines:
        found = _LONE_NUMBER.fullmatch(line.words)
        if not found:
            continue
        number = int(found[1])
        chain = rising.pop(number - 1, [])
        if not chain or line.start - chain[-1].start < _PAGE_LEAST:
            chain = []
            chains.append(chain)
        chain.append(line)
        rising[number] = chain
    return {line.start for chain in chains if len(chain) >= _RUNNING_LEAST for line in chain}


def _edge(text: str, page: Page) -> list[_Line]:
    written = [line for line in _lines(text, page.start, page.end) if line.words]
    return written if len(written) <= 2 * _EDGE else [*written[:_EDGE], *written[-_EDGE:]]


def _key(line: _Line) -> str:
    return _DIGITS.sub("0", line.words.lower())


def _usual_width(lines: list[_Line]) -> int:
    """The length that wrapped lines of the text have; large when lines are whole paragraphs."""
    lengths = sorted(line.end - line.start for line in lines if line.words)
    return lengths[len(lengths) * 9 // 10] if lengths else 0


def _joins(line: _Line, after: _Line, wide: int) -> bool:
    """Whether the break between two lines stands inside a sentence."""
    if not line.words or not after.words or _NEW_ITEM.match(after.words):
        return False
    if line.words[-1] in _STOPS:
        return False
    if after.words[0].islower() or line.words.endswith(_OPEN_ENDS):
        return True
    return line.end - line.start >= wide * _FULL
