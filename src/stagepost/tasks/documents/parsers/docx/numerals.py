"""Numbers in the formats that Word's automatic numbering knows (ECMA-376, ST_NumberFormat)."""

from collections.abc import Callable

_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_ONES = (
    "Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten",
    "Eleven", "Twelve", "Thirteen", "Fourteen", "Fifteen", "Sixteen", "Seventeen", "Eighteen",
    "Nineteen",
)  # fmt: skip
_TENS = ("Twenty", "Thirty", "Forty", "Fifty", "Sixty", "Seventy", "Eighty", "Ninety")
_IRREGULAR = {
    "One": "First", "Two": "Second", "Three": "Third", "Five": "Fifth", "Eight": "Eighth",
    "Nine": "Ninth", "Twelve": "Twelfth",
}  # fmt: skip
_FULL_WIDTH = {48 + digit: 0xFF10 + digit for digit in range(10)}
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_BRANCHES = "子丑寅卯辰巳午未申酉戌亥"
_MOST_LETTERS = 20  # "zz...z": longer runs of one letter are no number of a contract


def formatted(value: int, kind: str) -> str:
    """`value` as the format `kind` writes it; formats that can't hold it fall back to decimal."""
    if kind in {"bullet", "none"}:
        return ""
    writer = _WRITERS.get(kind)
    return (writer(value) if writer and value > 0 else "") or str(value)


def roman(value: int) -> str:
    """Upper-case Roman numerals; empty beyond 3999."""
    if value > 3999:
        return ""
    out = ""
    for size, letters in _ROMAN:
        out += letters * (value // size)
        value %= size
    return out


def letters(value: int) -> str:
    """A..Z, then AA, BB, ... as Word counts on."""
    repeats, index = divmod(value - 1, 26)
    return chr(65 + index) * (repeats + 1) if repeats < _MOST_LETTERS else ""


def chinese(value: int, digits: str = "零一二三四五六七八九", units: str = "十百千") -> str:
    """Chinese counting up to 9999, as in 一百零五; 十五 without a leading 一."""
    if value > 9999:
        return ""
    out = ""
    for place in range(3, -1, -1):
        digit = value // 10**place % 10
        if digit:
            out += digits[digit] + (units[place - 1] if place else "")
        elif out and not out.endswith(digits[0]):
            out += digits[0]
    out = out.rstrip(digits[0])
    return out[1:] if 10 <= value < 20 and digits[1] == "一" else out


def _cardinal(value: int) -> str:
    if value < 20:
        return _ONES[value]
    if value < 100:
        tens, ones = divmod(value, 10)
        return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")
    return ""


def _ordinal_word(value: int) -> str:
    head, hyphen, last = _cardinal(value).rpartition("-")
    if not last:
        return ""
    regular = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    return f"{head}{hyphen}{_IRREGULAR.get(last, regular)}"


def _ordinal(value: int) -> str:
    teen = value % 100 in {11, 12, 13}
    return f"{value}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(value % 10, 'th')}"


def _from(first: str, last: str) -> Callable[[int], str]:
    """A run of ready-made characters, ① to ⑳ say."""
    return lambda value: chr(ord(first) + value - 1) if value <= ord(last) - ord(first) + 1 else ""


def _digits(value: int) -> str:
    return "".join("〇一二三四五六七八九"[int(digit)] for digit in str(value))


_WRITERS: dict[str, Callable[[int], str]] = {
    "decimalZero": lambda value: f"{value:02}",
    "upperRoman": roman,
    "lowerRoman": lambda value: roman(value).lower(),
    "upperLetter": letters,
    "lowerLetter": lambda value: letters(value).lower(),
    "ordinal": _ordinal,
    "cardinalText": _cardinal,
    "ordinalText": _ordinal_word,
    "chineseCounting": chinese,
    "chineseCountingThousand": chinese,
    "taiwaneseCounting": chinese,
    "taiwaneseCountingThousand": chinese,
    "japaneseCounting": chinese,
    "ideographDigital": _digits,
    "taiwaneseDigital": _digits,
    "japaneseDigitalTenThousand": _digits,
    "chineseLegalSimplified": lambda v: chinese(v, "零壹贰叁肆伍陆柒捌玖", "拾佰仟"),
    "ideographLegalTraditional": lambda v: chinese(v, "零壹貳參肆伍陸柒捌玖", "拾佰仟"),
    "ideographTraditional": lambda value: _STEMS[value - 1] if value <= 10 else "",
    "ideographZodiac": lambda value: _BRANCHES[value - 1] if value <= 12 else "",
    "decimalEnclosedCircle": _from("①", "⑳"),
    "decimalEnclosedCircleChinese": _from("①", "⑳"),
    "decimalEnclosedParen": _from("⑴", "⒇"),
    "decimalEnclosedFullstop": _from("⒈", "⒛"),
    "ideographEnclosedCircle": _from("㊀", "㊉"),
    "decimalFullWidth": lambda value: str(value).translate(_FULL_WIDTH),
    "decimalFullWidth2": lambda value: str(value).translate(_FULL_WIDTH),
}
