"""Names: of parties that drift, and of terms that are used but never defined."""

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from stagepost.tasks.contract_review.checks.material import Material
from stagepost.tasks.contract_review.report import Check, Party
from stagepost.tasks.contract_review.wording import Wording

EACH_MOST = 5
USES_LEAST = 3  # uses from which a capital looks like a defined term
_ALIKE = 0.82  # similarity from which two company names may be meant to be one
_COMPANY = re.compile(
    r"(?:[A-Z][\w&.'-]{0,24},? ){1,6}(?:Inc|LLC|L\.L\.C|Ltd|Limited|Corp|Corporation|Company"
    r"|GmbH|Co|LP|PLC|AG|S\.A)\b\.?"
)
_CHINESE_COMPANY = re.compile(
    r"[\u4e00-\u9fff()]{4,36}?(?:有限责任公司|股份有限公司|有限公司|集团公司)"
)
_SYNONYMS = (
    ("Customer", "Client", "Buyer", "Purchaser"),
    ("Supplier", "Vendor", "Provider", "Seller", "Contractor", "Service Provider", "Consultant"),
    ("Licensee", "Licencee"),
    ("Landlord", "Lessor"),
    ("Tenant", "Lessee"),
    ("买方", "需方", "采购方", "购买方"),
    ("卖方", "供方", "供应方", "销售方"),
    ("出租方", "出租人"),
    ("承租方", "承租人"),
    ("委托方", "委托人"),
    ("受托方", "受托人"),
)
_TERMS = (
    "Services", "Products", "Product", "Deliverables", "Fees", "Territory", "Specifications",
    "Software",
    "Confidential Information", "Intellectual Property Rights", "Work Product", "Net Sales",
    "Licensed Products",
    "Documentation", "Affiliates", "Affiliate", "Losses", "Effective Date", "Initial Term",
    "Renewal Term",
    "Term", "Purchase Price", "Business Day", "Business Days", "Permitted Use",
    "Authorized Users", "Field",
    "Change of Control", "Force Majeure Event", "Service Levels", "Statement of Work",
    "Acceptance Criteria",
    "Background IP", "Customer Data", "Personal Data", "Milestones", "Restricted Period",
    "Closing Date",
    "Indemnified Party", "Minimum Purchase Commitment", "Go-Live Date", "Acceptance Tests",
    "Key Personnel",
)  # fmt: skip


def party_drift(material: Material) -> Iterator[Check]:
    """Company names that nearly are a party's name, and synonyms of what a party is called."""
    yield from _similar_companies(material)
    yield from _synonyms(material)


def _similar_companies(material: Material) -> Iterator[Check]:
    cased = material.shown.cased
    parties = [party.name for party in material.knowledge.parties if len(party.name) > 5]
    written = {_plain(name): name for name in parties}
    names = list(written)
    reported: set[str] = set()
    for found in [*_COMPANY.finditer(cased), *_CHINESE_COMPANY.finditer(cased)]:
        meant = next((name for name in names if _drifts(_plain(found[0]), name, names)), None)
        if meant is None or _plain(found[0]) in reported:
            continue
        reported.add(_plain(found[0]))
        other, own = (name.rstrip(".") for name in (found[0], written[meant]))
        message = Wording(
            f"{other} is not the party's name, {own}; it may be another company.",
            f"名称与合同当事人名称（{own}）不一致，可能指向其他主体。",
        )
        yield material.check("party-drift", found.span(), message, "MEDIUM")
        if len(reported) == EACH_MOST:
            return


def _plain(name: str) -> str:
    plain = re.sub(r"[,.'\"()]", "", name).lower().strip()
    for long, short in (("incorporated", "inc"), ("corporation", "corp"), ("limited", "ltd")):
        plain = re.sub(rf"\b{long}$", short, plain)
    return " ".join(plain.split())


def _drifts(candidate: str, name: str, names: list[str]) -> bool:
    """Whether a candidate is nearly, but not exactly, a party's name (Chinese: its tail is)."""
    if any(one in candidate or candidate in one for one in names):
        return False
    if candidate.isascii():
        return SequenceMatcher(None, candidate, name).ratio() >= _ALIKE
    tails = (candidate[-length:] for length in range(len(name) - 2, len(name) + 3) if length > 0)
    return any(SequenceMatcher(None, tail, name).ratio() >= _ALIKE for tail in tails)


def _synonyms(material: Material) -> Iterator[Check]:
    cased = material.shown.cased
    parties = material.knowledge.parties
    called = {alias for party in parties for alias in party.aliases}
    for group in _SYNONYMS:
        party = next((one for one in parties if one.alias in group), None)
        for other in group:
            if party is None or other in called or _is_defined(cased, other):
                continue
            found = re.search(_inside(other), cased)
            if found:
                yield _other_name(material, found, party)


def _other_name(material: Material, found: re.Match[str], party: Party) -> Check:
    message = Wording(
        f"“{found['term']}” is nobody in this contract; {party.alias} seems to be meant.",
        f"“{found['term']}”未作定义，疑指{party.alias}。",
    )
    return material.check("party-drift", found.span("term"), message, "MEDIUM")


def _inside(term: str) -> str:
    """A term in the middle of a sentence, where a capital is no grammar."""
    if not term.isascii():
        return rf"(?P<term>{re.escape(term)})"
    return rf"\b[a-z]{{1,20}},? (?P<term>{re.escape(term)})\b(?! ?[A-Z])"


def _is_defined(cased: str, term: str) -> bool:
    escaped = re.escape(term)
    return (
        re.search(
            rf"\"(?:the )?{escaped}s?,?\"|\b{escaped}s? (?:means|shall mean|refers)\b"
            rf"|{escaped}(?:系|是)?指"
            rf"|{escaped}:",
            cased,
            re.IGNORECASE,
        )
        is not None
    )


def undefined_terms(material: Material) -> Iterator[Check]:
    """Usual defined terms that are written with capitals but defined nowhere (LOW)."""
    cased = material.shown.cased
    used = Counter({term: len(re.findall(_inside(term), cased)) for term in _TERMS})
    listed = 0
    for term, times in used.most_common():
        if times < USES_LEAST or listed == EACH_MOST:
            break
        if _is_defined(cased, term) or _is_defined(cased, term.rstrip("s")):
            continue
        found = re.search(_inside(term), cased)
        if found and not any(term in party.aliases for party in material.knowledge.parties):
            listed += 1
            message = Wording(
                f"“{term}” is used like a defined term ({times} times), but it is not defined.",
                f"“{term}”作为定义术语使用{times}次，但未作定义。",
            )
            yield material.check("undefined-term", found.span("term"), message, "LOW")
    yield from _unknown_party(material)


def _unknown_party(material: Material) -> Iterator[Check]:
    """丙方 and 丁方 act, but nobody is called so."""
    called = {alias for party in material.knowledge.parties for alias in party.aliases}
    for letter in ("丙方", "丁方"):
        found = re.search(letter, material.shown.cased)
        if found and called and letter not in called:
            message = Wording(
                f"{letter} has rights or duties, but no party is called so.",
                f"出现“{letter}”，但合同未列明该当事人。",
            )
            yield material.check("undefined-term", found.span(), message, "MEDIUM")
