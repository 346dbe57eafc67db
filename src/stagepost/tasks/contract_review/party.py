"""Who the parties are, what the contract calls them, and on which end of the bargain they stand.

Party A is the one that the contract calls so (甲方), or else the one that it names first.
"""

import re
from collections.abc import Iterator

from stagepost.tasks.contract_review.english_parties import english_parties
from stagepost.tasks.contract_review.report import Party, Side
from stagepost.tasks.contract_review.roles import CHINESE_ROLES, role_of
from stagepost.tasks.contract_review.view import view
from stagepost.tasks.documents.document import Document

OPENING = 8_000  # characters in which a contract introduces its parties
_SIDES: tuple[Side, ...] = ("partyA", "partyB")

_ROLE = "|".join(CHINESE_ROLES)
_CHINESE_LINE = re.compile(
    rf"^[ \t　]{{0,8}}+(?:\d[.、])?(?:(?P<letter>[甲乙丙丁])[ 　]{{0,4}}+方|(?P<role>(?>{_ROLE})))"
    r"[ 　]{0,4}+(?:[（(](?P<note>[^）)\n]{1,30}+)[）)])?[ 　]{0,4}+[:：]"
    r"[ \t　]{0,8}+(?P<name>[^\n]{0,80}+)",
    re.MULTILINE,
)
_CHINESE_INLINE = re.compile(
    r"(?P<name>[\u4e00-\u9fff()（）A-Za-z0-9]{2,40}?(?:公司|中心|厂|院|所|局|行|店|部|企业))"
    r"[（(](?:以下|下|以下合)?(?:简称|称)?(?:为)?[\"“「]?(?P<letter>[甲乙丙丁])方[\"”」]?[）)]"
)
_NAME_ENDS = re.compile(
    r"[ \t　]{2,40}|[（(](?:以下|下称|简称|盖章|签字|签章)|[,，;；。]|法定代表人|统一社会|地址"
    r"|住所|身份证|电话|联系"
)
_SHORT_NAME = re.compile(r"(?:以下|下)?(?:简称|称)(?:为)?[:：]?[\"“「]([^\"”」]{1,16})[\"”」]")

_PARTY_LINE = re.compile(
    r"\bparty (?P<letter>[ab])(?: ?\([^()]{1,40}\))? ?: ?(?P<name>[^\n]{2,80})", re.IGNORECASE
)
_PAIRS = (
    "licensor licensee", "seller buyer", "seller purchaser", "supplier customer", "vendor customer",
    "provider customer", "provider client", "company consultant", "company contractor",
    "company distributor", "manufacturer distributor", "franchisor franchisee", "landlord tenant",
    "lessor lessee", "lender borrower", "employer employee", "company employee",
    "company executive",
    "customer contractor", "client contractor", "owner contractor", "owner operator",
    "sponsor team", "discloser recipient", "supplier buyer", "company client", "company customer",
)  # fmt: skip


def parties(document: Document) -> tuple[Party, ...]:
    """The parties in the order of their sides; empty when the opening names none."""
    opening = document.text[:OPENING]
    found = list(_chinese(opening)) or list(_lettered(opening))
    if not found:
        found = list(english_parties(view(document.text).cased))
    if len(found) < len(_SIDES):
        found = list(_by_pair(document.text)) or found
    return tuple(found[:6])


def _chinese(opening: str) -> Iterator[Party]:
    seen: dict[str, Party] = {}
    for line in [*_CHINESE_LINE.finditer(opening), *_CHINESE_INLINE.finditer(opening)]:
        groups = line.groupdict()
        letter, role, note = (groups.get(key) or "" for key in ("letter", "role", "note"))
        if not letter and (inner := re.fullmatch(r"(?:以下简称)?[\"“]?([甲乙丙丁])方[\"”]?", note)):
            letter, note = inner[1], ""
        key = f"{letter}方" if letter else role
        name = _NAME_ENDS.split(groups["name"].strip(), maxsplit=1)[0].strip(" _＿:：")
        short = _SHORT_NAME.search(groups["name"])
        if key in seen:
            continue
        aliases = [key, role, note.strip('"“”'), name, short[1] if short else ""]
        aliases = [a for a in dict.fromkeys(aliases) if a and "简称" not in a]
        side = _SIDES["甲乙".index(letter)] if letter in {"甲", "乙"} else _next_side(seen, letter)
        seen[key] = Party(
            side=side, name=name, alias=key, aliases=tuple(aliases), role=role_of(*aliases)
        )
    yield from sorted(seen.values(), key=lambda party: (*_SIDES, "neutral").index(party.side))


def _next_side(seen: dict[str, Party], letter: str) -> Side:
    if (
        letter
        or len(seen) >= len(_SIDES)
        or any("方" in key[1:2] for key in seen if key[0] in "甲乙")
    ):
        return "neutral"
    return _SIDES[len(seen)]


def _lettered(opening: str) -> Iterator[Party]:
    seen: dict[str, str] = {}
    for line in _PARTY_LINE.finditer(opening):
        name = re.split(r"[\t;]|  |\((?!\w{2,20}\) \w)", line["name"].strip(), maxsplit=1)[0]
        seen.setdefault(line["letter"].lower(), name)
    if len(seen) == len(_SIDES):
        for side, letter in zip(_SIDES, "ab", strict=True):
            alias = f"Party {letter.upper()}"
            name = seen[letter].strip(" _:")
            yield Party(
                side=side, name=name, alias=alias, aliases=(alias, name) if name else (alias,)
            )


def _by_pair(text: str) -> Iterator[Party]:
    """Two role names that are used as names throughout, when the opening introduces nobody."""
    for pair in _PAIRS:
        roles = [role.capitalize() for role in pair.split()]
        if all(len(re.findall(rf"\b{role}\b", text[:100_000])) >= 4 for role in roles):
            for side, role in zip(_SIDES, roles, strict=True):
                yield Party(side=side, name=role, alias=role, aliases=(role,), role=role_of(role))
            return
