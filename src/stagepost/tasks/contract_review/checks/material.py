"""What the mechanical checks read, and how they state what they found."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter, itemgetter

from stagepost.tasks.contract_review.clause_label import clause_label, clause_name
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.contract_review.report import Check, CheckKind, Severity
from stagepost.tasks.contract_review.view import View, sentences, view
from stagepost.tasks.contract_review.wording import Wording
from stagepost.tasks.documents.document import Clause, Document

QUOTE_MOST = 300  # characters of a check's quote
BESIDE = 100  # characters beside the place, where its sentence is longer


@dataclass(frozen=True, slots=True)
class Material:
    """A document with one view of its whole text, its clauses, and the frame of the review."""

    document: Document
    clauses: tuple[Clause, ...]
    knowledge: Knowledge
    shown: View
    sentences: tuple[tuple[int, int], ...]

    def sentence_at(self, position: int) -> tuple[int, int]:
        """The sentence of the view that holds a position of it."""
        at = bisect_right(self.sentences, position, key=itemgetter(0)) - 1
        if at >= 0 and position < self.sentences[at][1]:
            return self.sentences[at]
        return position, min(position + 1, len(self.shown.cased))

    def _located(self, offset: int, message: str) -> str:
        """What was found, after the name of the clause where it was found."""
        language = self.knowledge.language
        where = clause_name(self.label_at(offset), language)
        if not where:
            return message
        return (
            f"{where}：{message}"
            if language == "zh"
            else f"{where[0].upper()}{where[1:]}: {message}"
        )

    def label_at(self, offset: int) -> str:
        """The name of the clause that holds an offset of the document; "" between clauses."""
        at = bisect_right(self.clauses, offset, key=attrgetter("start")) - 1
        return self.label(self.clauses[at]) if at >= 0 and offset < self.clauses[at].end else ""

    def label(self, clause: Clause) -> str:
        """The name of a clause."""
        words = self.document.text[clause.start : min(clause.end, clause.start + QUOTE_MOST)]
        return clause_label(clause.path, clause.title, words)

    def check(
        self, kind: CheckKind, place: tuple[int, int], message: Wording, severity: Severity
    ) -> Check:
        """A check on a range of the view, quoted with a little of its sentence."""
        start, end = self.shown.span(*self._quoted(*place))
        return self.stated(kind, (start, end), message, severity)

    def stated(
        self, kind: CheckKind, span: tuple[int, int], message: Wording, severity: Severity
    ) -> Check:
        """A check on a range of the document."""
        start, end = span
        return Check(
            kind=kind,
            quote=self.document.text[start:end],
            start=start,
            end=end,
            message=self._located(start, message(self.knowledge.language)),
            severity=severity,
        )

    def _quoted(self, start: int, end: int) -> tuple[int, int]:
        begin, stop = self.sentence_at(start)
        stop = max(stop, end)
        if stop - begin <= QUOTE_MOST:
            return begin, stop
        spaces = self.shown.cased
        begin = max(begin, spaces.rfind(" ", begin, max(begin, start - BESIDE)) + 1)
        after = spaces.find(" ", min(stop, end + BESIDE), stop)
        return begin, after if after > end else min(stop, end + BESIDE)

    def read(self) -> Iterator[tuple[tuple[int, int], str]]:
        """Every sentence with its lower-case words."""
        for span in self.sentences:
            yield span, self.shown.lower[slice(*span)]


def material(document: Document, clauses: tuple[Clause, ...], knowledge: Knowledge) -> Material:
    """Read a document once for all checks."""
    shown = view(document.text)
    return Material(document, clauses, knowledge, shown, tuple(sentences(shown)))


def whole_words(text: str, span: tuple[int, int], inner: tuple[int, int]) -> tuple[int, int]:
    """A range of a text drawn in to whole words and no white space, but never into `inner`."""
    start, end = span
    if start and text[start - 1].isalnum() and text[start].isascii():
        start = text.find(" ", start, inner[0]) + 1 or inner[0]
    if end < len(text) and text[end - 1].isalnum() and text[end].isascii() and text[end].isalnum():
        end = max(text.rfind(" ", inner[1], end), inner[1])
    while start < inner[0] and text[start].isspace():
        start += 1
    while end > inner[1] and text[end - 1].isspace():
        end -= 1
    return start, end
