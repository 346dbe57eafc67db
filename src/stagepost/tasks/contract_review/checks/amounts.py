"""Amounts stated twice, in words and in figures, that do not agree."""

import re
from collections.abc import Iterator
from decimal import Decimal

from stagepost.tasks.contract_review.checks.material import Material
from stagepost.tasks.contract_review.numerals import (
    CHINESE_NUMBER,
    FIGURE,
    SCALES,
    SMALL,
    chinese_amount,
    chinese_number,
    english_number,
    figure,
)
from stagepost.tasks.contract_review.report import Check
from stagepost.tasks.contract_review.wording import Wording

_WORD = "|".join(sorted([*SMALL, *SCALES, "hundred"], key=len, reverse=True))
_ONES = "|".join(sorted(SMALL, key=len, reverse=True))  # a number begins with one of these
_WORDS = (
    rf"(?<![\w-])(?<!point )(?P<words>(?>{_ONES})(?>(?:(?> and |, |[ -])(?>{_WORD})){{0,14}}))"
    r"(?P<cents> and \d{2}/100)?"
)
_UNIT = (
    r"(?: (?:u\.?s\.?|united states|canadian|hong kong))?"
    r"(?: (?:dollars?|percent|per cent|euros?|yuan|renminbi|rmb|pounds?(?: sterling)?|yen))?"
)
_FIGURE = rf"(?P<figure>{FIGURE})"
_MARK = r"(?:(?:us|hk|rmb|usd|cny|eur|gbp)? ?[$€£¥￥]?|usd|rmb|eur|cny) ?"
_WORDS_FIRST = re.compile(rf"{_WORDS}{_UNIT} ?\({_MARK}{_FIGURE} ?%? ?\)")
_FIGURE_FIRST = re.compile(
    rf"(?:[$€£¥￥]|usd|rmb|eur) ?{_FIGURE} ?\((?:in words:? ?|say:? ?)?(?:u\.?s\.? ?)?"
    rf"(?:rmb |dollars )?{_WORDS}{_UNIT}(?: only)?\)"
)
_FORMAL = "壹贰叁肆伍陆柒捌玖拾佰仟貳叄陸萬"
_CAPITALS = re.compile(
    rf"(?P<capitals>[{CHINESE_NUMBER}]{{2,24}}+[元圆圓](?:[{CHINESE_NUMBER}]角)?"
    rf"(?:零?[{CHINESE_NUMBER}]分)?[整正]?)"
)
_ARABIC = re.compile(
    rf"(?<![\d.年第])(?P<figure>{FIGURE})(?P<unit>[万亿])?"
    r"(?= ?(?:元|圆|人民币|rmb|\)|/|，|。|;|,|整|$))"
)
_SMALL_CHINESE = re.compile(
    rf"(?P<words>[{CHINESE_NUMBER}]{{1,7}})\((?P<figure>\d{{1,6}})\)(?=个|日|天|年|月|份|套|元|次|%|名|人|工作)"
)
_OTHER = re.compile(r"[，。；]")  # what follows is another amount
_NEAR = 45  # Chinese characters between the two statements of one amount
_UNITS = {"万": 10_000, "亿": 100_000_000}


def amounts(material: Material) -> Iterator[Check]:
    """A check for every pair of words and figures that differ. HIGH: such a price cannot stand."""
    lower = material.shown.lower
    for found in [*_WORDS_FIRST.finditer(lower), *_FIGURE_FIRST.finditer(lower)]:
        words, number = english_number(found["words"]), figure(found["figure"])
        if words is not None and number is not None and int(number) != words:
            yield _differ(material, found.span(), str(words), found["figure"])
    for found in _SMALL_CHINESE.finditer(lower):
        words, number = chinese_number(found["words"]), figure(found["figure"])
        if words is not None and number is not None and number != words:
            yield _differ(material, found.span(), found["words"], found["figure"])
    yield from _capitals(material)


def _capitals(material: Material) -> Iterator[Check]:
    lower = material.shown.lower
    for found in _CAPITALS.finditer(lower):
        written = chinese_amount(found["capitals"])
        if written is None or not any(c in _FORMAL for c in found["capitals"]):
            continue
        beside = _beside(lower, found)
        if beside and beside[0] != written:
            span = min(found.start(), beside[1]), max(found.end(), beside[2])
            yield _differ(material, span, found["capitals"], f"{beside[0]:,.2f}")


def _beside(lower: str, capitals: re.Match[str]) -> tuple[Decimal, int, int] | None:
    """The figure nearest to an amount in capitals, with its place."""
    begin, stop = max(0, capitals.start() - _NEAR), min(len(lower), capitals.end() + _NEAR)
    best: tuple[int, Decimal, int, int] | None = None
    for place in _ARABIC.finditer(lower, begin, stop):
        number = figure(place["figure"])
        after = place.start() >= capitals.end()
        between = (
            lower[capitals.end() : place.start()]
            if after
            else lower[place.end() : capitals.start()]
        )
        if (
            number is None
            or _OTHER.search(between)
            or not re.search(r"\(|\)|大写|小写|¥|￥|即|:", between)
        ):
            continue
        value = number * _UNITS.get(place["unit"] or "", 1)
        if best is None or len(between) < best[0]:
            best = len(between), value, place.start(), place.end()
    return best[1:] if best else None


def _differ(material: Material, span: tuple[int, int], words: str, number: str) -> Check:
    message = Wording(
        f"The amount in words ({words}) and in figures ({number}) differ.",
        f"大写（文字）金额“{words}”与小写金额“{number}”不一致。",
    )
    return material.check("amount-words", span, message, "HIGH")
