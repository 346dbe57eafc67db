"""The graph of cross-references."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.tasks.documents import references, split_clauses
from tasks.documents import contracts
from tasks.documents.contracts import document


def graph(text: str) -> list[tuple[str, str, str | None]]:
    """What is written, its kind, and the path of its target."""
    doc = document(text)
    clauses = split_clauses(doc)
    return [
        (
            " ".join(text[found.start : found.end].split()),
            found.kind,
            None if found.target is None else "/".join(clauses[found.target].path),
        )
        for found in references(doc, clauses)
    ]


def test_numbers_letters_schedules_and_what_dangles() -> None:
    assert graph(contracts.SERVICES) == [
        ("Section 2.1", "clause", "2/2.1"),
        ("Schedule 1", "annex", "SCHEDULE 1"),
        ("Section 2.3", "clause", "2/2.3"),
        ("Section 9.4", "clause", None),
        ("Section 4.1", "clause", "4/4.1"),
        ("Article 17", "clause", None),
    ]


def test_lists_laws_and_headings() -> None:
    assert graph(contracts.ARTICLES) == [
        ("Exhibit A", "annex", "EXHIBIT A"),
        ("Section 1.1", "clause", "ARTICLE I/Section 1.1"),
        ("Section 365", "external", None),
        ("Sections 2.1", "clause", "ARTICLE II/Section 2.1"),
        ("2.2", "clause", "ARTICLE II/Section 2.2"),
        ("paragraph (a)", "clause", None),
        ("Section 5.5", "clause", None),
    ]


def test_chinese_articles_items_laws_and_attachments() -> None:
    assert graph(contracts.LEASE) == [
        ("第十条", "clause", None),
        ("第五百八十五条", "external", None),
        ("第五百八十六条", "external", None),
        ("第四条", "clause", "第四条"),
        ("第三条", "clause", "第三条"),
        ("附件一", "annex", "附件一"),
        ("附件一", "annex", "附件一"),
        ("附件二", "annex", None),
    ]
    assert graph(contracts.FRAMEWORK) == [("第三条第（二）项", "clause", "第二章/第三条/（二）")]


BODY = "1. One.\n\n2. Two:\n\n(a) this;\n\n(b) that: (i) x, (ii) y.\n\n3. Three. {}\n\n4. Four.\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("See Section 2(b).", ("Section 2(b)", "clause", "2/(b)")),
        ("See Section 2(b)(ii).", ("Section 2(b)(ii)", "clause", "2/(b)")),
        ("See Section 2(z).", ("Section 2(z)", "clause", "2")),
        ("See Article IV.", ("Article IV", "clause", "4")),
        ("See clause 4 below.", ("clause 4", "clause", "4")),
        ("See § 2.", ("§ 2", "clause", "2")),
        ("See Section 2 of this Agreement.", ("Section 2", "clause", "2")),
        ("See Section 2 of the Agreement.", ("Section 2", "clause", "2")),
        ("See Section 2 of the Merger Agreement.", ("Section 2", "external", None)),
        ("See Section 2 thereof.", ("Section 2", "external", None)),
        ("See 17 C.F.R. Section 240.", ("Section 240", "external", None)),
        ("See Section 9.", ("Section 9", "clause", None)),
        ("See Exhibit Q.", ("Exhibit Q", "annex", None)),
        ("See Exhibit Q to the Lease.", ("Exhibit Q", "annex", None)),
    ],
)
def test_one_reference(words: str, expected: tuple[str, str, str | None]) -> None:
    assert graph(BODY.format(words)) == [expected]


def test_what_is_joined_leaves_the_document_together() -> None:
    found = graph(BODY.format("See Section 2 or Section 3 of the 1933 Act."))
    assert [kind for _, kind, _ in found] == ["external", "external"]


def test_an_item_is_looked_for_nearby_first() -> None:
    text = (
        "1. One:\n\n(a) first\n\n(b) second, see paragraph (a)\n\n"
        "2. Two:\n\n(a) third\n\n(b) fourth, see paragraph (a)\n\n3. Three.\n"
    )
    assert [target for _, _, target in graph(text)] == ["1/(a)", "2/(a)"]


def test_articles_that_count_sections_anew_keep_their_own() -> None:
    text = (
        "ARTICLE I\nRENT\n\nSection 1 Amount. Due.\n\nSection 2 Time. See Section 1.\n\n"
        "ARTICLE II\nTERM\n\nSection 1 Start. Now.\n\nSection 2 End. See Section 1.\n"
    )
    targets = [target for _, _, target in graph(text)]
    assert targets == ["ARTICLE I/Section 1", "ARTICLE II/Section 1"]


def test_the_number_of_a_clause_is_no_reference_to_it() -> None:
    assert graph("Section 1. Rent.\n\nSection 2. Term.\n\nSection 3. Law.\n") == []


def test_without_clauses_there_are_none() -> None:
    assert references(document("See Section 2."), ()) == ()


PIECES = st.sampled_from(
    [
        *(
            "Section ",
            "Sections ",
            "2",
            "2.1",
            "(a)",
            " and ",
            ", ",
            "Exhibit A",
            "Article IV",
            "§ ",
        ),
        *(
            "第二条",
            "第2.1款",
            "附件一",
            "《民法典》",
            "、",
            "of the Act",
            "\n\n",
            "1. ",
            "2. ",
            "x",
            " ",
        ),
    ]
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=60).map("".join))
def test_references_are_in_order_and_point_into_the_document(text: str) -> None:
    doc = document(text)
    clauses = split_clauses(doc)
    found = references(doc, clauses)
    spans = [(reference.start, reference.end) for reference in found]
    assert spans == sorted(set(spans))
    for reference in found:
        assert clauses[reference.clause].start <= reference.start < clauses[reference.clause].end
        assert reference.target is None or 0 <= reference.target < len(clauses)
        assert reference.kind != "external" or reference.target is None
