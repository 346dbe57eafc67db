"""Who acts in a sentence: the party that a right or a duty in it belongs to."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stagepost.tasks.contract_review.report import Party, Side
from stagepost.tasks.contract_review.roles import Role

_MUTUAL = (
    r"either (?:of the )?part(?:y|ies)|each (?:of the )?part(?:y|ies)|both (?:of the )?parties"
    r"|neither (?:of the )?part(?:y|ies)|any party|no party|one party|(?:the )?other party"
    r"|the parties|such party|a party|(?:non-?)?(?:defaulting|breaching|terminating) party"
    r"|(?:indemnifying|disclosing|receiving|affected|requesting|prevailing|assigning) party"
    r"|each of (?:the )?[\w&.' -]{1,40} and |(?:both|neither) (?:the )?[\w&.'-]{1,30} (?:and|nor)"
    r" (?!any|its)"
    r"|\band (?:the )?[\w&.'-]{1,30} (?:each|both)(?= (?:agree|shall|will|may|must|hereby))"
    r"|任何一方|任一方|一方|双方|各方|守约方|违约方|另一方|对方|各自|当事人|受影响方|披露方|接收方"
)
_ROLES = {
    "supplier", "vendor", "seller", "provider", "contractor", "consultant", "licensor", "lessor",
    "landlord", "manufacturer", "franchisor", "lender", "employee", "customer", "client", "buyer",
    "purchaser", "licensee", "lessee", "tenant", "distributor", "franchisee", "borrower",
    "employer",
    "sponsor", "company", "executive", "owner", "operator",
    "甲方", "乙方", "丙方", "出租方", "承租方", "出租人", "承租人", "委托方", "受托方", "买方",
    "卖方",
    "供方", "需方", "许可方", "被许可方", "用人单位", "劳动者", "发包人", "承包人", "借款人",
    "出借人",
}  # fmt: skip
_OUTSIDERS = (
    r"\b(?:users|visitors|subscribers|individuals|patients|customers|clients|third part(?:y|ies))\b"
    r"|用户|访客|会员|消费者"
)
_ACTS = re.compile(
    r"(?:'s)?(?: and (?:its|their|his|her) (?:affiliates|successors"
    r"|subsidiaries))?(?:,[^,]{1,100},)?"
    r" (?:hereby |also |further |expressly |specifically |in no event |may not )?"
    r"(?:shall|will|may|must|agrees?|hereby|has|have|is|are|can|cannot|reserves?|represents?|warrants?"
    r"|grants?|covenants?|acknowledges?|undertakes?|does|do|disclaims?|makes?|waives?|assigns?|retains?"
    r"|appoints?|elects?|fails?|assumes?|transfers?)\b"
)
_ACTS_ZH = re.compile(
    r"(?:的(?:全部|累计|赔偿|总)?责任)?(?:有权|无权|应|须|需|必须|不得|不能|可|可以|不|概不|将|同意|保证|承诺|自愿|负责|承担|放弃|保留"
    r"|对|因|在|如|若|违约|违反|未|逾期|提前|离职|辞职|入职|授权|享有|单方|随时|遇|遭遇|仅|均|或其|向)"
)
_AND = re.compile(r"(?: and(?: the)? |和|与|及|、)$")
_INVERTED = re.compile(r"\b(?:shall|will|may|does|liabilit(?:y|ies) of)(?: the)? $")
_AT = 1  # characters at the wording's start that may precede the name: 以甲方...为准
_INSIDE = 60  # characters into the wording in which an inverted subject may stand
_BEHIND = 260  # characters before the wording in which its subject may stand


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a side where it is known, `neutral` for an unknown one.

    An `outsider` is nobody who signs: what users or patients may do burdens no party.
    """

    side: Side
    label: str
    mutual: bool
    role: Role
    outsider: bool = False


@dataclass(frozen=True, slots=True)
class Cast:
    """The parties as the text of a sentence names them."""

    parties: tuple[Party, ...]
    names: re.Pattern[str]
    outsiders: re.Pattern[str]

    def actor(self, lower: str, sentence: tuple[int, int], found: tuple[int, int]) -> Actor | None:
        """The subject of the wording `found` within a sentence, both ranges of `lower`.

        The last party before it (or just inside) that is followed by a verb, else a party after
        "by", else the last party named before it; None when no party is named.
        """
        begin, stop = found
        reach = max(sentence[0], begin - _BEHIND)
        named = list(self._named(lower, reach, min(stop, begin + _INSIDE)))
        before = [place for place in named if place.start() <= begin + _AT]
        acting = [place for place in before if _acts(lower, place)]
        inside = [place for place in named if place not in before]
        acting += [place for place in inside if _inverted(lower, place)]
        if not before and not acting:
            acting = [place for place in inside if _acts(lower, place)][:1]
        if acting:
            return self._actor(acting[-1][0], lower[reach : acting[-1].start()])
        agent = self._agent(lower, begin, min(sentence[1], stop + 60))
        if agent or not before:
            return agent
        return self._actor(before[-1][0])

    def _named(self, lower: str, begin: int, end: int) -> Iterator[re.Match[str]]:
        """Every name in a range, and the outsiders that act there, in order."""
        names = list(self.names.finditer(lower, begin, end))
        taken = {place.start() for place in names}
        others = self.outsiders.finditer(lower, begin, end)
        acting = (one for one in others if one.start() not in taken and _acts(lower, one))
        return iter(sorted([*names, *acting], key=lambda place: place.start()))

    def named(self, lower: str, begin: int, end: int, but: Actor | None) -> Actor | None:
        """The first single party but one that is named in a range, whatever it does there."""
        actors = (self._actor(place[0]) for place in self.names.finditer(lower, begin, end))
        return next((one for one in actors if not one.mutual and one != but), None)

    def _agent(self, lower: str, begin: int, end: int) -> Actor | None:
        for place in self.names.finditer(lower, begin, end):
            if (
                lower[max(0, place.start() - 8) : place.start()]
                .rstrip()
                .endswith((" by", "by the", "由", "被"))
            ):
                return self._actor(place[0])
        return None

    def _actor(self, name: str, before: str = "") -> Actor:
        if _joined(self.names, before):
            return Actor("neutral", "", mutual=True, role="unknown")
        for party in self.parties:
            if name in {alias.lower() for alias in party.aliases}:
                return Actor(party.side, party.alias, mutual=False, role=party.role)
        if self.outsiders.fullmatch(name):
            return Actor("neutral", name, mutual=False, role="unknown", outsider=True)
        mutual = re.fullmatch(_MUTUAL, name) is not None
        return Actor("neutral", "" if mutual else name, mutual=mutual, role="unknown")


def _joined(names: re.Pattern[str], before: str) -> bool:
    """Whether the text before a name ends with another one and a conjunction: "A and B shall"."""
    conjunction = _AND.search(before)
    if not conjunction:
        return False
    head = before[: conjunction.start()]
    return any(place.end() == len(head) for place in names.finditer(head, max(0, len(head) - 40)))


def _acts(lower: str, place: re.Match[str]) -> bool:
    """Whether a verb follows the name, or the agent's 由 stands before it."""
    return bool(
        _ACTS.match(lower, place.end())
        or _ACTS_ZH.match(lower, place.end())
        or lower[max(0, place.start() - 1) : place.start()] == "由"
    )


def _inverted(lower: str, place: re.Match[str]) -> bool:
    """Whether the verb stands before the name, as in "in no event shall Supplier be liable"."""
    return bool(_INVERTED.search(lower[max(0, place.start() - 20) : place.start()]))


def cast(parties: tuple[Party, ...]) -> Cast:
    """The cast of a contract; without known parties the usual role names stand in."""
    names = {alias.lower() for party in parties for alias in party.aliases if len(alias) > 1}
    known = sorted(names | _ROLES, key=len, reverse=True)
    words = "|".join(_word(name) for name in known)
    return Cast(parties, re.compile(rf"{_MUTUAL}|{words}"), re.compile(_OUTSIDERS))


def _word(name: str) -> str:
    written = re.escape(name)
    return (
        rf"\b{written}\b"
        if name.isascii() and name[0].isalnum() and name[-1].isalnum()
        else written
    )
