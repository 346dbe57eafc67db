"""A document cut into clauses: every visible character in exactly one of them, in order."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from stagepost.tasks.documents.clauses.cuts import Cut, cuts_of
from stagepost.tasks.documents.clauses.lines import Line, lines_of
from stagepost.tasks.documents.clauses.titles import is_title, title_in
from stagepost.tasks.documents.document import Clause, Document

MOST_CLAUSES = 20_000


def split_clauses(document: Document) -> tuple[Clause, ...]:
    """The clauses in order; they do not overlap and together hold all that is not blank.

    Numbered clauses have their printed number, their path and a level; a clause ends where the next
    one of any level begins, so 7 holds only what stands before 7.1. Rows of cells are of kind
    `table`, and so are contents pages, with the title "Contents"; an annex's heading and unnumbered
    text are of kind `annex`. What a contract without numbers says comes as `paragraph`s under the
    title of their heading. Pure; linear in the text; at most 20,000 clauses, by leaving the deepest
    levels whole.
    """
    lines = lines_of(document)
    if not lines:
        return ()
    cuts = _bounded(cuts_of(document.text, lines))
    return tuple(_clauses(document, lines, cuts))


def _bounded(cuts: list[Cut]) -> list[Cut]:
    """At most so many cuts: the deepest go first, then the last."""
    depth = max(len(cut.path) for cut in cuts)
    while len(cuts) > MOST_CLAUSES and depth > 1:
        cuts = [cut for cut in cuts if len(cut.path) < depth]
        depth -= 1
    return cuts[:MOST_CLAUSES]


def _clauses(document: Document, lines: Sequence[Line], cuts: list[Cut]) -> Iterator[Clause]:
    text = document.text
    pages = [page.end for page in document.pages]
    over = Cut(len(text), len(lines), "paragraph")
    for cut, following in pairwise([*cuts, over]):
        end = cut.start + len(text[cut.start : following.start].rstrip())
        if end == cut.start:
            continue
        title, whole = (cut.title, False) if not cut.number else _title(text, lines, cut, end)
        holds = len(following.path) > len(cut.path) and following.path[: len(cut.path)] == cut.path
        yield Clause(
            number=cut.number,
            path=cut.path,
            level=max(1, len(cut.path)),
            title=title,
            kind="heading" if cut.kind == "clause" and whole and holds else cut.kind,
            page=min(bisect_right(pages, cut.start) + 1, len(pages)),
            start=cut.start,
            end=end,
        )


def _title(text: str, lines: Sequence[Line], cut: Cut, end: int) -> tuple[str, bool]:
    """The clause's heading, and whether it is all that the clause holds."""
    line_end = min(lines[cut.line].end, end)
    content = cut.content if cut.kind == "clause" else cut.start + len(cut.number)
    if not text[content:line_end].strip(" .:：-–—*_#"):
        following = lines[cut.line + 1] if cut.line + 1 < len(lines) else None
        if (
            following is None
            or following.end > end
            or not is_title(text[following.start : following.end])
        ):
            return "", False
        content, line_end = following.start, following.end
    title, fills = title_in(text, content, line_end)
    return title, fills and line_end == end
