"""Contracts of several styles, cut into clauses."""

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stagepost.tasks.documents import Clause, Document, split_clauses
from stagepost.tasks.documents.clauses import splitting
from tasks.documents import contracts
from tasks.documents.contracts import document


def paths(text: str) -> list[str]:
    """Kind and path of every clause, as `clause 2/2.1`."""
    return [f"{c.kind} {'/'.join(c.path)}".rstrip() for c in split_clauses(document(text))]


def numbers(text: str) -> list[str]:
    return ["/".join(c.path) for c in split_clauses(document(text)) if c.number]


def titles(text: str) -> dict[str, str]:
    return {c.number: c.title for c in split_clauses(document(text)) if c.title}


def test_numbers_letters_and_a_schedule_that_counts_anew() -> None:
    assert paths(contracts.SERVICES) == [
        "preamble",
        "clause A",
        "clause B",
        "heading 1",
        "clause 1/1.1",
        "clause 1/1.2",
        "heading 2",
        "clause 2/2.1",
        "clause 2/2.2",
        "clause 2/2.2/(a)",
        "clause 2/2.2/(b)",
        "clause 2/2.2/(b)/(i)",
        "clause 2/2.2/(b)/(ii)",
        "clause 2/2.2/(c)",
        "clause 2/2.3",
        "clause 3",
        "heading 4",
        "clause 4/4.1",
        "clause 4/4.2",
        "signature",
        "annex SCHEDULE 1",
        "clause SCHEDULE 1/1",
        "clause SCHEDULE 1/2",
    ]


def test_titles_of_numbered_clauses() -> None:
    found = titles(contracts.SERVICES)
    assert found["2"] == "SERVICES"
    assert found["2.2"] == "Standards"
    assert found["4"] == "TERM; TERMINATION"
    assert found["SCHEDULE 1"] == "Fees"
    assert "1.1" not in found


def test_articles_behind_a_table_of_contents() -> None:
    assert paths(contracts.ARTICLES) == [
        "preamble",
        "table",
        "preamble",
        "heading ARTICLE I",
        "clause ARTICLE I/Section 1.1",
        "clause ARTICLE I/Section 1.2",
        "heading ARTICLE II",
        "clause ARTICLE II/Section 2.1",
        "clause ARTICLE II/Section 2.2",
        "heading ARTICLE III",
        "clause ARTICLE III/Section 3.1",
        "annex EXHIBIT A",
        "clause EXHIBIT A/(a)",
        "clause EXHIBIT A/(b)",
    ]
    assert titles(contracts.ARTICLES)["ARTICLE II"] == "SUPPLY"
    assert split_clauses(document(contracts.ARTICLES))[1].title == "Contents"


def test_numbers_within_a_line_count_in_exact_order_only() -> None:
    assert paths(contracts.FLAT) == ["preamble", "clause 1", "clause 2", "clause 3", "clause 4"]


def test_without_numbers_paragraphs_stand_under_their_headings() -> None:
    found = split_clauses(document(contracts.UNNUMBERED))
    assert [(c.kind, c.title) for c in found] == [
        ("preamble", ""),
        ("heading", "Secret Information"),
        ("paragraph", "Secret Information"),
        ("heading", "Term"),
        ("paragraph", "Term"),
    ]


def test_chinese_articles_items_attachments_and_signatures() -> None:
    assert paths(contracts.LEASE) == [
        "preamble",
        "heading 第一条",
        "clause 第一条/1.1",
        "clause 第一条/1.2",
        "clause 第二条",
        "heading 第三条",
        "clause 第三条/3.1",
        "heading 第三条/3.2",
        "clause 第三条/3.2/（1）",
        "clause 第三条/3.2/（2）",
        "clause 第四条",
        "clause 第五条",
        "signature",
        "annex 附件一",
        "heading 附件一/一",
        "clause 附件一/一/1",
        "clause 附件一/一/2",
        "heading 附件一/二",
        "clause 附件一/二/1",
        "clause 附件一/二/2",
    ]
    assert titles(contracts.LEASE)["第三条"] == "租金及支付方式"


def test_chinese_chapters_with_articles_counted_through() -> None:
    assert paths(contracts.FRAMEWORK) == [
        "table",
        "preamble",
        "heading 第一章",
        "clause 第一章/第一条",
        "clause 第一章/第二条",
        "heading 第二章",
        "heading 第二章/第三条",
        "clause 第二章/第三条/（一）",
        "clause 第二章/第三条/（二）",
        "clause 第二章/第四条",
        "heading 第三章",
        "clause 第三章/第五条",
    ]


def test_chinese_lists_in_lists() -> None:
    assert numbers(contracts.LISTED) == [
        "一", "一/（一）", "一/（二）",
        "二", "二/（一）", "二/（二）", "二/（二）/1", "二/（二）/2",
        "三",
    ]  # fmt: skip
    assert split_clauses(document(contracts.LISTED))[-1].kind == "signature"


def test_headers_and_page_numbers_do_not_interrupt_or_count() -> None:
    def page(number: int, body: str) -> str:
        return f"ACME / BETA Agreement\n{body}\nConfidential\n{number}\n"

    first = page(1, "1. Rent\nThe tenant pays the rent that the parties have agreed upon in")
    second = page(2, "writing and in advance.\n2. Term\nThe lease runs for two years.")
    third = page(3, "3. Law\nThe law of Ireland applies.")
    text = first + second + third
    cuts = (len(first), len(first) + len(second))
    found = split_clauses(document(text, pages=cuts))
    assert [c.number for c in found if c.number] == ["1", "2", "3"]
    assert [(c.page, c.number) for c in found if c.number] == [(1, "1"), (2, "2"), (3, "3")]
    assert text[found[1].start :].startswith("1. Rent")


def test_articles_at_the_top_of_pages_are_no_headers() -> None:
    pages = [f"ARTICLE {n}\nTITLE\nThe parties agree.\nACME Ltd, page {n}\n" for n in range(1, 7)]
    starts = tuple(itertools.accumulate(map(len, pages)))[:-1]
    found = split_clauses(document("".join(pages), pages=starts))
    assert [c.number for c in found] == [f"ARTICLE {n}" for n in range(1, 7)]


@pytest.mark.parametrize(
    "interruption",
    [
        "7. This number has no neighbours.",
        "(c) Nor has this one.",
        "Section 12.9 of the Lease is quoted here.",
        "30 days is a quantity.",
        "1.5 million dollars is another.",
        "2024. A year is no clause.",
    ],
)
def test_a_number_without_neighbours_is_text(interruption: str) -> None:
    text = f"1. One thing.\n\n{interruption}\n\n2. Another thing.\n\n3. The last thing.\n"
    assert numbers(text) == ["1", "2", "3"]


def test_a_gap_of_two_numbers_is_bridged() -> None:
    assert numbers("1. A first.\n\n2. A second.\n\n5. A fifth.\n") == ["1", "2", "5"]
    assert numbers("1. A first.\n\n2. A second.\n\n6. A sixth.\n") == ["1", "2"]


def test_a_nested_list_of_the_same_style_goes_back_to_the_outer_one() -> None:
    text = "1. One:\n\n1. inner one\n\n2. inner two\n\n2. Two.\n\n3. Three.\n\n4. Four.\n"
    assert numbers(text) == ["1", "1/1", "1/2", "2", "3", "4"]


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("(a) (b) (c)", ["(a)", "(b)", "(c)"]),
        ("(a) (i) (ii) (b)", ["(a)", "(a)/(i)", "(a)/(ii)", "(b)"]),
        ("(g) (h) (i) (j)", []),
        ("(a) (b) (c) (d) (e) (f) (g) (h) (i) (j)", [f"({letter})" for letter in "abcdefghij"]),
        (
            "(a) (b) (c) (d) (e) (f) (g) (h) (i) (ii)",
            [*(f"({letter})" for letter in "abcdefgh"), "(h)/(i)", "(h)/(ii)"],
        ),
    ],
)
def test_a_letter_or_a_roman_numeral_by_its_neighbours(letters: str, expected: list[str]) -> None:
    text = "".join(f"{letter} The party shall act.\n\n" for letter in letters.split())
    assert numbers(text) == expected


def test_lists_of_annexes_and_mentions_are_no_annexes() -> None:
    text = (
        "1. One.\n\n2. Two refers to these:\n\nExhibit A - Price List\nExhibit B - Sites\n\n"
        "3. Three.\n\nExhibit A attached hereto is part of this.\n\nSchedule 2 to this Agreement"
        " and its annexes shall be read as one.\n\nEXHIBIT A\n\nPrices\n\n1. Five.\n\n2. Six.\n"
    )
    assert numbers(text) == ["1", "2", "3", "EXHIBIT A", "EXHIBIT A/1", "EXHIBIT A/2"]


def test_a_wrapped_line_that_is_the_word_schedule_is_no_annex() -> None:
    words = "The fees are due on the days and in the amounts that the parties wrote in the"
    text = (
        f"1. Fees\n{words}\nSchedule\nand not before.\n2. Term\n{words}\nannex.\n3. End\n{words}\n"
    )
    assert numbers(text) == ["1", "2", "3"]


def test_rows_of_cells_are_a_table_and_the_clause_goes_on_behind_it() -> None:
    text = (
        "1. Prices:\n\nItem\tPrice\nBolt\t1\n\nPrices are net.\n\n2. Law. Irish law.\n\n3. End.\n"
    )
    assert paths(text) == ["clause 1", "table 1", "paragraph 1", "clause 2", "clause 3"]


def test_a_very_long_clause_is_cut_by_its_paragraphs() -> None:
    words = "The party shall act with care. " * 20
    text = f"1. Long.\n\n{(words + chr(10) * 2) * 10}2. Short.\n\n3. Short.\n"
    found = [c for c in split_clauses(document(text)) if c.path == ("1",)]
    assert [c.kind for c in found] == ["clause", "paragraph", "paragraph", "paragraph"]
    assert all(c.end - c.start < 3000 for c in found)


def test_markdown_headings_belong_to_their_clause() -> None:
    text = "# Terms\n\n## 1. Rent\n\nMonthly.\n\n## 2. Term\n\nTwo years.\n\n## 3. Law\n\nIrish.\n"
    found = split_clauses(document(text, media_type="text/markdown"))
    assert [text[c.start : c.end] for c in found][1] == "## 1. Rent\n\nMonthly."
    assert [c.title for c in found] == ["", "Rent", "Term", "Law"]


def test_more_clauses_than_allowed_leave_the_deepest_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(splitting, "MOST_CLAUSES", 12)
    found = split_clauses(document(contracts.SERVICES))
    assert len(found) <= 12
    assert max(c.level for c in found) == 1
    check_cover(document(contracts.SERVICES), found)


def test_a_blank_text_has_no_clauses() -> None:
    assert split_clauses(document(" \n\t\n")) == ()


def check_cover(doc: Document, found: tuple[Clause, ...]) -> None:
    """What is promised of every split: rising, apart, trimmed, and nothing visible left out."""
    reached = 0
    for clause in found:
        assert not doc.text[reached : clause.start].strip()
        assert reached <= clause.start < clause.end
        content = doc.text[clause.start : clause.end]
        assert content == content.strip()
        assert clause.number in content or not clause.number.isascii() or " " in clause.number
        assert clause.level == max(1, len(clause.path))
        assert clause.page == doc.page_at(clause.start)
        reached = clause.end
    assert not doc.text[reached:].strip()


PIECES = st.sampled_from(
    [
        *[
            "1.",
            "2.",
            "3.",
            "1.1",
            "1.2",
            "2.1",
            "1.1.1",
            "(a)",
            "(b)",
            "(i)",
            "(ii)",
            "a)",
            "A.",
            "B.",
            "1.A.",
            "99999999",
            "[***]",
            "**",
            "# ",
        ],
        *[
            "Article I",
            "ARTICLE II",
            "Section 1.1",
            "Section 2",
            "EXHIBIT A",
            "Schedule 1",
            "By: ____",
            "Rent",
        ],
        *[
            "第一条",
            "第二条",
            "第一章",
            "一、",
            "二、",
            "（一）",
            "（二）",
            "（1）",
            "附件一",
            "目录",
            "甲方（盖章）：",
        ],
        *["TABLE OF CONTENTS", "Introduction .... 3", "IN WITNESS WHEREOF", "租金为每月8000元。"],
        *("\n", "\n\n", "\r\n", "\t", "  ", "\u3000", "\f", " ", ". ", "; ", "|a|b|", "word " * 90),
        *("The tenant pays.", "as follows:"),
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=60).map("".join),
    st.text(max_size=300),
    st.sampled_from(contracts.ALL),
)


@settings(deadline=None)
@given(TEXTS, st.lists(st.floats(0, 1), max_size=4))
@example(contracts.SERVICES, [])
def test_every_text_is_covered_in_order(text: str, shares: list[float]) -> None:
    cuts = tuple(sorted(int(share * len(text)) for share in shares))
    doc = document(text, pages=cuts)
    check_cover(doc, split_clauses(doc))


@settings(deadline=None)
@given(st.data())
def test_mutated_contracts_are_covered_too(data: st.DataObject) -> None:
    text = list(data.draw(st.sampled_from(contracts.ALL)))
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place] = data.draw(st.sampled_from(["", "\n", " ", "1", "(", "第", "\t", "."]))
    doc = document("".join(text))
    check_cover(doc, split_clauses(doc))
