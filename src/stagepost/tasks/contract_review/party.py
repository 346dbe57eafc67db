"""Who the parties are, what the contract calls them, and on which end of the bargain they stand.

Party A is the one that the contract calls so (甲方), or else the one that it names first.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from stagepost.tasks.contract_review.report import Party, Side
from stagepost.tasks.contract_review.view import view
from stagepost.tasks.documents.document import Document

Role = Literal["payer", "supplier", "unknown"]

OPENING = 8_000  # characters in which a contract introduces its parties
_SIDES: tuple[Side, ...] = ("partyA", "partyB")

_PAYERS = [
    "customer",
    "client",
    "buyer",
    "purchaser",
    "licensee",
    "lessee",
    "tenant",
    "distributor",
    "franchisee",
    "borrower",
    "employer",
    "sponsor",
    "reseller",
    "subscriber",
    "owner",
    "recipient",
    "user",
    "需方",
    "买方",
    "购买方",
    "采购方",
    "采购人",
    "委托方",
    "委托人",
    "承租方",
    "承租人",
    "发包方",
    "发包人",
    "定作方",
    "定作人",
    "被许可方",
    "受让方",
    "借款人",
    "借款方",
    "用人单位",
    "客户",
    "买受人",
    "经销商",
    "招标人",
    "业主",
]
_SUPPLIERS = [
    "supplier",
    "vendor",
    "seller",
    "provider",
    "contractor",
    "consultant",
    "licensor",
    "lessor",
    "landlord",
    "manufacturer",
    "franchisor",
    "lender",
    "employee",
    "developer",
    "servicer",
    "agency",
    "company",
    "供方",
    "卖方",
    "出卖人",
    "供应商",
    "供货方",
    "受托方",
    "受托人",
    "出租方",
    "出租人",
    "承包方",
    "承包人",
    "承揽方",
    "承揽人",
    "服务方",
    "服务商",
    "许可方",
    "转让方",
    "出借人",
    "出借方",
    "贷款人",
    "劳动者",
    "员工",
    "开发方",
    "乙方(员工)",
    "施工方",
    "中标人",
]
_CHINESE_ROLES = sorted(
    {word for word in _PAYERS + _SUPPLIERS if not word.isascii() and "(" not in word}
    | {"保证人", "债权人", "债务人", "披露方", "接收方", "出让方", "抵押人", "抵押权人", "合作方"},
    key=len,
    reverse=True,
)
_ROLE = "|".join(_CHINESE_ROLES)
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

_BETWEEN = re.compile(
    r"\b(?:between|among|by and between|parties(?: hereto)? are)\b", re.IGNORECASE
)
_BODY = re.compile(
    r"\b(?:whereas|witnesseth|w i t n e s s|recitals|background|now,? therefore)\b", re.IGNORECASE
)
_ALIAS = re.compile(
    r"\((?:[^()\"]{0,80}+)\"(?P<one>[^\"()]{2,40}+)\""
    r"(?:,?(?: or| and|/)?(?: the)? \"(?P<two>[^\"()]{2,40}+)\")?[^()]{0,80}+\)"
    r"|,? hereinafter (?:referred to as|called|known as),? (?:the )?\"?"
    r"(?P<bare>[A-Z][\w&.'-]{1,30}+)\"?"
)
_NO_PARTY = re.compile(
    r"agreement|contract|date|part(?:y|ies)\b|term\b|section|product|service|territory|exhibit|act\b"
    r"|transaction|closing|premises|property|^us$|event|program|system|project|site\b|software",
    re.IGNORECASE,
)
_PARTY_LINE = re.compile(
    r"\bparty (?P<letter>[ab])(?: ?\([^()]{1,40}\))? ?: ?(?P<name>[^\n]{2,80})", re.IGNORECASE
)
_DESCRIBED = re.compile(
    r",? (?:an?|the|having|with|whose|located|organi[sz]ed|of)\b|, (?=[a-z])|[(;]"
)
_JOIN = re.compile(
    r"\b(?:between|among|and|by|amongst)\b|[:;]|(?<=\)),|\bon the one hand,?|\bAGREEMENT\b"
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
    found = list(_chinese(opening)) or list(_lettered(opening)) or list(_english(opening))
    if len(found) < 2:
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


def _english(opening: str) -> Iterator[Party]:
    shown = view(opening).cased
    begins = _BETWEEN.search(shown)
    start = begins.end() if begins else 0
    body = _BODY.search(shown, start)
    ends = min(body.start() if body else start + 3_000, start + 3_000)
    introduced = [found for found in _ALIAS.finditer(shown, start, ends) if _names_party(found)]
    edges = [start, *(found.end() for found in introduced)]
    for number, (found, begin) in enumerate(zip(introduced, edges, strict=False)):
        name = _name_before(shown[max(begin, found.start() - 400) : found.start()])
        alias, *more = (a.strip(" ,.") for a in found.group("one", "two", "bare") if a)
        aliases = [alias, *more, *([name] if name else [])]
        yield Party(
            side=_SIDES[number] if number < len(_SIDES) else "neutral",
            name=name or alias,
            alias=alias,
            aliases=tuple(dict.fromkeys(aliases)),
            role=role_of(*aliases),
        )


def _names_party(found: re.Match[str]) -> bool:
    alias = found["one"] or found["bare"]
    return bool(alias) and alias[0].isupper() and not _NO_PARTY.search(alias)


def _name_before(text: str) -> str:
    """The name at the end of `…, and Borealis Data Inc., a Delaware corporation`."""
    cuts = [0, *(found.end() for found in _JOIN.finditer(text)), len(text)]
    for start, _ in reversed(list(pairwise(cuts))):
        rest = text[start:].strip(' ,."')
        if rest[:1].isupper() or rest[:1].isdigit():
            return _DESCRIBED.split(rest, maxsplit=1)[0].strip(" ,")[:120]
    return ""


def _by_pair(text: str) -> Iterator[Party]:
    """Two role names that are used as names throughout, when the opening introduces nobody."""
    for pair in _PAIRS:
        roles = [role.capitalize() for role in pair.split()]
        if all(len(re.findall(rf"\b{role}\b", text[:100_000])) >= 4 for role in roles):
            for side, role in zip(_SIDES, roles, strict=True):
                yield Party(side=side, name=role, alias=role, aliases=(role,), role=role_of(role))
            return


def role_of(*names: str) -> Role:
    """Which end of the bargain a party's names put it on."""
    for name in names:
        lower = name.lower()
        if lower in _PAYERS or any(lower.endswith(f" {word}") for word in _PAYERS):
            return "payer"
        if lower in _SUPPLIERS or any(lower.endswith(f" {word}") for word in _SUPPLIERS):
            return "supplier"
    return "unknown"
