"""A clause's heading: the words behind its number that name it."""

import re

from stagepost.tasks.documents.clauses.lines import Line

_LONGEST = 90
_LONGEST_HAN = 30
_LONGEST_LEAD = (_LONGEST, 15)  # of a heading with text behind it: Latin, Chinese
_SEPARATORS = " \t\u3000.:：、．-–—*_#"
# A heading with text behind it in the same line, up to the stop, colon or dash that ends it.
_LEAD = re.compile(r"[^\n.:。：；]{2,90}?(?=\.(?:\s|$)|:(?:\s|$)|：|\s[-–—]\s)")
_COLON = re.compile(r":\s|：")
_SMALL = frozenset((
    "a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to",
    "with", "under", "upon", "between", "among", "per", "via", "vs", "not", "no",
))  # fmt: skip
_WORD = re.compile(r"[A-Za-z][\w’'-]*")
_SAYS = re.compile(r"\.\s|[\"“]")  # the end of a sentence, a term being defined
_HAN = re.compile(r"[\u4e00-\u9fff]")
_HAN_SAYS = re.compile(  # what makes a sentence of a few characters, or breaks it off
    r"(?<!行)为(?!由)|(?<![供相响效])应(?!用|急|收|付|对)|不得|须|自.*起|[后内的和与或及向由自将在并被]$"
)
_HAN_STOPS = frozenset("，。；！？,;")
_LONGEST_HAN_LINE = 15
# Cells, redactions, much of figures, the end of a sentence or an item.
_NO_HEADING = re.compile(r"\t|\[\*|(?:\d\D*){5}|[.;,。；，、]$|[\u4e00-\u9fff].*[:：]")
_LONG_WORD = re.compile(r"[A-Za-z]{3}")


def title_in(text: str, start: int, line_end: int) -> tuple[str, bool]:
    """The heading that begins at `start`, and whether it fills the rest of its line."""
    rest = text[start:line_end].strip(_SEPARATORS)
    if is_title(rest) and not _COLON.search(rest):
        return clean(rest), True
    lead = _LEAD.match(text[start:line_end].lstrip(_SEPARATORS))
    if lead and is_title(lead[0]) and len(lead[0]) <= _LONGEST_LEAD[bool(_HAN.search(lead[0]))]:
        return clean(lead[0]), False
    return "", False


def is_title(words: str) -> bool:
    """Whether words name a thing rather than say something: capitals, or few Chinese characters."""
    if _HAN.search(words):
        return _is_han_title(words)
    if len(words) > _LONGEST or words.endswith((",", ";")) or _SAYS.search(words):
        return False
    found = _WORD.findall(words)
    if not found:
        return False
    weighty = [word for word in found if word.lower() not in _SMALL]
    capital = sum(word[0].isupper() for word in weighty)
    return bool(weighty) and found[0][0].isupper() and capital * 3 >= len(weighty) * 2


def _is_han_title(words: str) -> bool:
    if len(words) > _LONGEST_HAN or any(char in _HAN_STOPS for char in words):
        return False
    closed = words.count("（") == words.count("）") and words.count("(") == words.count(")")
    return closed and not _HAN_SAYS.search(words)


def is_heading_line(text: str, line: Line) -> bool:
    """Whether an unnumbered line is a heading of its own: a title without a sentence's end."""
    content = text[line.start : line.end].strip("*_# ")
    if not 3 <= len(content) <= _LONGEST or not content[0].isalpha() or _NO_HEADING.search(content):
        return False
    if _HAN.search(content):
        return len(content) <= _LONGEST_HAN_LINE and not _HAN_STOPS.intersection(content)
    words = content.rstrip(":")
    return ":" not in words and _LONG_WORD.search(words) is not None and is_title(words)


def clean(title: str) -> str:
    """A heading on one line, without the marks around it."""
    return " ".join(title.strip(_SEPARATORS).split())
