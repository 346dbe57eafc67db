"""The name of a party, out of the words around it: `AND 2. Ash Limited a company registered in …`.

A name that ends with its legal form ("Ltd", "GmbH") is known to be whole; of several possible
beginnings the last one that leads to such a form is taken.
"""

import re

NAME_MOST = 120  # characters
_JOINED_MOST = 4  # words before an "and" that may belong to the name: "Reed and Sons Ltd"

_FORM = (
    r"(?>(?i:incorporated|inc|l\.?l\.?c|ltd|limited(?: partnership| liability company)?|corporation"
    r"|corp|plc|gmbh(?: & co\.? kg\w{0,3})?|l\.?l\.?p|l\.p|n\.a|a/s|a\.s|b\.v|n\.v"
    r"|s\.a(?:\.r\.l|\.s)?|s\.p\.a|s\.r\.l|s\.r\.o|k\.k)|LP|AG|SE|NV|BV|SA|AB|KG)(?!\w)\.?+"
)
_LEGAL_FORM = re.compile(rf"(?<=[ ,.]){_FORM}(?>(?:,? {_FORM}){{0,3}})")
_WEAK_FORM = re.compile(
    rf"(?:{_FORM}|(?i:company|partnership|bank|association|university|trust|fund|co\.?))$"
)
_JOIN = re.compile(
    r"\b(?:between|among|amongst|by|BETWEEN|AMONG|AMONGST|BY|Between|Among|By)\b|[:;]"
    r"|\b(?P<and>and|AND|And)\b|\b(?i:on the (?:one|other) hand),?|\bAGREEMENT\b"
)
_ITEM = re.compile(r"^(?:\d{1,2}[.)]|\([\divxIVXa-zA-Z]{1,4}\)) {1,4}")
_LEAD = re.compile(r"^(?:the |in addition,? )", re.IGNORECASE)
_FORMERLY = re.compile(r",? ?\((?:formerly|f/k/a|previously)[^()]{0,120}\),?", re.IGNORECASE)
_BEGINS = re.compile(r"[^\W\d_a-z]|\d|[a-z]{1,15}[A-Z]|[a-z][\w-]{1,24}\.(?:com|net|org|io)\b")
_DESCRIBED = re.compile(
    r",? (?:an?|having|with|whose|which|located|organi[sz]ed|incorporated|acting|d/b/a|trading"
    r"|its|including|of(?= \d)|at(?= \d))\b|,? on behalf of\b|, (?:the|[A-Z])(?= [a-z])|, (?=[a-z])"
    r"|, (?=\d)|[(;\[]"
)
_JUNK = re.compile(r"[_*-]{3}|^(?:this|whereas|exhibit|dated?)\b", re.IGNORECASE)
_WHOLE = re.compile(
    r"(?<!\ba )(?<!\ban )(?:[A-Z][\w&'-]{0,30} ){0,6}"
    rf"[A-Z][\w&'-]{{0,30}},? {_FORM}(?>(?:,? {_FORM})?)"
)


def has_form(words: str) -> bool:
    """Whether the words end like a company's name."""
    return _WEAK_FORM.search(words) is not None


def ends_whole(name: str) -> bool:
    """Whether a name ends with a legal form."""
    return any(found.end() == len(name) for found in _LEGAL_FORM.finditer(name))


def without_form(name: str) -> str:
    """A company's name without its legal form; other names as they are."""
    found = _LEGAL_FORM.search(name)
    return name[: found.start()].strip(" ,.") if found else name


def name_before(text: str) -> str:
    """The name at the end of `…, and Borealis Data Inc., a Delaware corporation`; "" for none."""
    text = _FORMERLY.sub("", text)
    joins = list(_JOIN.finditer(text))
    starts = [0, *(found.end() for found in joins)]
    possible = []
    for place in reversed(range(len(starts))):
        begin = starts[place]
        if (
            place
            and joins[place - 1]["and"]
            and _belongs(text, starts[place - 1], joins[place - 1])
        ):
            begin = starts[place - 1]
        name = name_at(text[begin:])
        if name:
            possible.append(name)
    whole = next((name for name in possible if ends_whole(name)), "")
    last = possible[0] if possible else ""
    return whole or (last if has_form(last) else _last_whole(text) or last)


def _last_whole(text: str) -> str:
    """The last company named, where nothing but commas parts it from what stands before."""
    found = [one[0] for one in _WHOLE.finditer(text)]
    return found[-1] if found else ""


def _belongs(text: str, before: int, conjunction: re.Match[str]) -> bool:
    """Whether what stands before an "and" is the first half of a name."""
    half = text[before : conjunction.start()].strip()
    words = half.split()
    proper = all(word[0].isupper() and word[-1] not in ",;:" for word in words)
    return 0 < len(words) <= _JOINED_MOST and proper and not has_form(half)


def name_at(text: str) -> str:
    """The name with which a text begins, without a list number and without what describes it."""
    rest = _LEAD.sub("", _ITEM.sub("", text.lstrip(' ,.:"').rstrip(' ,"')))
    if not _BEGINS.match(rest):
        return ""
    described = _DESCRIBED.search(rest)
    name = rest[: described.start()] if described else rest
    form = _LEGAL_FORM.search(rest, 0, NAME_MOST)
    if form and (not described or form.start() <= described.start() + 2):
        name = rest[: form.end()]
    name = name.strip(" ,")
    return "" if _JUNK.search(name) else name[:NAME_MOST]
