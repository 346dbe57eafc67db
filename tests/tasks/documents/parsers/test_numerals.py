import pytest

from stagepost.tasks.documents.parsers.docx.numerals import formatted


@pytest.mark.parametrize(
    ("value", "kind", "written"),
    [
        (7, "decimal", "7"),
        (7, "decimalZero", "07"),
        (1994, "upperRoman", "MCMXCIV"),
        (4, "lowerRoman", "iv"),
        (4000, "upperRoman", "4000"),
        (1, "upperLetter", "A"),
        (26, "lowerLetter", "z"),
        (28, "upperLetter", "BB"),
        (27 * 26, "upperLetter", "702"),
        (1, "ordinal", "1st"),
        (12, "ordinal", "12th"),
        (23, "ordinal", "23rd"),
        (21, "cardinalText", "Twenty-One"),
        (21, "ordinalText", "Twenty-First"),
        (30, "ordinalText", "Thirtieth"),
        (12, "ordinalText", "Twelfth"),
        (10, "chineseCounting", "十"),
        (15, "chineseCountingThousand", "十五"),
        (20, "chineseCounting", "二十"),
        (105, "chineseCountingThousand", "一百零五"),
        (110, "chineseCountingThousand", "一百一十"),
        (1001, "taiwaneseCountingThousand", "一千零一"),
        (10_000, "chineseCounting", "10000"),
        (25, "chineseLegalSimplified", "贰拾伍"),
        (106, "ideographDigital", "一〇六"),
        (3, "ideographTraditional", "丙"),
        (11, "ideographTraditional", "11"),
        (12, "ideographZodiac", "亥"),
        (20, "decimalEnclosedCircle", "⑳"),
        (21, "decimalEnclosedCircle", "21"),
        (2, "decimalEnclosedParen", "⑵"),
        (3, "decimalEnclosedFullstop", "⒊"),
        (12, "decimalFullWidth", "１２"),
        (5, "none", ""),
        (5, "bullet", ""),
        (0, "upperRoman", "0"),
        (-3, "lowerLetter", "-3"),
        (5, "hebrew1", "5"),
    ],
)
def test_a_number_is_written_as_word_does(value: int, kind: str, written: str) -> None:
    assert formatted(value, kind) == written
