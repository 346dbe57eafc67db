"""Where a document is cut, and what begins at each cut."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from stagepost.tasks.documents.clauses.contents import contents_lines
from stagepost.tasks.documents.clauses.lines import Line
from stagepost.tasks.documents.clauses.markers import Marker, markers_in
from stagepost.tasks.documents.clauses.outline import outline_of
from stagepost.tasks.documents.clauses.paragraphs import paragraphs_in
from stagepost.tasks.documents.clauses.parts import Annex, annexes_in
from stagepost.tasks.documents.clauses.regions import signatures_in, tables_in
from stagepost.tasks.documents.clauses.runs import runs_of
from stagepost.tasks.documents.clauses.titles import is_heading_line
from stagepost.tasks.documents.document import ClauseKind

CONTENTS = "Contents"  # the title of contents pages, which other tables do not have
FEWEST_NUMBERED = 3  # with fewer a text counts as unnumbered and is cut by its paragraphs
_LONG = 4_000  # characters; a longer stretch without numbers is cut by its paragraphs too
_LONG_PREAMBLE = 6_000
_SHORT = 200  # characters; shorter paragraphs of an unnumbered text are cut together
_LONG_ROW = 150  # characters on average: a table of such rows is text in columns
_AGREED = re.compile(
    r"(?:as\s+follows|agree(?:d)?(?:\s+that)?|如下|条款)\s*[:：;；。.]?\s*$", re.IGNORECASE
)
_RESUME, _NEW, _TABLE = range(3)  # in the order in which they take effect at one place
_EARLY = 0.4  # the share of a text within which its recitals end


@dataclass(frozen=True, slots=True)
class Cut:
    """What begins at `start`, in `line`; the text behind its number begins at `content`."""

    start: int
    line: int
    kind: ClauseKind
    number: str = ""
    path: tuple[str, ...] = ()
    content: int = 0
    title: str = ""


def cuts_of(text: str, lines: Sequence[Line]) -> list[Cut]:
    """Every cut in order; the first one is at the first visible character."""
    contents = contents_lines(text, lines)
    tables = [span for span in tables_in(text, lines) if _is_table(lines, span, contents)]
    skipped = contents.union(*(range(*span) for span in tables))
    markers = [
        marker
        for index, line in enumerate(lines)
        if index not in skipped and not line.running
        for marker in markers_in(text, line, index)
    ]
    first = min((run.members[0].line for run in runs_of(markers)), default=len(lines))
    annexes = annexes_in(text, lines, contents=contents, first=first)
    spans = [
        *(_Rows(*span, title="") for span in tables),
        *(_Rows(*span, title=CONTENTS) for span in _stretches(contents)),
    ]
    parts = [Annex("", 0), *annexes, Annex("", len(lines))]
    return [
        cut
        for part, following in pairwise(parts)
        for cut in _Part(text, lines, part, following.line).cuts(markers, spans)
    ]


def _is_table(lines: Sequence[Line], span: tuple[int, int], contents: frozenset[int]) -> bool:
    if span[0] in contents:
        return False
    rows = lines[span[0] : span[1]]
    return sum(row.end - row.start for row in rows) <= _LONG_ROW * len(rows)


def _stretches(indices: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring numbers as half-open ranges."""
    start = last = None
    for index in sorted(indices):
        if start is None or last is None or index > last + 1:
            if start is not None and last is not None:
                yield start, last + 1
            start = index
        last = index
    if start is not None and last is not None:
        yield start, last + 1


@dataclass(frozen=True, slots=True)
class _Rows:
    """Lines of a table or of contents pages, half open."""

    first: int
    end: int
    title: str


class _Part:
    """The contract itself, or one of its annexes: lines `first` to `end`."""

    def __init__(self, text: str, lines: Sequence[Line], annex: Annex, end: int) -> None:
        self._text = text
        self._lines = lines
        self._label = annex.label
        self._first = annex.line
        self._end = end

    def cuts(self, markers: list[Marker], tables: list[_Rows]) -> Iterator[Cut]:
        """The part's cuts in order, tables and paragraphs among them."""
        numbered = self._numbered(markers)
        opening = self._opening()
        events = sorted([*numbered, *self._signatures(numbered)], key=lambda cut: cut.start)
        coarse = list(self._with_tables(opening, events, tables))
        few = len(numbered) < FEWEST_NUMBERED
        ends = [*(cut.line for cut in coarse[1:]), self._end]
        for cut, end in zip(coarse, ends, strict=True):
            yield from self._finer(cut, end, few=few)

    def _opening(self) -> Cut:
        line = self._lines[self._first]
        if self._label:
            return Cut(line.start, self._first, "annex", self._label, (self._label,), line.start)
        return Cut(line.start, self._first, "preamble", content=line.start)

    def _numbered(self, markers: list[Marker]) -> list[Cut]:
        heading = self._first if self._label else self._first - 1
        own = (marker for marker in markers if heading < marker.line < self._end)
        base = (self._label,) if self._label else ()
        return [
            Cut(
                self._start(numbered.marker),
                numbered.marker.line,
                "clause",
                numbered.marker.number,
                (*base, *numbered.path),
                numbered.marker.end,
            )
            for numbered in outline_of(runs_of(own))
        ]

    def _start(self, marker: Marker) -> int:
        return marker.start if marker.inline else self._lines[marker.line].start

    def _signatures(self, numbered: list[Cut]) -> Iterator[Cut]:
        """Signature blocks come behind the first clause, or late in a text that has none.

        What follows a block belongs to no clause before it.
        """
        first = numbered[0].line if numbered else (self._first + self._end) // 2
        path = (self._label,) if self._label else ()
        for start, end in signatures_in(self._text, self._lines, first=first):
            if start < self._end:
                yield replace(self._unnumbered(start, "signature"), path=path)
            if start < self._end and end < self._end:
                yield replace(self._unnumbered(end, "paragraph"), path=path)

    def _with_tables(self, opening: Cut, events: list[Cut], tables: list[_Rows]) -> Iterator[Cut]:
        """The cuts with those of tables between them; behind a table its clause goes on."""
        marks = [(cut.start, _NEW, cut) for cut in events]
        for rows in tables:
            if self._first <= rows.first < self._end:
                table = replace(self._unnumbered(rows.first, "table"), title=rows.title)
                marks.append((table.start, _TABLE, table))
                if rows.end < self._end:
                    behind = self._unnumbered(rows.end, "paragraph")
                    marks.append((behind.start, _RESUME, behind))
        current = opening
        yield opening
        for _, what, cut in sorted(marks, key=lambda mark: mark[:2]):
            if what == _NEW:
                current = cut
                yield cut
            elif current.kind != "signature":
                kind = cut.kind if what == _TABLE else _resumed(current.kind)
                yield replace(cut, kind=kind, path=current.path)

    def _unnumbered(self, line: int, kind: ClauseKind) -> Cut:
        start = self._lines[line].start
        return Cut(start, line, kind, content=start)

    def _finer(self, cut: Cut, end: int, *, few: bool) -> Iterator[Cut]:
        """The cut itself and, if what it begins is long or has no numbers, its paragraphs."""
        size = self._lines[end - 1].end - cut.start
        if cut.kind in {"signature", "table"}:
            yield cut
        elif few and cut.kind != "clause":
            yield from self._unnumbered_text(cut, end)
        elif size > (_LONG_PREAMBLE if cut.kind == "preamble" else _LONG):
            kind = cut.kind if cut.kind == "preamble" else "paragraph"
            yield from self._opened_by(cut, cut.line, end, kind, least=_LONG // 3)
        else:
            yield cut

    def _unnumbered_text(self, cut: Cut, end: int) -> Iterator[Cut]:
        """A stretch of a text without numbers: what opens it, then paragraphs and headings."""
        first = self._behind_opening(cut, end)
        if first > cut.line:
            yield cut
        yield from self._paragraphs(first, end, cut.path, "paragraph", least=_SHORT)

    def _behind_opening(self, cut: Cut, end: int) -> int:
        """The line behind the recitals, or behind an annex's label and title."""
        if cut.kind == "preamble":
            agreed = self._agreed(cut.line, end)
            return cut.line if agreed is None else agreed + 1
        if not cut.number:
            return cut.line
        title = cut.line + 1
        return title + (title < end and is_heading_line(self._text, self._lines[title]))

    def _opened_by(
        self, cut: Cut, first: int, end: int, kind: ClauseKind, *, least: int
    ) -> Iterator[Cut]:
        yield cut
        rest = self._paragraphs(first, end, cut.path, kind, least=least)
        yield from (later for later in rest if later.start > cut.start)

    def _paragraphs(
        self, first: int, end: int, path: tuple[str, ...], kind: ClauseKind, *, least: int
    ) -> Iterator[Cut]:
        for found in paragraphs_in(self._text, self._lines, first, end, least=least):
            cut = self._unnumbered(found.line, "heading" if found.heading else kind)
            yield replace(cut, path=path, title=found.title)

    def _agreed(self, first: int, end: int) -> int | None:
        """The line with which the recitals end ("... agree as follows:"), if it comes early."""
        early = self._lines[first].start + _EARLY * (
            self._lines[end - 1].end - self._lines[first].start
        )
        for index in range(first, end):
            line = self._lines[index]
            if line.end > early:
                return None
            if _AGREED.search(self._text, max(line.start, line.end - 40), line.end):
                return index
        return None


def _resumed(kind: ClauseKind) -> ClauseKind:
    """What goes on behind a table."""
    return kind if kind in {"preamble", "annex"} else "paragraph"
