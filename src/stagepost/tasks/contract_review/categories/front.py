"""What the front of a contract states: its name, its parties, its date (CUAD's own names)."""

import re
from collections.abc import Iterator

from stagepost.tasks.contract_review.report import CategorySpan, KeyTerm, Party
from stagepost.tasks.contract_review.view import view
from stagepost.tasks.documents.document import Document

TITLE_WITHIN = 2_500  # characters in which the title stands
_TITLES = (
    re.compile(
        r"^[ \t　#*]{0,120}+(?P<title>[^\n]{0,90}(?:agreement|contract|lease|合同|协议书?)"
        r"[^\n.。;；:]{0,60})[ \t　]{0,120}$",
        re.IGNORECASE | re.MULTILINE,
    ),
    re.compile(r"(?P<title>[A-Z][A-Z&,®/() -]{2,90}(?:AGREEMENT|CONTRACT))\b"),
    re.compile(r"\bThis (?P<title>(?:[A-Z][\w®-]{1,24} ){1,7}(?:Agreement|Contract))\b"),
)


def front(
    document: Document, parties: tuple[Party, ...], key_terms: tuple[KeyTerm, ...]
) -> Iterator[CategorySpan]:
    """The spans of the contract's name, its parties and its date, as far as they are stated."""
    opening, shown = document.text[:TITLE_WITHIN], view(document.text)
    title = next((found for one in _TITLES if (found := one.search(opening))), None)
    if title:
        start, end = title.span("title")
        yield CategorySpan(category="Document Name", start=start, end=end)
    for name in dict.fromkeys(name for party in parties for name in (party.name, party.alias)):
        at = shown.cased.find(name) if name else -1  # the view joins a name that lines divide
        if at >= 0:
            start, end = shown.span(at, at + len(name))
            yield CategorySpan(category="Parties", start=start, end=end)
    for term in key_terms:
        if term.name == "agreementDate":
            yield CategorySpan(category="Agreement Date", start=term.start, end=term.end)
