"""A quote is proved by the text's own words, and placed exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.tasks.contract_review.by_model.locate import MOST, locate

TEXT = (
    "7.2  The Supplier’s liability\nunder this Agreement shall be “unlimited”, without – any – cap."
    "\n"
    "乙方应向甲方支付违约金，\n金额为合同总额的３０％，不设上限。\n"
    "Cafe\u0301 e\u0301clairs fi\ufb01nal\u200b words"
)


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("liability under this Agreement", "liability\nunder this Agreement"),
        ("The Supplier's liability", "The Supplier’s liability"),
        ('shall be "unlimited", without - any - cap', "shall be “unlimited”, without – any – cap"),
        ("金额为合同总额的30%", "金额为合同总额的３０％"),
        ("违约金， 金额为合同总额", "违约金，\n金额为合同总额"),
        ("Caf\u00e9 \u00e9clairs", "Cafe\u0301 e\u0301clairs"),
        ("fifinal words", "fi\ufb01nal\u200b words"),
        ("  under  this\tAgreement \n", "under this Agreement"),
        ("un\u200bder th\u2060is Agreement", "under this Agreement"),
    ],
)
def test_layout_and_typing_may_differ(quote: str, stands: str) -> None:
    span = locate(quote, TEXT)
    assert span is not None
    assert TEXT[slice(*span)] == stands


@pytest.mark.parametrize(
    "quote",
    [
        "The Supplier's liability shall be unlimited",  # a gap
        "liability under that Agreement",
        "The Supplier's liability ... cap",
        "the supplier’s liability",  # another case is another word
        "",
        " \n ",
        "cap",  # found by chance
        "合同",
        "......",
        "“”–  ,,,,;;",
        "x" * (MOST + 1),
        "\ud800\ud801 broken halves",
    ],
)
def test_what_is_not_there_is_not_found(quote: str) -> None:
    assert locate(quote, TEXT + "......“”– ,,,,;;" + "x" * (MOST + 1)) is None


def test_the_whole_text_can_be_quoted() -> None:
    assert locate(TEXT, TEXT) == (0, len(TEXT))


@given(st.text(max_size=200), st.integers(0, 200), st.integers(0, 200))
def test_a_range_of_a_text_is_found_where_the_same_words_stand(
    text: str, start: int, length: int
) -> None:
    quote = text[start : start + length]
    span = locate(quote, text)
    if span is not None:
        found = text[slice(*span)]
        assert found
        again = locate(found, text)
        assert again is not None
        assert text[slice(*again)] == found
