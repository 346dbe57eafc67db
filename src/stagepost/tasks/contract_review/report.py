"""The review's report: an outside contract, printed in camelCase.

Every `start` and `end` is a half-open code point range into `Document.text`, and every `quote` is
exactly that range of it. Severities order as HIGH, MEDIUM, LOW.
"""

from datetime import date
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from stagepost.tasks.documents.document import ClauseKind, Language

Side = Literal["partyA", "partyB", "neutral"]
Severity = Literal["HIGH", "MEDIUM", "LOW"]
Origin = Literal["rule", "model"]
ContractType = Literal[
    "services",
    "software",
    "license",
    "sale",
    "distribution",
    "lease",
    "employment",
    "nda",
    "loan",
    "guarantee",
    "construction",
    "collaboration",
    "other",
]
CheckKind = Literal[
    "amount-words",
    "date-impossible",
    "date-contradiction",
    "undefined-term",
    "dangling-reference",
    "missing-annex",
    "blank",
    "party-drift",
    "precedence",
    "legal-cap",
]

ENGINE = "offline rules, no language model"
SEVERITIES: tuple[Severity, ...] = ("HIGH", "MEDIUM", "LOW")


def rank(severity: Severity) -> int:
    """0 for HIGH, 1 for MEDIUM, 2 for LOW: the order in which a person should read."""
    return SEVERITIES.index(severity)


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class Party(_Shape):
    """A party: its name, what the contract calls it, and which of the two sides it is.

    `aliases` holds every name the contract uses for it, `alias` the main one. `role` says on which
    end of the bargain it stands: the `payer` pays, the `supplier` delivers.
    """

    side: Side
    name: str
    alias: str
    aliases: tuple[str, ...] = ()
    role: Literal["payer", "supplier", "unknown"] = "unknown"


def is_none(value: object) -> bool:
    """Whether a field is left out of what is printed and kept."""
    return value is None


class Finding(_Shape):
    """One risk in one clause. `for_whom` is the party that bears it, `neutral` for both.

    `rule_id` names the rule that found it, "" for none; `model` the language model that did.
    `origin` is whose finding it is first: a rule's that a model confirms has both names. `citation`
    is "unverified" where a model cited law that was not given to it, and which is not repeated.
    """

    id: str
    rule_id: str
    clause: str
    clause_path: tuple[str, ...]
    page: int
    start: int
    end: int
    quote: str
    category: str
    severity: Severity
    risk: str
    for_whom: Side
    law_reference: str | None
    suggestion: str
    negotiability: Severity
    confidence: float
    origin: Origin
    model: str | None = Field(None, exclude_if=is_none)
    citation: Literal["unverified"] | None = Field(None, exclude_if=is_none)


class CategorySpan(_Shape):
    """A clause category by its CUAD name, and where in the text it was recognised."""

    category: str
    start: int
    end: int


class ReviewedClause(_Shape):
    """A clause as the report lists it, with the categories recognised in it."""

    number: str
    path: tuple[str, ...]
    title: str
    kind: ClauseKind
    page: int
    start: int
    end: int
    categories: tuple[CategorySpan, ...]


class KeyTerm(_Shape):
    """A fact that a reader looks for first, with the words that state it."""

    name: str
    value: str
    quote: str
    start: int
    end: int
    page: int


class MissingClause(_Shape):
    """A clause that a contract of this type should have and that was not found."""

    category: str
    severity: Severity
    why: str


class Check(_Shape):
    """The result of a mechanical check that found something wrong; `message` names the clause."""

    kind: CheckKind
    quote: str
    start: int
    end: int
    message: str
    severity: Severity


class NotAnalysed(_Shape):
    """A part of the text that no rule was applied to, and why."""

    clause: str
    reason: str


class ReviewReport(_Shape):
    """The whole answer of a review."""

    engine: str
    file_hash: str
    pages: int
    language: Language
    contract_type: ContractType
    parties: tuple[Party, ...]
    side: Side
    knowledge_date: date
    warnings: tuple[str, ...]
    risk_level: Severity
    summary: str
    actions: tuple[str, ...]
    key_terms: tuple[KeyTerm, ...]
    clauses: tuple[ReviewedClause, ...]
    findings: tuple[Finding, ...]
    missing_clauses: tuple[MissingClause, ...]
    checks: tuple[Check, ...]
    not_analysed: tuple[NotAnalysed, ...]
    disclaimer: str
