"""Which sentences can oblige anybody: not headings, contents pages, recitals or definitions."""

import re

from stagepost.tasks.contract_review.view import View

_DEFINITION = re.compile(
    r"^(?:\(?\w{1,4}[.)、] ?)?\"[^\"]{1,80}+\"(?: or \"[^\"]{1,80}+\")?,? ?"
    r"(?:means?|shall mean|has the meaning|have the meaning|refers? to|is defined|:?(?:系|是)?指)"
    r"|^(?:\(?\w{1,4}[.)、] ?)?[\u4e00-\u9fff\w]{1,20}(?:系指|是指|指的是|:指)"
)
_VERB = re.compile(
    r"\b(?:shall|will|may|must|can|cannot|is|are|be|has|have|agrees?|grants?|waives?|makes?|disclaims?"
    r"|renews?|expires?|survives?|owns?|pays?|appoints?|assigns?|applies|governs?|remains?|retains?"
    r"|indemnif(?:y|ies)|warrants?|reserves?|terminates?|continues?|forfeits?|provides?)\b"
)
_NUMBER = re.compile(
    r"^(?:(?:section|article)? ?[\d.]{1,12}|第\w{1,8}[条章节]|\(?\w{1,4}[.)、])\s?", re.IGNORECASE
)
_CONTENTS_LINE = re.compile(
    r"[A-Za-z)\u4e00-\u9fff] ?(?:\.{4,80}|…{2,40}|(?<=\w) ) ?\d{1,3}(?= |$)"
)
_HAN = re.compile(r"[\u4e00-\u9fff]")
_DUTY = re.compile(r"[，。；]|应|须|不得|可以|有权|承担|支付|负责|归|视为|按|以")
_CHINESE_HEADING_MOST = 18
_SENTENCE = re.compile(r"(?:The|This|These|Each|Either|Neither|All|No|Any|If|On|Upon|In) [a-zA-Z]")
_CAPITALS = 0.6  # share of an English heading's longer words that begin with a capital
_HEADING_MOST = 80  # characters of an English heading
_CONTENTS_LEAST = 5  # lines with a page number


def has_terms(shown: View, span: tuple[int, int], title: str) -> bool:
    """Whether a sentence of a clause with this title can oblige anybody."""
    words = shown.cased[slice(*span)]
    bare = _NUMBER.sub("", words)
    if bare[:8].lower() == "whereas " or _is_heading(bare):
        return False
    if title and bare.strip(" .:").lower() == title.strip(" .:").lower():
        return False
    return not _DEFINITION.search(words.lower()) and not is_contents(words)


def is_contents(words: str) -> bool:
    """Whether a stretch of text is a table of contents."""
    return len(_CONTENTS_LINE.findall(words)) >= _CONTENTS_LEAST


def _is_heading(words: str) -> bool:
    if _HAN.search(words):
        return len(words) <= _CHINESE_HEADING_MOST and not _DUTY.search(words)
    if len(words) >= _HEADING_MOST or _SENTENCE.match(words) or _VERB.search(words.lower()):
        return False
    long: list[str] = re.findall(r"[A-Za-z]{4,40}", words)
    capitals = sum(one[0].isupper() for one in long)
    return capitals >= len(long) * _CAPITALS
