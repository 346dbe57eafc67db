"""Bytes to text: the character sets that contracts come in."""

import codecs
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.tasks.documents.parsers.charset import decoded
from stagepost.tasks.documents.parsers.refusal import Refusal

CHINESE = (
    "房屋租赁合同\r\n甲方（出租方）：王某\n乙方（承租方）：李某\n"
    "第一条 租赁期限为二年，自2024年1月1日起。\n"
    "第二条 乙方应当按月支付租金人民币5000元。"
)
TRADITIONAL = (
    "租賃合約\n第一條 甲方應當將房屋交付乙方使用，租賃期間為二年。\n第二條 乙方應按月支付租金。"
)
ENGLISH = (
    "This Agreement is made between the “Landlord” and the “Tenant” – rent £500, café included."
)


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        (CHINESE, "utf-8"),
        (CHINESE, "utf-8-sig"),
        (CHINESE, "gb18030"),
        (CHINESE, "gbk"),
        (CHINESE, "utf-16"),
        (CHINESE, "utf-16-le"),
        (CHINESE, "utf-16-be"),
        (CHINESE, "utf-32"),
        (TRADITIONAL, "big5"),
        (TRADITIONAL, "gb18030"),
        (ENGLISH, "cp1252"),
        (ENGLISH, "utf-8"),
        (ENGLISH, "utf-16-le"),
        ("Plain old text.", "ascii"),
    ],
)
def test_text_comes_back_without_its_mark(text: str, charset: str) -> None:
    assert decoded(text.encode(charset)) == (text, ())


def test_other_languages_are_left_to_the_detector() -> None:
    text = "Договор аренды жилого помещения между арендодателем и арендатором. " * 20
    assert decoded(text.encode("cp1251"))[0] == text


def test_a_few_damaged_characters_are_kept_visible_and_said() -> None:
    data = (CHINESE * 20).encode("gb18030")
    text, warnings = decoded(data[:-1])
    assert text.endswith("5000元\ufffd")
    assert warnings == ("Some characters of the file were damaged and are shown as \ufffd.",)


def test_a_stray_nul_becomes_a_blank_at_its_place() -> None:
    text, _ = decoded(b"word" * 50 + b"\0" + b"word")
    assert text == "word" * 50 + " " + "word"


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 8, b"\0" * 1000, b"\x7fELF\2\1\1" + b"\0\1" * 500]
)
def test_binary_data_is_refused(data: bytes) -> None:
    with pytest.raises(Refusal, match="no known character set"):
        decoded(data)


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=2000))
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    with suppress(Refusal):
        assert "\0" not in decoded(data)[0]


@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs", "Cc")), min_size=1))
def test_utf_8_is_never_taken_for_anything_else(text: str) -> None:
    assert decoded(codecs.BOM_UTF8 + text.encode())[0] == text.removeprefix("\ufeff")
