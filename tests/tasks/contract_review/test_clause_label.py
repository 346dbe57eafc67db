"""Clauses are named so that no other clause can be meant."""

import pytest

from stagepost.tasks.contract_review.clause_label import clause_label, clause_name, shortened
from stagepost.tasks.documents.document import Language


@pytest.mark.parametrize(
    ("path", "label"),
    [
        (("7", "7.2"), "7.2"),
        (("ARTICLE 2", "2.15", "(f)"), "2.15(f)"),
        (("6", "a"), "6(a)"),
        (("5", "5.3", "(iii)"), "5.3(iii)"),
        (("Section 18", "(d)"), "Section 18(d)"),
        (("ARTICLE X", "Section 10.7"), "Section 10.7"),
        (("SCHEDULE 1", "Chapter 2", "2", "c"), "SCHEDULE 1, Chapter 2, 2(c)"),
        (("第五条", "（一）"), "第五条（一）"),
        (("附件一", "3"), "附件一，3"),
        (("三", "2"), "三、2"),
    ],
)
def test_an_item_is_named_with_what_holds_it(path: tuple[str, ...], label: str) -> None:
    assert clause_label(path, "A title", "Words.") == label


def test_a_clause_without_a_number_is_named_by_its_title_or_first_words() -> None:
    assert clause_label((), "Payment", "Words.") == "Payment"
    words = "The seller gives notice to the purchaser of everything that matters"
    assert clause_label((), "", words) == "The seller gives notice to the purchaser …"
    assert (
        shortened("甲方应当在收到乙方开具的合法有效的增值税专用发票后付款", 8)
        == "甲方应当在收到乙 …"
    )
    assert shortened("short", 40) == "short"


@pytest.mark.parametrize(
    ("label", "language", "name"),
    [
        ("7.2", "en", "clause 7.2"),
        ("(b)", "en", "clause (b)"),
        ("Section 7", "en", "Section 7"),
        ("(Signature page follows)", "en", "“(Signature page follows)”"),
        ("SCHEDULE 1, 2(c)", "en", "SCHEDULE 1, 2(c)"),
        ("Payment", "en", "“Payment”"),
        ("第七条", "zh", "第七条"),
        ("7.2", "zh", "7.2"),
        ("六", "zh", "第六条"),
        ("三、2", "zh", "第三条第2项"),
    ],
)
def test_no_name_says_clause_twice(label: str, language: Language, name: str) -> None:
    assert clause_name(label, language) == name
