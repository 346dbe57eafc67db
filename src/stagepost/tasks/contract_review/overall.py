"""The overall risk of a contract, by a published formula.

Points: each finding, failed check and missing clause counts HIGH 10, MEDIUM 3, LOW 1. A finding
that burdens only the party that is not protected counts nothing. Each of the three lists counts at
most 30 points for its MEDIUM and LOW entries, so that a long contract is not grave by its length.

The contract is HIGH with three or more HIGH entries, or with 40 points or more of which at least
one entry is HIGH; MEDIUM with any HIGH entry or 10 points or more; LOW otherwise.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from stagepost.tasks.contract_review.report import (
    Check,
    Finding,
    MissingClause,
    Severity,
    Side,
)
from stagepost.tasks.contract_review.wording import Wording, counted

POINTS: dict[Severity, int] = {"HIGH": 10, "MEDIUM": 3, "LOW": 1}
HIGH_ENTRIES = 3
HIGH_POINTS = 40
MEDIUM_POINTS = 10
LIST_MOST = 30


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the formula gives: the level, and why, as the end of "because ..."."""

    level: Severity
    why: Wording


def weigh(
    findings: Iterable[Finding],
    missing: Iterable[MissingClause],
    checks: Iterable[Check],
    side: Side = "neutral",
) -> Weighed:
    """The level that the formula above gives, with the part of it that decided."""
    lists = {
        Wording("findings", "风险"): [one.severity for one in findings if _concerns(one, side)],
        Wording("missing clauses", "缺失条款"): [one.severity for one in missing],
        Wording("failed checks", "机械校验"): [one.severity for one in checks],
    }
    highs = sum(entries.count("HIGH") for entries in lists.values())
    points = {name: _points(entries) for name, entries in lists.items() if entries}
    total = sum(points.values())
    if highs >= HIGH_ENTRIES:
        return Weighed("HIGH", _many(highs, HIGH_ENTRIES))
    if highs and total >= HIGH_POINTS:
        return Weighed("HIGH", _sum(points, HIGH_POINTS))
    if highs:
        return Weighed("MEDIUM", _many(highs, 1))
    if total >= MEDIUM_POINTS:
        return Weighed("MEDIUM", _sum(points, MEDIUM_POINTS))
    return Weighed("LOW", _few(total))


def overall_risk(
    findings: Iterable[Finding],
    missing: Iterable[MissingClause],
    checks: Iterable[Check],
    side: Side = "neutral",
) -> Severity:
    """The level alone."""
    return weigh(findings, missing, checks, side).level


def _points(entries: list[Severity]) -> int:
    lesser = sum(POINTS[severity] for severity in entries if severity != "HIGH")
    return entries.count("HIGH") * POINTS["HIGH"] + min(lesser, LIST_MOST)


def _many(highs: int, enough: int) -> Wording:
    return Wording(
        f"{counted(highs, 'entry', 'entries')} of the lists {'is' if highs == 1 else 'are'} high"
        f" ({enough} {'is' if enough == 1 else 'are'} enough)",
        f"高风险项{highs}项，达到{enough}项",
    )


def _sum(points: dict[Wording, int], enough: int) -> Wording:
    en = ", ".join(f"{name.en} {number}" for name, number in points.items())
    zh = "、".join(f"{name.zh}{number}分" for name, number in points.items())
    total = sum(points.values())
    return Wording(
        f"the lists come to {total} points ({en}; {enough} are enough)",
        f"{zh}，合计{total}分，达到{enough}分",
    )


def _few(total: int) -> Wording:
    return Wording(
        f"no entry of the lists is high and they come to {counted(total, 'point')}, below"
        f" {MEDIUM_POINTS}",
        f"无高风险项，合计{total}分，低于{MEDIUM_POINTS}分",
    )


def _concerns(finding: Finding, side: Side) -> bool:
    return side == "neutral" or finding.for_whom in {side, "neutral"}
