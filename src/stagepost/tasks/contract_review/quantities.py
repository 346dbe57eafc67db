"""Durations and shares as contracts write them. The text is a view's lower-case one."""

import re
from dataclasses import dataclass

from stagepost.tasks.contract_review.numerals import (
    CHINESE_NUMBER,
    SMALL,
    chinese_number,
    english_number,
)

_DAYS = {"day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0, "hour": 1 / 24}
_CHINESE_DAYS = {
    "日": 1.0,
    "天": 1.0,
    "周": 7.0,
    "星期": 7.0,
    "月": 30.0,
    "年": 365.0,
    "小时": 1 / 24,
}
_WORD = "|".join(sorted([*SMALL, "hundred"], key=len, reverse=True))
_WORDS = rf"(?>{_WORD})(?>(?:[- ](?>{_WORD})){{0,3}})"
_NUMBER = rf"(?:(?<!\d)\d{{1,4}}+(?:\.\d{{1,2}})?|{_WORDS})"
_ENGLISH = re.compile(
    rf"({_NUMBER})(?:-| )?(?:\( ?(\d{{1,4}}+) ?\) ?)?"
    r"-?(?>(?:(?>full|calendar|business|working|consecutive|successive|additional) ){0,2})"
    r"(day|week|month|year|hour)s?\b"
)
_CHINESE = re.compile(
    rf"((?<!\d)\d{{1,4}}|[{CHINESE_NUMBER}半]{{1,6}})(?:\(\d{{1,4}}\))?个?(?:自然|工作|日历|营业)?"
    r"(日|天|周|星期|月|年|小时)(?!\d)"
)
_CHINESE_DATE = re.compile(r"\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?")
_PERCENT = re.compile(
    rf"((?<![\d.])\d{{1,4}}+(?:\.\d{{1,4}}+)?|{_WORDS}"
    r"(?: ?\( ?\d{1,3}+(?:\.\d{1,2}+)? ?%? ?\))?) ?(%|percent\b|per cent\b|‰)"
)
_CHINESE_PERCENT = re.compile(
    rf"(百|千|万)分之([{CHINESE_NUMBER}]{{1,6}}|\d{{1,3}}(?:\.\d{{1,3}})?)"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in the unit its function names, and its range in the text read."""

    value: float
    start: int
    end: int


def durations(text: str) -> list[Quantity]:
    """Every duration in days (a month as 30, a year as 365), in order; dates are none."""
    dates = [found.span() for found in _CHINESE_DATE.finditer(text)]
    read = [
        Quantity(number * _DAYS[found[3]], *found.span())
        for found in _ENGLISH.finditer(text)
        if (number := _number(found[2] or found[1])) is not None
    ]
    read += [
        Quantity(number * _CHINESE_DAYS[found[2]], *found.span())
        for found in _CHINESE.finditer(text)
        if not any(start <= found.start() < end for start, end in dates)
        and (number := _number(found[1])) is not None
    ]
    return sorted(read, key=lambda quantity: quantity.start)


def percentages(text: str) -> list[Quantity]:
    """Every share in percent (`千分之五` as 0.5), in order."""
    read = [
        Quantity(number / (10 if found[2] == "‰" else 1), *found.span())
        for found in _PERCENT.finditer(text)
        if (number := _number(found[1].split("(")[0].strip())) is not None
    ]
    scale = {"百": 1, "千": 10, "万": 100}
    read += [
        Quantity(number / scale[found[1]], *found.span())
        for found in _CHINESE_PERCENT.finditer(text)
        if (number := _number(found[2])) is not None
    ]
    return sorted(read, key=lambda quantity: quantity.start)


def _number(written: str) -> float | None:
    if written == "半":
        return 0.5
    try:
        return float(written)
    except ValueError:
        whole = chinese_number(written) if written[0] in CHINESE_NUMBER else english_number(written)
        return None if whole is None else float(whole)
