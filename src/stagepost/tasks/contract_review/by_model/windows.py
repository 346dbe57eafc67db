"""The pieces of the contract that a model is asked about, one call each.

Most clauses are one piece. A long one is cut where it can be cut with the least harm, and the
pieces together are the clause, character by character: nothing is left out, nothing read twice.
"""

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from stagepost import InvalidInput
from stagepost.tasks.contract_review.by_model.glossary import Glossary
from stagepost.tasks.contract_review.clause_item import TEXT_MOST, ClauseItem, unreadable
from stagepost.tasks.contract_review.report import Finding
from stagepost.tasks.contract_review.terms import has_terms
from stagepost.tasks.contract_review.view import sentences, view

WINDOW = 6_000  # characters of a clause that one call reads
LEAST = 400  # a window that is too long for a model is halved down to this
WINDOWS_MOST = 10_000

_CUTS = ("\n\n", "\n", "。", ". ", "；", "; ", "，", ", ", " ")


class Window(BaseModel):
    """A piece of a clause, with what else the contract says that bears on it.

    `item` is the whole clause but for its text, which is the piece's own, from `item.start` on.
    `rules` are the rules that found something here, in the order of the playbook.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    item: ClauseItem
    label: str
    part: int
    parts: int
    definitions: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    def halves(self) -> tuple["Window", ...]:
        """The window in two, or as it is where it is too short for that."""
        text = self.item.text
        if len(text) < 2 * LEAST:
            return (self,)
        start = self.item.start
        return tuple(
            self.model_copy(update={"item": _piece(self.item, text[begin:end], start + begin)})
            for begin, end in pieces(text, (len(text) + 1) * 2 // 3)
        )


def windows(
    items: tuple[ClauseItem, ...], found: list[list[Finding]], glossary: Glossary
) -> tuple[Window, ...]:
    """What a model is to be asked: every readable clause that holds more than a heading.

    `found` are the rules' findings of each clause. Raises InvalidInput for too many windows.
    """
    made = [
        window
        for item, findings in zip(items, found, strict=True)
        if asks_for(item)
        for window in _of(item, findings, glossary)
    ]
    if len(made) > WINDOWS_MOST:
        raise InvalidInput(
            f"The contract has {len(made)} clauses and pieces of clauses; a model reviews at most"
            f' {WINDOWS_MOST}. Send its parts one by one, or "reviewer": "rules".'
        )
    return tuple(made)


def asks_for(item: ClauseItem) -> bool:
    """Whether a clause holds anything to judge. What can't be read is listed as not analysed."""
    if unreadable(item) is not None and len(item.text) <= TEXT_MOST:
        return False
    if item.kind != "heading":
        return True
    shown = view(item.text)
    return any(has_terms(shown, span, item.title) for span in sentences(shown))


def pieces(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Ranges that make up the text, none longer than `most`, cut at the best place near its end."""
    start = 0
    while len(text) - start > most:
        end = _cut(text, start + most // 2, start + most)
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def _cut(text: str, low: int, high: int) -> int:
    """Behind the last paragraph, line, sentence or word that ends in a range, else at its end."""
    for mark in _CUTS:
        at = text.rfind(mark, low, high)
        if at >= 0:
            return at + len(mark)
    return high


def _of(item: ClauseItem, findings: list[Finding], glossary: Glossary) -> Iterator[Window]:
    text = item.text[:TEXT_MOST]
    ranges = [span for span in pieces(text, WINDOW) if text[slice(*span)].strip()]
    for number, (begin, end) in enumerate(ranges, start=1):
        low, high = item.start + begin, item.start + end
        yield Window(
            item=_piece(item, text[begin:end], low),
            label=item.label,
            part=number,
            parts=len(ranges),
            definitions=glossary.used_in(text[begin:end], (item.start, item.end)),
            rules=tuple(one.rule_id for one in findings if low <= one.start < high),
        )


def _piece(item: ClauseItem, text: str, start: int) -> ClauseItem:
    return item.model_copy(update={"text": text, "start": start})
