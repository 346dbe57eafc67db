"""The flagship task: a contract in, a report that a lawyer or a buyer can act on out.

The steps are pure functions, in this order: `knowledge`, `clause_items`, `analyse_clause` for each
item, `summarise`, `assemble`, `render_html`.
"""

from stagepost.tasks.contract_review.analyse import analyse_clause
from stagepost.tasks.contract_review.assembly import assemble
from stagepost.tasks.contract_review.clause_item import ClauseItem, clause_items
from stagepost.tasks.contract_review.frame import Knowledge, knowledge
from stagepost.tasks.contract_review.page import render_html
from stagepost.tasks.contract_review.report import (
    ContractType,
    Finding,
    NotAnalysed,
    ReviewReport,
    Side,
)
from stagepost.tasks.contract_review.summary import ReviewSummary, summarise

__all__ = [
    "ClauseItem",
    "ContractType",
    "Finding",
    "Knowledge",
    "NotAnalysed",
    "ReviewReport",
    "ReviewSummary",
    "Side",
    "analyse_clause",
    "assemble",
    "clause_items",
    "knowledge",
    "render_html",
    "summarise",
]
