"""The report, put together."""

from collections.abc import Iterable

from stagepost.tasks.contract_review.categories import categorise
from stagepost.tasks.contract_review.categories.front import front
from stagepost.tasks.contract_review.clause_item import ClauseItem, clause_items, not_analysed
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.contract_review.labels import DISCLAIMER, DISCLAIMER_MODEL
from stagepost.tasks.contract_review.likeness import NOT_A_CONTRACT, looks_like_contract
from stagepost.tasks.contract_review.missing import (
    TERMS_ELSEWHERE,
    TOO_SHORT,
    has_terms_elsewhere,
    is_extract,
)
from stagepost.tasks.contract_review.report import (
    ENGINE,
    NotAnalysed,
    ReviewedClause,
    ReviewReport,
)
from stagepost.tasks.contract_review.summary import ReviewSummary
from stagepost.tasks.contract_review.wording import Wording, counted
from stagepost.tasks.documents.document import Clause, Document


def assemble(
    document: Document,
    clauses: tuple[Clause, ...],
    knowledge: Knowledge,
    summary: ReviewSummary,
    *,
    failed: Iterable[NotAnalysed] = (),
) -> ReviewReport:
    """The whole report; `failed` are clauses whose analysis broke, with the reason."""
    items = clause_items(document, clauses)
    told = summary.told
    unread = told.not_analysed if told else ()
    closing = DISCLAIMER_MODEL if told and told.by_model else DISCLAIMER
    return ReviewReport(
        engine=told.engine if told else ENGINE,
        file_hash=document.sha256,
        pages=len(document.pages),
        language=knowledge.language,
        contract_type=knowledge.contract_type,
        parties=knowledge.parties,
        side=knowledge.side,
        knowledge_date=knowledge.knowledge_date,
        warnings=tuple(_warnings(document, knowledge, summary)),
        risk_level=summary.risk_level,
        summary=summary.summary,
        actions=summary.actions,
        key_terms=summary.key_terms,
        clauses=_reviewed(document, items, knowledge, summary),
        findings=summary.findings,
        missing_clauses=summary.missing_clauses,
        checks=summary.checks,
        not_analysed=(*failed, *unread, *not_analysed(document, items, knowledge.language)),
        disclaimer=closing(knowledge.language),
    )


def _reviewed(
    document: Document,
    items: tuple[ClauseItem, ...],
    knowledge: Knowledge,
    summary: ReviewSummary,
) -> tuple[ReviewedClause, ...]:
    """The clauses with their categories; a category of the front is marked where it stands."""
    spans = list(front(document, knowledge.parties, summary.key_terms))
    reviewed = []
    for clause in map(categorise, items):
        here = [span for span in spans if clause.start <= span.start and span.end <= clause.end]
        update = {"categories": (*here, *clause.categories)}
        reviewed.append(clause.model_copy(update=update) if here else clause)
    return tuple(reviewed)


def _warnings(document: Document, knowledge: Knowledge, summary: ReviewSummary) -> Iterable[str]:
    if not looks_like_contract(document, knowledge.parties):
        yield NOT_A_CONTRACT(knowledge.language)
    if has_terms_elsewhere(document):
        yield TERMS_ELSEWHERE(knowledge.language)
    elif is_extract(document):
        yield TOO_SHORT(knowledge.language)
    yield from document.warnings
    yield from summary.told.warnings if summary.told else ()
    if summary.dropped:
        yield Wording(
            f"{counted(summary.dropped, 'finding')} left out: the quote is not in the document.",
            f"有{summary.dropped}项风险因引文与原文不符被剔除。",
        )(knowledge.language)
    if len(knowledge.parties) < 2:
        yield Wording(
            "The parties could not be made out; who bears a risk may be missing.",
            "未能识别合同双方，风险承担方可能缺失。",
        )(knowledge.language)
