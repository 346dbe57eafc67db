"""What a parsed document is.

`text` is the whole document as one string of Unicode code points; every offset in the product is a
half-open code point range into it, so `document.text[start:end]` is always the quoted words.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

Language = Literal["en", "zh"]
ClauseKind = Literal["preamble", "heading", "clause", "paragraph", "signature", "table", "annex"]


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class Page(_Shape):
    """One page: its number from 1, and its half-open range in `Document.text`."""

    number: int
    start: int
    end: int


class Document(_Shape):
    """A parsed file. Formats without pages (DOCX, TXT, MD) have one page that spans the text."""

    name: str
    media_type: str
    sha256: str
    bytes: int
    text: str
    pages: tuple[Page, ...]
    language: Language
    warnings: tuple[str, ...] = ()

    def page_at(self, offset: int) -> int:
        """The number of the page that holds a code point offset; the last one past the end."""
        for page in self.pages:
            if offset < page.end:
                return page.number
        return self.pages[-1].number


class Clause(_Shape):
    """One clause: a half-open range of `Document.text`; clauses do not overlap and rise.

    `number` is what the contract prints ("7.2", "第七条", "(a)"; empty without a number), `path`
    the numbers from the outermost down ("7", "7.2"), `level` its depth from 1, `title` its heading
    if it has one.
    """

    number: str
    path: tuple[str, ...]
    level: int
    title: str
    kind: ClauseKind
    page: int
    start: int
    end: int
