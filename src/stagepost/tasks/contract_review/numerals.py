"""Numbers written in words, English and Chinese, as numbers. Exact: money never passes a float."""

import re
from decimal import Decimal, InvalidOperation

_UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SMALL = {word: i for i, word in enumerate(_UNITS)} | {
    word: 20 + 10 * i for i, word in enumerate(_TENS)
}
SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
FIGURE = r"\d{1,12}+(?>(?:,\d{3}){0,5})(?:\.\d{1,2}+)?"  # an expression for `1,250,000.00`
_FILLER = {"and", "a", "only"}

_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {
    c: i for i, c in enumerate("零壹贰叁肆伍陆柒捌玖")
}
_DIGITS |= {"〇": 0, "○": 0, "两": 2, "貳": 2, "参": 3, "叄": 3, "陸": 6}
_PLACES = {"十": 10, "百": 100, "千": 1_000, "拾": 10, "佰": 100, "仟": 1_000}
_GROUPS = {"万": 10_000, "萬": 10_000, "亿": 100_000_000, "億": 100_000_000}
CHINESE_NUMBER = "".join(dict.fromkeys([*_DIGITS, *_PLACES, *_GROUPS]))


def english_number(words: str) -> int | None:
    """`one hundred twenty-five thousand` as 125000; None if a word is not part of a number."""
    total = group = 0
    seen = False
    for word in re.split(r"[\s-]+", words.lower().replace(",", " ").strip()):
        if word in SMALL:
            group += SMALL[word]
        elif word == "hundred":
            group = max(group, 1) * 100
        elif word in SCALES:
            total += max(group, 1) * SCALES[word]
            group = 0
        elif word not in _FILLER:
            return None
        seen = seen or word not in _FILLER
    return total + group if seen else None


def chinese_number(text: str) -> int | None:
    """`壹佰贰拾万` as 1200000, `二〇二四` as 2024; None if a character is not part of a number."""
    if not text or any(c not in CHINESE_NUMBER for c in text):
        return None
    if len(text) > 1 and all(c in _DIGITS for c in text):
        return int("".join(str(_DIGITS[c]) for c in text))
    total = group = digit = 0
    for c in text:
        if c in _DIGITS:
            digit = _DIGITS[c]
        elif c in _PLACES:
            group += (digit or 1) * _PLACES[c]
            digit = 0
        else:
            total = (total + group + digit) * _GROUPS[c]
            group = digit = 0
    return total + group + digit


def chinese_amount(text: str) -> Decimal | None:
    """A Chinese money amount in yuan: `壹万贰仟元伍角整` as 12000.5."""
    found = re.fullmatch(
        rf"([{CHINESE_NUMBER}]{{1,24}})[元圆圓](?:([{CHINESE_NUMBER}])角)?"
        rf"(?:零?([{CHINESE_NUMBER}])分)?[整正]?",
        text,
    )
    if not found:
        return None
    whole = chinese_number(found[1])
    tenths, cents = (chinese_number(part) if part else 0 for part in found.group(2, 3))
    if whole is None or tenths is None or cents is None:
        return None
    return Decimal(whole) + Decimal(tenths) / 10 + Decimal(cents) / 100


def figure(text: str) -> Decimal | None:
    """`1,250,000.00` as a number; None if it is none."""
    try:
        return Decimal(text.replace(",", "").replace("，", "").replace(" ", ""))
    except InvalidOperation:
        return None
