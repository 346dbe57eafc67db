"""How a person names a clause, so that no other clause of the contract can be meant.

An item is named with the clause that holds it ("2.15(f)", not "(f)"), and a clause of an annex
with the annex, whose numbers begin anew.
"""

import re

from stagepost.tasks.documents.document import Language

WORDS_MOST = 40  # characters of a clause that has neither number nor title
_WORDS_MOST_ZH = 20

_ANNEX = re.compile(r"(?:exhibit|schedule|annex|appendix|attachment|附件|附录|附表)", re.IGNORECASE)
_NAMED = re.compile(
    r"(?:section|article|clause|part|chapter|paragraph) ?[\divxlc]|第\w{1,8}[条章节]", re.IGNORECASE
)
_ITEM = re.compile(r"[(（]\w{1,5}[)）]|(?:[A-Za-z]|[ivxIVX]{2,5})[.)]?|\d{1,2}[)）]")
_WHOLE = re.compile(r"(?:section|clause) ?\d|\d{1,3}\.\w|第\w{1,8}条", re.IGNORECASE)
_BRACKETED = re.compile(r"[(（]\w{1,6}[)）](?! )")
_HAN_NUMBER = re.compile(r"([一二三四五六七八九十]{1,3})(?:、(\d{1,3}))?")
_HAN = re.compile(r"[\u4e00-\u9fff]")


def clause_label(path: tuple[str, ...], title: str, text: str) -> str:
    """A clause by its numbers from the outermost down, else by its title or its first words."""
    annex, label = "", ""
    for number in (one.strip(" .:、，") for one in path):
        if _ANNEX.match(number):
            annex, label = number, ""
        elif _ITEM.fullmatch(number):
            label += number if number[0] in "(（" else f"({number.rstrip('.)）')})"
        elif not label or _WHOLE.match(number):
            label = number
        else:
            label = f"{label}{'、' if _HAN.search(label) else ', '}{number}"
    numbered = ("，" if _HAN.search(annex) else ", ").join(part for part in (annex, label) if part)
    words = title or text
    return numbered or shortened(words, _WORDS_MOST_ZH if _HAN.search(words) else WORDS_MOST)


def shortened(words: str, most: int) -> str:
    """At most so many characters of a text, cut between two words, with "…" where it was cut."""
    words = " ".join(words.split())
    if len(words) <= most:
        return words
    head = words[:most]
    if words[most].isascii() and words[most].isalnum() and " " in head:
        head = head.rpartition(" ")[0]
    return f"{head.rstrip(' ,;:(，；：（')} …"


def clause_name(label: str, language: Language) -> str:
    """A label within a sentence: "clause 7.2", "Section 7", “Payment”."""
    if han := _HAN_NUMBER.fullmatch(label):
        return f"第{han[1]}条" + (f"第{han[2]}项" if han[2] else "")
    if not label or _ANNEX.match(label) or _NAMED.match(label):
        return label
    if label[0].isdigit() or _BRACKETED.match(label):
        return label if language == "zh" else f"clause {label}"
    return f"“{label}”"
