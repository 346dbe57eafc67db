"""The overall risk of a contract, by a published formula.

Points: each finding, failed check and missing clause counts HIGH 10, MEDIUM 3, LOW 1. A finding
that burdens only the party that is not protected counts nothing. Each of the three lists counts at
most 30 points for its MEDIUM and LOW entries, so that a long contract is not grave by its length.

The contract is HIGH with three or more HIGH entries, or with 40 points or more of which at least
one entry is HIGH; MEDIUM with any HIGH entry or 10 points or more; LOW otherwise.
"""

from collections.abc import Iterable

from stagepost.tasks.contract_review.report import (
    Check,
    Finding,
    MissingClause,
    Severity,
    Side,
)

POINTS: dict[Severity, int] = {"HIGH": 10, "MEDIUM": 3, "LOW": 1}
HIGH_ENTRIES = 3
HIGH_POINTS = 40
MEDIUM_POINTS = 10
LIST_MOST = 30


def overall_risk(
    findings: Iterable[Finding],
    missing: Iterable[MissingClause],
    checks: Iterable[Check],
    side: Side = "neutral",
) -> Severity:
    """The level that the formula above gives."""
    lists = (
        [one.severity for one in findings if _concerns(one, side)],
        [one.severity for one in missing],
        [one.severity for one in checks],
    )
    highs = sum(entries.count("HIGH") for entries in lists)
    points = highs * POINTS["HIGH"] + sum(_lesser(entries) for entries in lists)
    if highs >= HIGH_ENTRIES or (highs and points >= HIGH_POINTS):
        return "HIGH"
    return "MEDIUM" if highs or points >= MEDIUM_POINTS else "LOW"


def _lesser(entries: list[Severity]) -> int:
    points = sum(POINTS[severity] for severity in entries if severity != "HIGH")
    return min(points, LIST_MOST)


def _concerns(finding: Finding, side: Side) -> bool:
    return side == "neutral" or finding.for_whom in {side, "neutral"}
