"""Dates that no calendar has, periods that end before they begin or do not fit their length."""

import re
from collections.abc import Iterator
from datetime import date
from itertools import pairwise

from stagepost.tasks.contract_review.checks.material import Material
from stagepost.tasks.contract_review.quantities import durations
from stagepost.tasks.contract_review.report import Check
from stagepost.tasks.contract_review.wording import Wording

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"\b(?P<m1>{_MONTH}) (?P<d1>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y1>\d{{4}})\b"
    rf"|\b(?P<d2>[12]?\d|3[01])(?:st|nd|rd"
    rf"|th)? (?:day )?(?:of )?(?P<m2>{_MONTH}),? (?P<y2>\d{{4}})\b"
    r"|(?<!\d)(?P<y3>\d{4}) ?年 ?(?P<m3>\d{1,2}) ?月 ?(?P<d3>\d{1,2}) ?日"
    r"|(?<![\d/-])(?P<y4>\d{4})[-/.](?P<m4>\d{1,2})[-/.](?P<d4>\d{1,2})(?![\d/-])"
)
_FROM = re.compile(
    r"(?:\bfrom|\bcommenc\w{2,4}(?: on)?|\bbeginning(?: on)?|\bbegins? on|\beffective(?: from"
    r"| on| as of)?|\bstarting(?: on)?|自|从|于)[^.。;；]{0,12}$"
)
_TO = re.compile(
    r"^[^.。;；]{0,40}?(?:\bto\b|\buntil\b|\bthrough\b|\bending(?: on)?|\bends? on\b"
    r"|\bexpir\w{2,4} on\b|至|到|截至)[^.。;；]{0,10}$"
)
_YEARS = (1900, 2200)
_LOOSE = 35.0  # days by which a stated length may differ from its dates


def dates(material: Material) -> Iterator[Check]:
    """Impossible dates (MEDIUM), periods that run backwards (HIGH) or misstate their length."""
    lower = material.shown.lower
    read: list[tuple[re.Match[str], date]] = []
    for found in _DATE.finditer(lower):
        day = _day(found)
        if day is None:
            message = Wording(f"There is no such date: {found[0]}.", f"日期不存在：{found[0]}。")
            yield material.check("date-impossible", found.span(), message, "MEDIUM")
        else:
            read.append((found, day))
    for (first, begins), (second, ends) in pairwise(read):
        if second.start() - first.end() <= 60 and _is_period(lower, first, second):
            yield from _period(material, (first, begins), (second, ends))


def _day(found: re.Match[str]) -> date | None:
    for form in "1234":
        year, month, day = (found[f"{part}{form}"] for part in "ymd")
        if year:
            number = int(month) if month.isdigit() else _MONTHS.index(month) + 1
            if not _YEARS[0] <= int(year) <= _YEARS[1]:
                return None
            try:
                return date(int(year), number, int(day))
            except ValueError:
                return None
    return None


def _is_period(lower: str, first: re.Match[str], second: re.Match[str]) -> bool:
    before = lower[max(0, first.start() - 30) : first.start()]
    between = lower[first.end() : second.start()]
    return bool(_FROM.search(before) and _TO.search(between))


def _period(
    material: Material, first: tuple[re.Match[str], date], second: tuple[re.Match[str], date]
) -> Iterator[Check]:
    span = first[0].start(), second[0].end()
    if second[1] <= first[1]:
        message = Wording(
            f"The period ends ({second[1]}) before it begins ({first[1]}).",
            f"期间终止日（{second[1]}）早于起始日（{first[1]}）。",
        )
        yield material.check("date-contradiction", span, message, "HIGH")
        return
    stated = _stated_length(material, span)
    actual = (second[1] - first[1]).days + 1
    if stated and abs(stated - actual) > _LOOSE:
        message = Wording(
            f"The stated length ({stated:.0f} days) does not fit the dates ({actual} days).",
            f"约定期限（约{stated:.0f}天）与起止日期（{actual}天）不一致。",
        )
        yield material.check("date-contradiction", span, message, "MEDIUM")


def _stated_length(material: Material, span: tuple[int, int]) -> float | None:
    """The length in days that stands beside a period, as in "two years, from ... to ..."."""
    lower = material.shown.lower
    begin, stop = material.sentence_at(span[0])
    before = lower[max(begin, span[0] - 40) : span[0]]
    after = lower[span[1] : min(stop, span[1] + 24)]
    if re.search(r"\bterm|period|期", before) or re.search(r"共|计|为期|\(", after):
        near = [*durations(before)[-1:], *durations(after)[:1]]
        if near and near[0].value >= 28:
            return near[0].value
    return None
