"""What a model writes is plain, bounded text: no markup, no link, no law from memory."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.tasks.contract_review.by_model.clean import (
    CITATION,
    LINK,
    cleaned,
    visible,
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<b>Cap</b> it <img src=x onerror=alert(1)>now", "Cap it now"),
        ("<scr<script>ipt>alert(1)</scr</script>ipt>", "alert(1)"),
        ("&lt;script&gt;x&lt;/script&gt;", "x"),
        ("&amp;lt;script&amp;gt;x", "x"),
        ("if a < b and c > d", "if a ‹ b and c › d"),
        ("<script", "‹script"),
        ("[here](https://evil.example/?q=secret) it is", "here it is"),
        ("![x](http://evil.example/p.png)", "x"),
        ("a\u202eb\u200bc\x00d\x1b[31me", "abcd[31me"),
        ("two\n\nlines\tof text", "two lines of text"),
        ("\U000e0041\U000e0042hidden", "hidden"),
    ],
)
def test_markup_and_hidden_characters_are_taken_out(text: str, left: str) -> None:
    assert cleaned(text, 300, "en") == (left, False)


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/collect?d=1", "www.evil.example", "evil.example/x",
        "javascript:alert(1)",
        "data:text/html;base64,AAAA", "someone@evil.example", "ftp://a.b/c", "mailto:a@evil.test",
    ],
)  # fmt: skip
def test_no_address_is_left(address: str) -> None:
    text = cleaned(f"Look at {address} first.", 300, "en").text
    assert "evil" not in text
    assert "alert" not in text
    assert LINK.en in text


@pytest.mark.parametrize(
    "citation",
    [
        "Article 585 of the Civil Code of the PRC", "Art. 12 Sale of Goods Act 1979",
        "the Unfair Contract Terms Act", "UCC § 2-719", "15 U.S.C. § 1125(a)",
        "Hadley v. Baxendale",
        "GDPR Art. 28", "the Labour Contract Law of the PRC", "Company Law, Article 15",
        "《中华人民共和国民法典》第五百八十五条", "民法典第585条", "劳动合同法", "海商法第五条",
        "《中华人民共和国民法典》",
    ],
)  # fmt: skip
def test_law_from_memory_is_taken_out(citation: str) -> None:
    text, cited = cleaned(f"Void under {citation}, so strike it.", 300, "en")
    assert cited
    assert CITATION.en in text
    assert not re.search(r"585|1979|1125|Baxendale|28|15|法典|第五条|Terms Act", text)


@pytest.mark.parametrize(
    "text",
    [
        "Section 7 of this Agreement and Article 3.2 contradict each other.",
        "第七条与《采购合同》第三条矛盾，依法可调整。",
        "The parties act in good faith; the code of conduct applies.",
    ],
)
def test_the_contract_s_own_clauses_may_be_named(text: str) -> None:
    assert cleaned(text, 300, "zh") == (text, False)


@given(st.text(max_size=600), st.integers(10, 400))
def test_whatever_is_written_stays_within_bounds(text: str, most: int) -> None:
    left = cleaned(text, most, "en").text
    assert len(left) <= most + 2
    assert "<" not in left
    assert ">" not in left
    assert left == visible(left)
    left.encode()


def test_a_long_text_is_cut_between_words() -> None:
    assert (
        cleaned("many words " * 9_000, 40, "en").text == "many words many words many words many …"
    )
