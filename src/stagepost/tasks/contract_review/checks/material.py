"""What the mechanical checks read, and how they state what they found."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

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
            message=message(self.knowledge.language),
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
