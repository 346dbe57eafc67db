"""The numerals that clauses are counted in, as whole numbers."""

import re

_CHINESE_DIGITS = {
    **dict(zip("零一二三四五六七八九", range(10), strict=True)),
    **dict(zip("〇壹贰叁肆伍陆柒捌玖", range(10), strict=True)),
    "两": 2,
    "貳": 2,
    "參": 3,
    "陸": 6,
}
_CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000, "拾": 10, "佰": 100, "仟": 1000}
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_ROMAN = re.compile(r"(?=.)C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_WORDS = (
    "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE", "TEN", "ELEVEN",
    "TWELVE", "THIRTEEN", "FOURTEEN", "FIFTEEN", "SIXTEEN", "SEVENTEEN", "EIGHTEEN", "NINETEEN",
    "TWENTY",
)  # fmt: skip
_ORDINALS = (
    "FIRST", "SECOND", "THIRD", "FOURTH", "FIFTH", "SIXTH", "SEVENTH", "EIGHTH", "NINTH", "TENTH",
    "ELEVENTH", "TWELFTH", "THIRTEENTH", "FOURTEENTH", "FIFTEENTH", "SIXTEENTH", "SEVENTEENTH",
    "EIGHTEENTH", "NINETEENTH", "TWENTIETH",
)  # fmt: skip
WORD_NUMBERS = "|".join(sorted((*_WORDS, *_ORDINALS), key=len, reverse=True))


def chinese(text: str) -> int | None:
    """十二 as 12, 一百零五 as 105, 一〇五 as 105; also digits, full-width ones included."""
    if text.isdecimal():
        return int(text)
    if not any(char in _CHINESE_UNITS for char in text):
        digits = [_CHINESE_DIGITS.get(char) for char in text]
        return None if None in digits else int("".join(map(str, digits)))
    total = digit = 0
    for char in text:
        if char in _CHINESE_UNITS:
            total += (digit or 1) * _CHINESE_UNITS[char]
            digit = 0
        elif char in _CHINESE_DIGITS:
            digit = _CHINESE_DIGITS[char]
        else:
            return None
    return total + digit


def roman(text: str) -> int | None:
    """IV as 4, in either case; None for what is no well-formed numeral up to 399."""
    upper = text.upper()
    if not _ROMAN.fullmatch(upper):
        return None
    values = [_ROMAN_DIGITS[char] for char in upper]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < following else value for value, following in pairs)


def letter(text: str) -> int | None:
    """A as 1, z as 26, aa as 27, bb as 28 (how lists of contracts go on)."""
    upper = text.upper()
    if not upper.isascii() or not upper.isalpha() or len(set(upper)) != 1 or len(upper) > 3:
        return None
    return ord(upper[0]) - 64 + 26 * (len(upper) - 1)


def word(text: str) -> int | None:
    """ONE or FIRST as 1, up to TWENTY."""
    upper = text.upper()
    for words in (_WORDS, _ORDINALS):
        if upper in words:
            return words.index(upper) + 1
    return None


def any_numeral(text: str) -> int | None:
    """What follows "Article": digits, a Roman numeral or a word."""
    return int(text) if text.isdecimal() else roman(text) or word(text)
