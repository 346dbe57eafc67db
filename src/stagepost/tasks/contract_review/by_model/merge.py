"""The findings of rules and of a model, made one list."""

from collections import defaultdict
from collections.abc import Iterable

from stagepost.tasks.contract_review.report import Finding, rank

CONFIDENCE_MOST = 0.95  # however many agree


def merged(rules: Iterable[Finding], models: Iterable[Finding]) -> list[Finding]:
    """Each place and category once: a rule's finding that a model confirms carries both.

    Nothing that a rule has found is left out or made smaller by what a model says.
    """
    open_ones: dict[str, list[Finding]] = defaultdict(list)
    for finding in models:
        open_ones[finding.category].append(finding)
    made = []
    for rule in rules:
        of_category = open_ones[rule.category]
        same = next((one for one in of_category if _at_one_place(one, rule)), None)
        if same is not None:
            of_category.remove(same)
        made.append(rule if same is None else _both(rule, same))
    return [*made, *(one for rest in open_ones.values() for one in rest)]


def _at_one_place(one: Finding, other: Finding) -> bool:
    """Whether two quotes share at least half of the shorter one."""
    shared = min(one.end, other.end) - max(one.start, other.start)
    return 2 * shared >= min(one.end - one.start, other.end - other.start)


def _both(rule: Finding, model: Finding) -> Finding:
    law = rule.law_reference or model.law_reference
    doubt = (1 - rule.confidence) * (1 - model.confidence)
    return rule.model_copy(
        update={
            "severity": min(rule.severity, model.severity, key=rank),
            "risk": _joined(rule.risk, model.risk),
            "suggestion": _joined(rule.suggestion, model.suggestion),
            "law_reference": law,
            "confidence": round(max(rule.confidence, min(CONFIDENCE_MOST, 1 - doubt)), 2),
            "model": model.model,
            "citation": None if law else model.citation,
        }
    )


def _joined(first: str, second: str) -> str:
    return first + ("" if first.endswith(("。", "！", "？")) else " ") + second
