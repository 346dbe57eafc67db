import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.tasks.documents.clauses import numerals
from stagepost.tasks.documents.parsers.docx.numerals import chinese, formatted


@settings(deadline=None)
@given(st.integers(1, 9999))
def test_chinese_numerals_are_read_as_they_are_written(value: int) -> None:
    assert numerals.chinese(chinese(value)) == value
    assert numerals.chinese(formatted(value, "chineseLegalSimplified")) == value
    assert numerals.chinese(formatted(value, "ideographDigital")) == value


@settings(deadline=None)
@given(st.integers(1, 399))
def test_roman_numerals_are_read_as_they_are_written(value: int) -> None:
    assert numerals.roman(formatted(value, "lowerRoman")) == value


@pytest.mark.parametrize("text", ["", "IIII", "IC", "VX", "MM", "abc", "iixx"])
def test_what_is_no_roman_numeral(text: str) -> None:
    assert numerals.roman(text) is None


@pytest.mark.parametrize(
    ("text", "value"), [("a", 1), ("Z", 26), ("aa", 27), ("CC", 29), ("ab", None), ("é", None)]
)
def test_letters(text: str, value: int | None) -> None:
    assert numerals.letter(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("IV", 4), ("ONE", 1), ("twelfth", 12), ("Twenty", 20), ("Many", None)],
)
def test_what_follows_the_word_article(text: str, value: int | None) -> None:
    assert numerals.any_numeral(text) == value


@pytest.mark.parametrize("text", ["十x", "甲", "一x"])
def test_what_is_no_chinese_numeral(text: str) -> None:
    assert numerals.chinese(text) is None
