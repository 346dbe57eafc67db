"""What the review knows before it reads the clauses: type, parties, law, and which rules apply."""

import re
from datetime import date

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from stagepost import InvalidInput
from stagepost.tasks.contract_review.contract_type import detect
from stagepost.tasks.contract_review.law import KNOWLEDGE_DATE
from stagepost.tasks.contract_review.party import parties
from stagepost.tasks.contract_review.playbook import RULES
from stagepost.tasks.contract_review.report import ContractType, Party, Side, is_none
from stagepost.tasks.contract_review.view import view
from stagepost.tasks.documents.document import Clause, Document, Language

PAGES_MOST = 500
PLAYBOOKS = ("default",)

_FOREIGN = (
    r"香港|澳门|台湾|美国|英国|英格兰|新加坡|日本|韩国|德国|法国|瑞士|瑞典|加拿大|澳大利亚|开曼"
    r"|纽约州|特拉华"
)
_PRC = re.compile(r"people's republic of china|\bprc\b|\bchina\b|chinese law")
_GOVERNS = re.compile(r"govern|constru|interpret|subject to|\bapply|applicable")
_LAW = re.compile(r"\blaws?\b|legislation")
_NEAR = 180  # characters before the name in which "governed by the laws of" may begin
_NOT_PRC_ZH = re.compile(
    rf"(?:适用|依据|按照|受)[^。；，]{{0,12}}(?:{_FOREIGN})[^。；，]{{0,12}}法"
)


class Knowledge(BaseModel):
    """The frame of one review; small, and handed to every clause.

    `prc` says that the law of the PRC governs, which alone lets our playbook cite it. `rules` are
    the ids of the playbook entries that apply. `language` is the report's, not the document's.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    contract_type: ContractType
    parties: tuple[Party, ...]
    side: Side
    language: Language
    prc: bool
    rules: tuple[str, ...]
    knowledge_date: date
    model: str | None = Field(None, exclude_if=is_none)


def knowledge(
    document: Document,
    clauses: tuple[Clause, ...],
    *,
    side: Side = "neutral",
    contract_type: ContractType | None = None,
    language: Language | None = None,
    playbook: str = "default",
    model: str | None = None,
) -> Knowledge:
    """Gather what the analysis needs to know about a contract.

    Args:
        document: the parsed contract.
        clauses: its clauses.
        side: the party to protect.
        contract_type: its type; None detects it.
        language: the report's language; None takes the document's.
        playbook: which playbook to review by.
        model: the alias of the model that reviews; None leaves it to the rules.

    Raises:
        InvalidInput: more than 500 pages, no clause at all, or an unknown playbook.
    """
    _refuse(document, clauses, playbook)
    kind = contract_type or detect(document)
    prc = governed_by_prc(document)
    return Knowledge(
        contract_type=kind,
        parties=parties(document),
        side=side,
        language=language or document.language,
        prc=prc,
        rules=tuple(rule.id for rule in RULES if rule.fits(kind, prc=prc)),
        knowledge_date=KNOWLEDGE_DATE,
        model=model,
    )


def _refuse(document: Document, clauses: tuple[Clause, ...], playbook: str) -> None:
    """Raise InvalidInput for what cannot be reviewed."""
    if len(document.pages) > PAGES_MOST:
        raise InvalidInput(
            f"The contract has {len(document.pages)} pages; the review reads at most {PAGES_MOST}."
            " Send its parts one by one."
        )
    if not clauses:
        raise InvalidInput("The document holds no text that could be reviewed.")
    if playbook not in PLAYBOOKS:
        raise InvalidInput(
            f"There is no playbook {playbook!r}; use one of: {', '.join(PLAYBOOKS)}."
        )


def governed_by_prc(document: Document) -> bool:
    """Whether the law of the PRC governs: by a Chinese text's silence, or named."""
    lower = view(document.text).lower
    if document.language == "zh":
        return not _NOT_PRC_ZH.search(lower) or "中华人民共和国法律" in lower
    return any(_names_law(lower, found) for found in _PRC.finditer(lower))


def _names_law(lower: str, found: re.Match[str]) -> bool:
    """Whether the country is named as the one whose law governs, within one sentence."""
    before = lower[max(0, found.start() - _NEAR) : found.start()].rpartition(". ")[2]
    after = lower[found.end() : found.end() + 30]
    if " law" in after and "govern" in after:
        return True
    return bool(_GOVERNS.search(before) and (_LAW.search(before) or "law" in found[0] + after[:6]))
