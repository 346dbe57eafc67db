"""The non-blank lines of a text, and which of them begin a paragraph."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from stagepost.tasks.documents.document import Document

_LINE = re.compile(r"[^\n\r\f\v\u2028\u2029\x85]+")
_ENDS = frozenset(".;:!?。；：！？…”\"’'）)】]》>*_|-–—")
_LISTED = re.compile(r"(?:,|，|、|\b(?:and|or)|和|或|及|以及)$")
_NUMBERED = re.compile(
    r"(?i:article|section|clause|chapter|part|schedule|exhibit|annex|appendix)\b|第|附件|[（(]?\d"
)
_LAST_NUMBER = re.compile(r"\d{1,3}\W*$")
_DIGITS = re.compile(r"\d+")
_WIDE = re.compile(r"[\u2e80-\u9fff\uff00-\uff60]")
_EDGE_LINES = 5  # lines at the top and at the foot of a page that may be running ones
_LONGEST_RUNNING = 160
_FEWEST_RUNNING = 3
_SHORTEST_RUNNING = 20
_PAGE_NUMBER = re.compile(
    r"(?:page\s+)?-?\s*(?:\d{1,3}|[ivxl]{1,6})\s*-?(?:\s+of\s+\d{1,3})?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Line:
    """A non-blank line without the blanks around it.

    `fresh` says that a clause can begin here: after a blank line, or where the line before ends a
    sentence, an item or its own row early; `opens` says that a paragraph does begin here.
    `running` marks headers and footers of pages.
    """

    start: int
    end: int
    indent: int
    fresh: bool
    opens: bool
    running: bool


def lines_of(document: Document) -> tuple[Line, ...]:
    """The lines of a document in order; linear in its text."""
    text = document.text
    spans = [_trimmed(text, match.start(), match.end()) for match in _LINE.finditer(text)]
    found = [span for span in spans if span[1] < span[2]]
    wrapped, width = _wrapping(text, found)
    running = _running(document, [(start, end) for _, start, end in found])
    items: list[Line] = []
    before: Line | None = None  # the last line that is no running one
    for at, start, end in found:
        indent = start - at
        if (start, end) in running:
            items.append(Line(start, end, indent, fresh=False, opens=False, running=True))
            continue
        fresh = opens = True
        if before is not None:
            gap = _is_gap(text, items[-1].end, at)
            short = _columns(text, before.start, before.end) < 0.7 * width
            fresh, opens = _beginnings(
                ended=_ends(text, before) or not (wrapped or gap),
                gap=gap,
                short=short or not wrapped,
                indented=indent >= before.indent + 2,
                lower=text[start].islower(),
            )
        before = Line(start, end, indent, fresh, opens, running=False)
        items.append(before)
    return tuple(items)


def _beginnings(
    *, ended: bool, gap: bool, short: bool, indented: bool, lower: bool
) -> tuple[bool, bool]:
    """Whether a clause can begin with a line, and whether a paragraph does.

    `ended`, `short`: how the line before ends; `gap`: a blank line between; `indented`, `lower`:
    how the line begins.
    """
    if gap:
        return True, ended or not lower
    return short or ended or indented, ended and (short or indented)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int, int]:
    """Where the line begins, and where its first and after its last visible character are."""
    content = text[start:end]
    return start, start + len(content) - len(content.lstrip()), start + len(content.rstrip())


def _is_gap(text: str, end: int, start: int) -> bool:
    """Whether a blank line lies between two lines."""
    between = text[end:start].replace("\r\n", "\n")
    return sum(char in "\n\r\f\u2028\u2029" for char in between) > 1


def _columns(text: str, start: int, end: int) -> int:
    """The width of a line in half-width columns."""
    return end - start + len(_WIDE.findall(text, start, end))


def _wrapping(text: str, found: list[tuple[int, int, int]]) -> tuple[bool, int]:
    """Whether most long lines are about equally long, and how long.

    Text that was broken to a width has very many lines close to that width and none far beyond;
    unbroken paragraphs are of any length.
    """
    sizes = sorted(end - at + len(_WIDE.findall(text, start, end)) for at, start, end in found)
    if not sizes:
        return False, 0
    width = sizes[int(len(sizes) * 0.95)]
    near = sum(0.75 * width <= size <= width for size in sizes)
    return width <= 220 and near * 5 >= len(sizes), width


def _ends(text: str, line: Line) -> bool:
    """Whether a line ends a sentence or an item of a list."""
    tail = text[max(line.start, line.end - 12) : line.end]
    return tail[-1] in _ENDS or _LISTED.search(tail) is not None


def _running(document: Document, spans: list[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """Headers, footers and page numbers.

    With pages: lines at their edges that recur, numbers aside, on at least three and a third of
    them. Without: sentences of a line that recur word for word at least three times.
    """
    if len(document.pages) >= _FEWEST_RUNNING:
        edges = list(_page_edges(document, spans))
        enough = max(_FEWEST_RUNNING, len(document.pages) // 3)
    else:
        edges = spans
        enough = _FEWEST_RUNNING
    paged = edges is not spans
    short = [span for span in edges if span[1] - span[0] <= _LONGEST_RUNNING]
    shapes = Counter(_shape(document.text, span, paged=paged) for span in short)
    return frozenset(
        span
        for span in short
        if shapes[_shape(document.text, span, paged=paged)] >= enough
        and (
            paged or span[1] - span[0] >= _SHORTEST_RUNNING or _is_page_number(document.text, span)
        )
    )


def _page_edges(document: Document, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The first and the last lines of every page."""
    at = 0
    for page in document.pages:
        own: list[tuple[int, int]] = []
        while at < len(spans) and spans[at][0] < page.end:
            own.append(spans[at])
            at += 1
        yield from {*own[:_EDGE_LINES], *own[-_EDGE_LINES:]}


def _is_page_number(text: str, span: tuple[int, int]) -> bool:
    return _PAGE_NUMBER.fullmatch(text, *span) is not None


def _shape(text: str, span: tuple[int, int], *, paged: bool) -> str:
    """What makes two lines the same: not their numbers at the edges of pages, nor at their end.

    The numbers of what may be a clause or an annex do count: "ARTICLE 2" is no other "ARTICLE 1".
    """
    content = text[span[0] : span[1]]
    if _NUMBERED.match(content) and not _PAGE_NUMBER.fullmatch(content):
        return content
    return _DIGITS.sub("0", content) if paged else _LAST_NUMBER.sub("0", content)
