"""Paragraphs and unnumbered headings, for text that has no numbers to go by."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stagepost.tasks.documents.clauses.lines import Line
from stagepost.tasks.documents.clauses.titles import clean, is_heading_line

_WIDE = re.compile(r"[\u2e80-\u9fff]")  # a Chinese character says as much as three letters
_LONG = 2_000  # characters; behind so many, any line that can begin a paragraph does


@dataclass(frozen=True, slots=True)
class Paragraph:
    """What begins with `line`: a heading, or text under the heading `title` (maybe empty)."""

    line: int
    title: str
    heading: bool = False


def paragraphs_in(
    text: str, lines: Sequence[Line], first: int, end: int, *, least: int
) -> Iterator[Paragraph]:
    """The paragraphs of lines `first` to `end`; those under `least` characters stay together."""
    title = ""
    size = least
    after_heading = False
    for index in range(first, end):
        line = lines[index]
        if index == first or line.opens or (line.fresh and size > _LONG):
            if is_heading_line(text, line):
                title = clean(text[line.start : line.end])
                if not after_heading:
                    yield Paragraph(index, title, heading=True)
                after_heading, size = True, least
                continue
            if size >= least or after_heading:
                yield Paragraph(index, title)
                size = 0
            after_heading = False
        size += line.end - line.start + 2 * len(_WIDE.findall(text, line.start, line.end))
