"""Mechanical checks: mistakes that need no judgement to be found."""

from itertools import islice

from stagepost.tasks.contract_review.checks.amounts import amounts
from stagepost.tasks.contract_review.checks.blanks import blanks
from stagepost.tasks.contract_review.checks.caps import caps
from stagepost.tasks.contract_review.checks.dates import dates
from stagepost.tasks.contract_review.checks.material import material
from stagepost.tasks.contract_review.checks.names import party_drift, undefined_terms
from stagepost.tasks.contract_review.checks.precedence import precedence
from stagepost.tasks.contract_review.checks.references import annexes, dangling
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.contract_review.report import Check, rank
from stagepost.tasks.documents.document import Clause, Document

EACH_MOST = 20


def mechanical_checks(
    document: Document, clauses: tuple[Clause, ...], knowledge: Knowledge
) -> tuple[Check, ...]:
    """Every check on a contract, the gravest first, then in the order of the text.

    At most `EACH_MOST` of one kind are listed; a contract with more is beyond proofreading.

    Each quote stands verbatim at its place in `document.text`.
    """
    read = material(document, clauses, knowledge)
    kinds = (
        amounts, dates, caps, dangling, annexes, blanks, party_drift, undefined_terms, precedence,
    )  # fmt: skip
    found = [one for check in kinds for one in islice(check(read), EACH_MOST)]
    return tuple(sorted(found, key=lambda one: (rank(one.severity), one.start, one.kind)))
