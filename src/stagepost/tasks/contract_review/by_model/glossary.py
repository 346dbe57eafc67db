"""What the contract's own terms mean, for the clauses that use them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stagepost.tasks.contract_review.clause_label import shortened
from stagepost.tasks.documents import Clause, Document, definitions

USED_MOST = 6  # definitions given with one window
TERMS_MOST = 500
TEXT_MOST = 300  # characters of one definition

_ENDS = ("\n", "。", ". ", "；", ";")


@dataclass(frozen=True, slots=True)
class Glossary:
    """The terms that the contract defines: where each definition begins, and its words."""

    terms: Mapping[str, tuple[int, str]]

    def used_in(self, text: str, clause: tuple[int, int]) -> tuple[str, ...]:
        """The definitions of the terms that a text uses, but for those that its clause holds."""
        start, end = clause
        used = [
            (text.index(term), words)
            for term, (at, words) in self.terms.items()
            if not start <= at < end and term in text
        ]
        return tuple(words for _, words in sorted(used)[:USED_MOST])


def glossary(document: Document, clauses: Sequence[Clause]) -> Glossary:
    """The first definition of each of at most 500 terms. Pure; linear in the text."""
    terms: dict[str, tuple[int, str]] = {}
    for one in definitions(document, clauses):
        if len(terms) == TERMS_MOST:
            break
        if len(one.term) > 1 and one.term not in terms:
            terms[one.term] = one.start, _sentence(document.text, one.start, one.end)
    return Glossary(terms)


def _sentence(text: str, start: int, end: int) -> str:
    """The line or sentence that defines a term, from shortly before it."""
    begin = max(text.rfind(mark, max(0, start - TEXT_MOST), start) + len(mark) for mark in _ENDS)
    begin = begin if start - begin < TEXT_MOST // 2 else start
    stops = [at + 1 for mark in _ENDS if (at := text.find(mark, end, end + TEXT_MOST)) >= 0]
    return shortened(text[begin : min(stops, default=end + TEXT_MOST)], TEXT_MOST)
