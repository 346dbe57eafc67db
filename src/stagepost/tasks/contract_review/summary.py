"""What the review comes to: the settled lists, the level, a paragraph, five first actions."""

from collections.abc import Iterable
from itertools import chain

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from stagepost.tasks.contract_review.by_model.merge import merged
from stagepost.tasks.contract_review.category_words import word
from stagepost.tasks.contract_review.checks import mechanical_checks
from stagepost.tasks.contract_review.clause_label import clause_name
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.contract_review.key_terms import key_terms
from stagepost.tasks.contract_review.labels import LEVEL, TYPE
from stagepost.tasks.contract_review.likeness import NOT_A_CONTRACT, looks_like_contract
from stagepost.tasks.contract_review.missing import missing_clauses
from stagepost.tasks.contract_review.overall import Weighed, weigh
from stagepost.tasks.contract_review.report import (
    Check,
    Finding,
    KeyTerm,
    MissingClause,
    NotAnalysed,
    Severity,
    Side,
    is_none,
    rank,
)
from stagepost.tasks.contract_review.settle import folded, ranked, verbatim, without_mutual
from stagepost.tasks.contract_review.wording import Wording, counted
from stagepost.tasks.documents.document import Clause, Document

ACTIONS_MOST = 5


class Told(BaseModel):
    """What a review by a model says of itself; `by_model` is false where none answered."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    engine: str
    by_model: bool
    warnings: tuple[str, ...]
    not_analysed: tuple[NotAnalysed, ...]


class ReviewSummary(BaseModel):
    """Everything that is decided from above the single clause; `dropped` counts unproved quotes.

    `told` is there where a model was asked.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    risk_level: Severity
    summary: str
    actions: tuple[str, ...]
    findings: tuple[Finding, ...]
    missing_clauses: tuple[MissingClause, ...]
    checks: tuple[Check, ...]
    key_terms: tuple[KeyTerm, ...]
    dropped: int
    told: Told | None = Field(None, exclude_if=is_none)


def summarise(
    document: Document,
    clauses: tuple[Clause, ...],
    knowledge: Knowledge,
    findings: Iterable[Iterable[Finding]],
    by_models: Iterable[Finding] = (),
    told: Told | None = None,
) -> ReviewSummary:
    """Settle the clauses' findings and say what matters.

    Args:
        document: the contract.
        clauses: its clauses.
        knowledge: the frame of the review.
        findings: what `analyse_clause` gave for each clause, in any order.
        by_models: what models found, already screened.
        told: what a review by models says of itself; None for one by the rules.

    Returns:
        Findings in reading order, each quote verbatim at its place (others are dropped and
        counted); the missing clauses and checks; the level by the formula of `overall`.
    """
    proved, dropped = verbatim(chain.from_iterable(findings), document)
    models, forged = verbatim(by_models, document)
    both = merged(without_mutual(proved), models)
    settled = ranked(folded(both, knowledge.language), knowledge.side)
    missing = missing_clauses(document, knowledge)
    checks = mechanical_checks(document, clauses, knowledge)
    weighed = weigh(settled, missing, checks, knowledge.side)
    return ReviewSummary(
        risk_level=weighed.level,
        summary=_warned(document, knowledge)
        + _paragraph(knowledge, weighed, settled, missing, checks),
        actions=tuple(_actions(knowledge, settled, missing, checks)),
        findings=tuple(settled),
        missing_clauses=missing,
        checks=checks,
        key_terms=key_terms(document, knowledge),
        dropped=dropped + forged,
        told=told,
    )


def _warned(document: Document, knowledge: Knowledge) -> str:
    """What must be said before anything else; "" when nothing must."""
    if looks_like_contract(document, knowledge.parties):
        return ""
    return Wording(f"{NOT_A_CONTRACT.en} ", NOT_A_CONTRACT.zh)(knowledge.language)


def _paragraph(
    knowledge: Knowledge,
    weighed: Weighed,
    findings: list[Finding],
    missing: tuple[MissingClause, ...],
    checks: tuple[Check, ...],
) -> str:
    sides = [_side(knowledge, side) for side in ("partyA", "partyB")]
    names = Wording(" and ", " / ")(knowledge.language).join(side for side in sides if side)
    names = names.rstrip(".")  # the sentence ends with one
    kind = TYPE[knowledge.contract_type]
    highs = sum(finding.severity == "HIGH" for finding in findings)
    themes = list(
        dict.fromkeys(word(finding.category, knowledge.language) for finding in findings)
    )[:3]
    graded = f", {highs or 'none'} of them high" if findings else ""
    level, why = LEVEL[weighed.level], weighed.why
    known = names or knowledge.contract_type != "other"
    begun = f"{kind.en.capitalize()}{f' between {names}' if names else ''}. " if known else ""
    en = (
        f"{begun}Overall risk: {level.en},"
        f" because {why.en}. {counted(len(findings), 'finding')}{graded};"
        f" {counted(len(missing), 'usual clause')} missing;"
        f" {counted(len(checks), 'mechanical check')} failed."
        + (f" Main themes: {'; '.join(themes)}." if themes else " The rules found no risk.")
    )
    zh = (
        f"{kind.zh}{f'（{names}）' if names else ''}，整体风险：{level.zh}（{why.zh}）。"
        f"共发现{len(findings)}项风险，其中高风险{highs}项；缺失常见条款{len(missing)}项；"
        f"机械校验未通过{len(checks)}项。"
        + (f"主要涉及：{'、'.join(themes)}。" if themes else "规则未发现风险。")
    )
    return Wording(en, zh)(knowledge.language)


def _side(knowledge: Knowledge, side: Side) -> str:
    """The names of all who stand on one side."""
    return ", ".join(party.name or party.alias for party in knowledge.parties if party.side == side)


def _actions(
    knowledge: Knowledge,
    findings: list[Finding],
    missing: tuple[MissingClause, ...],
    checks: tuple[Check, ...],
) -> list[str]:
    """The first five things to do: by severity, and in it checks, findings, missing clauses."""
    language = knowledge.language
    ordered = [
        *((rank(check.severity), 0, check.kind, _of_check(check)) for check in checks),
        *((rank(one.severity), 1, one.rule_id or one.id, _of_finding(one)) for one in findings),
        *((rank(one.severity), 2, one.category, _of_missing(one)) for one in missing),
    ]
    first: dict[str, str] = {}
    for _, _, key, text in sorted(ordered, key=lambda entry: entry[:2]):
        first.setdefault(key, text(language))
        if len(first) == ACTIONS_MOST:
            break
    return list(first.values())


def _of_check(check: Check) -> Wording:
    en = f"Correct before signing. {check.message}"
    return Wording(en, f"签署前更正。{check.message}")


def _of_finding(finding: Finding) -> Wording:
    return Wording(
        f"In {clause_name(finding.clause, 'en')}: {finding.suggestion} ({finding.risk})",
        f"{clause_name(finding.clause, 'zh')}：{finding.suggestion}（{finding.risk}）",
    )


def _of_missing(missing: MissingClause) -> Wording:
    return Wording(
        f"Add a clause: {word(missing.category, 'en')}. {missing.why}",
        f"补充“{word(missing.category, 'zh')}”条款：{missing.why}",
    )
