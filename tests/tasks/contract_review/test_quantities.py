"""Numbers in words, durations and shares."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.tasks.contract_review.numerals import (
    chinese_amount,
    chinese_number,
    english_number,
)
from stagepost.tasks.contract_review.quantities import durations, percentages

_DIGITS, _PLACES = "零一二三四五六七八九", ("", "十", "百", "千")


def _in_chinese(number: int) -> str:
    """A number below 100 million as Chinese writes it."""
    if number >= 10_000:
        rest = number % 10_000
        gap = "零" if 0 < rest < 1_000 else ""
        return _in_chinese(number // 10_000) + "万" + (gap + _in_chinese(rest) if rest else "")
    digits = str(number)
    written = "".join(
        _DIGITS[int(digit)] + (_PLACES[len(digits) - place - 1] if digit != "0" else "")
        for place, digit in enumerate(digits)
    )
    while "零零" in written:
        written = written.replace("零零", "零")
    return written.rstrip("零") or "零"


@given(st.integers(0, 99_999_999))
def test_chinese_numbers_are_read_as_they_are_written(number: int) -> None:
    assert chinese_number(_in_chinese(number)) == number


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("壹佰贰拾万", 1_200_000),
        ("十五", 15),
        ("两千零五", 2_005),
        ("二〇二四", 2024),
        ("叁亿", 300_000_000),
    ],
)
def test_formal_and_short_chinese_numbers(written: str, number: int) -> None:
    assert chinese_number(written) == number


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("one hundred and eighty thousand", 180_000),
        ("twenty-five", 25),
        ("two million three hundred thousand and four", 2_300_004),
        ("zero", 0),
    ],
)
def test_english_numbers(written: str, number: int) -> None:
    assert english_number(written) == number


def test_what_is_no_number_is_none() -> None:
    assert english_number("one apple") is None
    assert english_number("and") is None
    assert chinese_number("甲") is None
    assert chinese_amount("壹万元左右") is None
    assert chinese_amount("壹万贰仟元伍角零三分") == Decimal("12000.53")
    assert chinese_amount("捌拾陆万元整") == 860_000


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("within thirty (30) days", [30]),
        ("a 12-month term and two years", [360, 730]),
        ("five (5) business days after", [5]),
        ("24 hours", [1]),
        ("提前三十日通知", [30]),
        ("自验收之日起24个月", [720]),
        ("15个工作日内", [15]),
        ("半年", [182.5]),
        ("二十五年", [9125]),
        ("于2026年3月2日签订", []),
    ],
)
def test_durations_in_days(text: str, days: list[float]) -> None:
    assert [one.value for one in durations(text)] == pytest.approx(days)


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("1.5% per month", [1.5]),
        ("ten percent (10%) of", [10, 10]),
        ("百分之三十", [30]),
        ("千分之五及万分之五", [0.5, 0.05]),
        ("3‰", [0.3]),
        ("four days", []),
    ],
)
def test_shares_in_percent(text: str, shares: list[float]) -> None:
    assert [one.value for one in percentages(text)] == pytest.approx(shares)
