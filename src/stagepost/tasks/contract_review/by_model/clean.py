"""Words of a model, made fit for a report: plain text, bounded, without links or law.

A model may repeat what a contract planted. So nothing of what it writes is markup, leads anywhere,
hides anything, or names a statute: law stands in a finding's reference, where it was looked up.
"""

import html
import re
import unicodedata
from typing import NamedTuple

from stagepost.tasks.contract_review.by_model.citations import without_law
from stagepost.tasks.contract_review.clause_label import shortened
from stagepost.tasks.contract_review.wording import Wording
from stagepost.tasks.documents.document import Language

LINK = Wording("[link removed]", "［链接已删去］")
CITATION = Wording("[unverified citation removed]", "［未核实的法律引用已删去］")
READ_MOST = 8_000  # characters of an answer's text that are looked at

_TAG = re.compile(r"<[!/?a-zA-Z][^<>]{0,2000}+>")
_NAMED_LINK = re.compile(r"!?+\[([^\[\]]{0,200}+)\]\([^()]{0,2000}+\)")
_REST = r"[^\s，。；、）)\]}>\"'”’]{0,2000}+"
_LINK = re.compile(
    rf"\b(?:[a-z][a-z0-9+.-]{{1,20}}+://|www\.|(?:mailto|javascript|data|vbscript|file|tel):(?=\S)){_REST}"
    r"|[\w.+-]{1,64}+@(?>(?:[\w-]{1,63}+\.){1,4})[\w-]{1,63}+"
    rf"|\b(?>(?:[a-z0-9-]{{1,63}}+\.){{1,4}})(?:com|org|net|io|cn|example|invalid|test|dev|ai|info|biz|xyz)\b{_REST}",
    re.IGNORECASE,
)


class Cleaned(NamedTuple):
    """Text fit for a report, and whether it cited law that nobody looked up."""

    text: str
    cited: bool


def cleaned(text: str, most: int, language: Language) -> Cleaned:
    """A model's text on one line, at most `most` characters, "…" where it was cut."""
    words = _plain(text[:READ_MOST])
    words = _NAMED_LINK.sub(r"\1", words)
    words = _LINK.sub(LINK(language), words)
    words, cited = without_law(words, CITATION(language))
    words = words.replace("<", "‹").replace(">", "›")
    return Cleaned(shortened(words, most), cited)


def visible(text: str) -> str:
    """A text without what no reader sees: format and control characters, private codes.

    Line breaks and tabs are kept.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text  # the usual case, and fast
    return "".join(
        letter for letter in text if letter in "\n\t" or unicodedata.category(letter)[0] != "C"
    )


def _plain(text: str) -> str:
    """Without markup, however deep it was escaped or nested: each round undoes one layer."""
    words = visible(unicodedata.normalize("NFC", text).replace("\r", "\n"))
    for _ in range(8):
        before, words = words, _TAG.sub("", visible(html.unescape(words)))
        if words == before:
            break
    return " ".join(words.split())
