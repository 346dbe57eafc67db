"""The parties of an English contract, from the sentence that introduces them.

`between Ash Ltd ("Ash") and Elm Inc (the "Buyer")` in its many forms: after a title page and a
table of contents, as a numbered list, as a letter's "To:" and "From:", without short names.
Parties that the contract takes together ("together the Publishers") stand on one side.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from stagepost.tasks.contract_review.party_name import (
    ends_whole,
    has_form,
    name_at,
    name_before,
    without_form,
)
from stagepost.tasks.contract_review.report import Party, Side
from stagepost.tasks.contract_review.roles import role_of

OPENING = 40_000  # characters in which the introduction may stand, contents pages before it
ZONE = 3_000  # characters that an introduction fills
_TRIES = 12  # places at which an introduction may begin
_FIRST_WITHIN = 700  # characters to the first short name, and from one to the next
_NAME_WITHIN = 500  # characters before a short name in which the name stands
_PAIR = 2

_BEGINNINGS = (
    re.compile(r"\b(?:between|among|amongst|parties(?: hereto)? are)\b", re.IGNORECASE),
    re.compile(r"\bTo: (?=[^\n]{0,600}\bFrom: )"),
    re.compile(
        r"\b(?:agreement|contract|lease)\b(?=[^.;]{0,200}\b(?:made|entered|enter|dated)\b)",
        re.IGNORECASE,
    ),
    re.compile(r"\A"),
    re.compile(r"\bwhereas,? (?=[A-Z])", re.IGNORECASE),
)
_BODY = re.compile(
    r"\b(?:whereas|witnesseth|w ?i t n e s s|recitals|r e c i t a l s|background|now,? therefore"
    r"|article (?:i|1|one)\b|section 1\b|as follows|table of contents)\b|[.)\"] 1\.? [A-Z]",
    re.IGNORECASE,
)
_ALIAS = re.compile(
    r"\((?P<lead>[^()\"]{0,140}+)\"(?P<one>[^\"()]{2,40}+)\""
    r"(?:,?(?: or| and|/)?(?: the)? \"(?P<two>[^\"()]{2,40}+)\")?(?P<rest>[^()]{0,160}+)\)"
    r"|,? hereinafter (?:referred to as|called|known as),? (?:the )?\"?"
    r"(?P<bare>[A-Z][\w&.'-]{1,30}+)\"?"
    r"|(?<=[\w.]) \((?:the )?(?P<plain>[A-Z][\w&-]{1,24})\)"
)
_NOT_ANOTHER = re.compile(
    r"formerly|f/k/a|d/b/a|doing business|previously|in such capacity", re.IGNORECASE
)
_NO_PARTY = re.compile(
    r"agreement|contract|\bdate|^part(?:y|ies)\b|\bterms?\b|section|\bproducts?\b|service(?!r)"
    r"|territory|exhibit|\bact\b|transaction|closing|premises|property|^us$|event|\bprogram\b"
    r"|system|project|\bsite\b|software|confirmation|\bform\b|\bcode\b|conditions|\bpage\b|standard"
    r"|\bpolicy|\bplan\b|\bnotes?\b|annex|appendix|attachment|schedule|\border\b|\bsec\b|\bstation\b"
    r"|^fda$|^fcc$|exchange",
    re.IGNORECASE,
)
_NO_NAME = re.compile(r"\bagreement\b|\bcontract\b|\bwhereas\b|\bsection\b", re.IGNORECASE)
_ALL = re.compile(r"\"(?:the )?part(?:y|ies)\b", re.IGNORECASE)
_TOGETHER = re.compile(
    r"\b(?:together|collectively)\b(?P<more>[^\".;]{0,120}+)"
    r"\"(?:the )?(?P<group>[A-Z][^\"]{1,39}+)\"",
    re.IGNORECASE,
)
_MEMBERS = 160  # characters before "together" in which the members are named
_SENTENCE = re.compile(r"[.;](?: |$)|\)")
_AND = re.compile(r"\band ", re.IGNORECASE)
_PAIR_ENDS = re.compile(r";|\.(?: |$)|,? dated\b| \(| who\b", re.IGNORECASE)
_PAIR_WITHIN = 460  # characters of two names with what describes them
_CONTRACT = re.compile(r"\b(?:agreement|contract|lease)\b", re.IGNORECASE)
_PRONOUN = re.compile(
    r"(?:the|its|their|any|all|each|other|such|us|you|me|our|your|an?|parties|both)\b",
    re.IGNORECASE,
)
_PLAIN_WORDS = 5  # of a name without a legal form


@dataclass(frozen=True, slots=True)
class _Introduction:
    """A party as its sentence introduces it; `start` and `end` are those of its short name."""

    name: str
    aliases: tuple[str, ...]
    words: str
    start: int
    end: int


def english_parties(cased: str) -> tuple[Party, ...]:
    """The parties that a contract's text introduces, in order; fewer than two when it does not."""
    best: list[_Introduction] = []
    for start in _starts(cased[:OPENING]):
        found = list(_introductions(cased, start))
        if len(found) >= _PAIR:
            return tuple(_seated(found, cased))
        best = best or found
    alone = [one for one in best if has_form(one.name)]  # one short name may be anything's
    return tuple(_unaliased(cased[:OPENING])) or tuple(_seated(alone, cased))


def _starts(opening: str) -> Iterator[int]:
    for beginning in _BEGINNINGS:
        for found in islice(beginning.finditer(opening), _TRIES):
            yield found.end()


def _introductions(cased: str, start: int) -> Iterator[_Introduction]:
    body = _BODY.search(cased, start, start + ZONE)
    stop = body.start() if body else start + ZONE
    edge, last, number = start, start, 0
    for found in _ALIAS.finditer(cased, start, stop):
        if found.start() - last > _FIRST_WITHIN:
            return
        if found["lead"] and _NOT_ANOTHER.search(found["lead"]):
            continue
        if number >= _PAIR and _ALL.search(cased, edge, found.end()):
            return
        made = _introduced(cased[max(edge, found.start() - _NAME_WITHIN) : found.start()], found)
        edge = edge if found["plain"] and not made else found.end()
        if made:
            yield made
            last, number = found.end(), number + 1


def _introduced(before: str, found: re.Match[str]) -> _Introduction | None:
    given = [one for one in found.group("one", "two", "bare", "plain") if one]
    aliases = tuple(one.removeprefix("the ").strip(" ,.") for one in given)
    grouped = found["lead"] and re.search(r"\btogether\b", found["lead"])
    if not aliases[0][:1].isupper() or _NO_PARTY.search(aliases[0]) or grouped:
        return None
    if found["plain"] and not has_form(before.rstrip()):
        return None
    name = name_before(before)
    if _NO_NAME.search(name):
        return None
    return _Introduction(
        name=name or aliases[0],
        aliases=aliases,
        words=found[0],
        start=found.start(),
        end=found.end(),
    )


def _seated(found: list[_Introduction], cased: str) -> Iterator[Party]:
    """The parties with their sides: the first named and its companions are party A."""
    groups = _groups(found, cased)
    sides: dict[str, Side] = {}
    free: Iterator[Side] = iter(("partyA", "partyB"))
    for one in found:
        alias = one.aliases[0]
        group = groups.get(alias, "")
        key = group or alias
        if key not in sides:
            sides[key] = next(free, "neutral")
        names = [*one.aliases, *([group] if group else []), one.name]
        yield Party(
            side=sides[key],
            name=one.name,
            alias=alias,
            aliases=tuple(dict.fromkeys(names)),
            role=role_of(*names),
        )


def _groups(found: list[_Introduction], cased: str) -> dict[str, str]:
    """The common name of those parties that the contract takes together, by their short names."""
    if len(found) <= _PAIR:
        return {}
    groups: dict[str, str] = {}
    for together in _TOGETHER.finditer(cased, found[0].start, found[-1].end + _NAME_WITHIN):
        before = cased[max(0, together.start() - _MEMBERS) : together.start()]
        said = _SENTENCE.split(before)[-1] + together["more"]
        group = together["group"].strip(" ,.")
        own = [one.aliases[0] for one in found if one.start <= together.start("group") < one.end]
        named = [
            one.aliases[0] for one in found if re.search(rf"\b{re.escape(one.aliases[0])}\b", said)
        ]
        members = set(own) | set(named)
        if _PAIR <= len(members) < len(found) and not _NO_PARTY.search(group):
            groups.update(dict.fromkeys(members - set(groups), group))
    return groups


def _unaliased(opening: str) -> Iterator[Party]:
    """Parties without short names: `agreement between Ash Ltd, 1 Road, and Elm Hosting`."""
    sides: tuple[Side, Side] = ("partyA", "partyB")
    for between in islice(_BEGINNINGS[0].finditer(opening), _TRIES):
        start = between.start()
        if not _CONTRACT.search(opening, max(0, start - ZONE // 10), start):
            continue
        names = _two_names(opening[between.end() :][:_PAIR_WITHIN], early=start < ZONE)
        if names:
            for side, name in zip(sides, names, strict=True):
                aliases = tuple(dict.fromkeys((without_form(name), name)))
                role = role_of(*aliases)
                yield Party(side=side, name=name, alias=aliases[0], aliases=aliases, role=role)
            return


def _two_names(words: str, *, early: bool) -> tuple[str, str] | None:
    """The two names that one of the first "and" joins."""
    for conjunction in islice(_AND.finditer(words), _TRIES):
        second = _PAIR_ENDS.split(words[conjunction.end() :], maxsplit=1)[0]
        one, two = (_plain(half, early=early) for half in (words[: conjunction.start()], second))
        if one and two and one != two:
            return one, two
    return None


def _plain(words: str, *, early: bool) -> str:
    """Words as a name when nothing introduces them as one; "" when they may be none."""
    name = name_at(words)
    if name and (ends_whole(name) or role_of(name) != "unknown"):
        return name
    bare = words.strip(' ,."')
    few = early and bare[:1].isalnum() and 0 < len(bare.split()) <= _PLAIN_WORDS and "," not in bare
    return bare if few and not _PRONOUN.match(bare) and not _NO_NAME.search(bare) else ""
