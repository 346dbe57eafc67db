"""From findings of single clauses to those of the contract.

Three things can only be seen from above: that a right is mutual after all because the other party
has it too in another clause, that the same wording stands in many places, and what to read first.
"""

from collections import defaultdict
from collections.abc import Iterable

from stagepost.tasks.contract_review.playbook import RULES
from stagepost.tasks.contract_review.report import Finding, Side, rank
from stagepost.tasks.documents.document import Document, Language

EACH_MOST = 2  # findings of one rule that are listed; further places are named in the last one


def verbatim(findings: Iterable[Finding], document: Document) -> tuple[list[Finding], int]:
    """The findings whose quote stands at its place in the document, and how many do not."""
    kept, dropped = [], 0
    for finding in findings:
        if finding.quote and document.text[finding.start : finding.end] == finding.quote:
            kept.append(finding)
        else:
            dropped += 1
    return kept, dropped


def without_mutual(findings: Iterable[Finding]) -> list[Finding]:
    """Drop one-sided findings whose wording binds both parties, each in its own sentence."""
    one_sided = {rule.id for rule in RULES if rule.one_sided}
    bearers: dict[str, set[Side]] = defaultdict(set)
    findings = list(findings)
    for finding in findings:
        bearers[finding.rule_id].add(finding.for_whom)
    both = {rule for rule in one_sided if {"partyA", "partyB"} <= bearers[rule]}
    return [finding for finding in findings if finding.rule_id not in both]


def folded(findings: Iterable[Finding], language: Language) -> list[Finding]:
    """List a rule at most `EACH_MOST` times a bearer; the last one names the other clauses.

    What a model has found or confirmed is about its own clause, and is listed by itself.
    """
    groups: dict[tuple[str, Side], list[Finding]] = defaultdict(list)
    listed: list[Finding] = []
    for finding in findings:
        if finding.model is None:
            groups[finding.rule_id, finding.for_whom].append(finding)
        else:
            listed.append(finding)
    for group in groups.values():
        group.sort(key=lambda finding: (rank(finding.severity), finding.start))
        listed += group[: EACH_MOST - 1]
        listed += _with_others(group[EACH_MOST - 1 :], language)
    return listed


def _with_others(rest: list[Finding], language: Language) -> list[Finding]:
    if len(rest) < 2:
        return rest
    last, *others = rest
    labels = list(dict.fromkeys(other.clause for other in others))
    shown = ", ".join(labels[:12]) + (" …" if len(labels) > 12 else "")
    note = (
        f"（同类措辞另见：{shown}。）"
        if language == "zh"
        else f" (The same wording also stands in: {shown}.)"
    )
    return [last.model_copy(update={"risk": last.risk + note})]


def ranked(findings: Iterable[Finding], side: Side) -> list[Finding]:
    """In reading order: severity, what harms the protected side first, place in the text."""
    return sorted(
        findings,
        key=lambda finding: (
            rank(finding.severity),
            _distance(finding.for_whom, side),
            -finding.confidence,
            finding.start,
            finding.rule_id,
        ),
    )


def _distance(bearer: Side, side: Side) -> int:
    if side in {"neutral", bearer}:
        return 0
    return 1 if bearer == "neutral" else 2
