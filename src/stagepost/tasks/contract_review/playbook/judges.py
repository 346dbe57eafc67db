"""Closer looks at a match: the numbers beside it, and words elsewhere in its clause."""

import re
from collections.abc import Callable

from stagepost.tasks.contract_review.quantities import durations, percentages
from stagepost.tasks.contract_review.report import Severity
from stagepost.tasks.contract_review.rule import Hit, Judge

_BEFORE = (
    14  # characters before the wording in which its figure may stand: "50 % of ... as damages"
)
_CEILING_BEFORE = 16
_CEILING = re.compile(r"不超过|不得超过|最高|上限|累计|以内|exceed|maximum|cap(?:ped)?\b|up to")
_PER_DAY = re.compile(
    r"per day|daily|each day|a day\b|每日|每天|每逾期一[日天]|按日|/日|/天|日万分之|日千分之"
)
_PER_MONTH = re.compile(r"per month|monthly|a month\b|each month|每月|按月|月利率|月息|/月")


def longest(hit: Hit) -> float:
    """The longest duration in the matched words, in days; 0 without one."""
    return max((one.value for one in durations(hit.words)), default=0.0)


def shortest(hit: Hit) -> float:
    """The shortest duration in the matched words, in days; infinite without one."""
    return min((one.value for one in durations(hit.words)), default=float("inf"))


def longest_said(hit: Hit) -> float:
    """The longest duration anywhere in the sentence, in days; 0 without one."""
    return max((one.value for one in durations(hit.said)), default=0.0)


def shares(hit: Hit) -> list[float]:
    """The shares in and right before the matched words, in percent, that are not a mere ceiling."""
    begin = max(hit.sentence[0], hit.found[0] - _BEFORE)
    words = hit.view.lower[begin : min(hit.sentence[1], hit.found[1] + 60)]
    return [
        one.value
        for one in percentages(words)
        if not _CEILING.search(words[max(0, one.start - _CEILING_BEFORE) : one.start])
    ]


def share(hit: Hit) -> float:
    """The largest share in the matched words, in percent; 0 without one."""
    return max(shares(hit), default=0.0)


def longer_than(days: float, severity: Severity) -> Judge:
    """The severity when a duration in the words is longer than so many days."""
    return lambda hit: severity if longest(hit) > days else None


def shorter_than(days: float, severity: Severity) -> Judge:
    """The severity when a duration in the words is shorter than so many days."""
    return lambda hit: severity if shortest(hit) < days else None


def between(least: float, most: float, severity: Severity) -> Judge:
    """The severity when the longest duration in the words lies between so many days."""
    return lambda hit: severity if least <= longest(hit) <= most else None


def by_length(
    steps: tuple[tuple[float, Severity | None], ...],
    otherwise: Severity | None,
    measure: Callable[[Hit], float] = longest,
) -> Judge:
    """The severity of the first step whose days the longest duration exceeds."""

    def judge(hit: Hit) -> Severity | None:
        length = measure(hit)
        return next((severity for days, severity in steps if length > days), otherwise)

    return judge


def by_share(steps: tuple[tuple[float, Severity], ...], otherwise: Severity | None = None) -> Judge:
    """The severity of the first step whose percentage the largest share reaches."""

    def judge(hit: Hit) -> Severity | None:
        percent = share(hit)
        return next((severity for least, severity in steps if percent >= least), otherwise)

    return judge


def unless_clause_says(pattern: str, severity: Severity) -> Judge:
    """The severity, but none when the clause says elsewhere what would cure it."""
    cure = re.compile(pattern)
    return lambda hit: None if cure.search(hit.clause) else severity


def unless_sentence_says(pattern: str, severity: Severity) -> Judge:
    """The severity, but none when the sentence, however long, sets a condition."""
    condition = re.compile(pattern)
    return lambda hit: None if condition.search(hit.said) else severity


def interest(high: float, medium: float) -> Judge:
    """Severity of a rate of interest or late damages by what it comes to in percent a year."""

    def judge(hit: Hit) -> Severity | None:
        rates = shares(hit)
        if not rates:
            return None
        times = 365 if _PER_DAY.search(hit.said) else 12 if _PER_MONTH.search(hit.said) else 1
        year = max(rates) * times
        return "HIGH" if year >= high else "MEDIUM" if year >= medium else None

    return judge
