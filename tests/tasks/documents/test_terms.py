"""The index of defined terms."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.tasks.documents import definitions, split_clauses
from tasks.documents import contracts
from tasks.documents.contracts import document


def terms(text: str) -> list[str]:
    doc = document(text)
    return [definition.term for definition in definitions(doc, split_clauses(doc))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"Fees" means the amounts due.', ["Fees"]),
        ("“Fees” shall mean the amounts due.", ["Fees"]),
        ("“Effective Date” has the meaning set forth in Section 2.", ["Effective Date"]),
        ('"Tax" or "Taxes" means any levy.', ["Tax", "Taxes"]),
        ('"Affiliate" of any Person means another Person.', ["Affiliate"]),
        ("Alder Ltd (the “Customer”) and Birch (“Supplier”)", ["Customer", "Supplier"]),
        ('Alder and Birch (each a "Party" and collectively, the "Parties")', ["Party", "Parties"]),
        ('(hereinafter referred to as "Birch")', ["Birch"]),
        ('the machine ("control" means power)', ["control"]),
        ("the “Confidential\nInformation” means all data", ["Confidential Information"]),
        ('He said "hello" to the tenant.', []),
        ('the words "herein" and "hereof" refer to this', ["herein", "hereof"]),
        ("上海某公司（以下简称“甲方”）", ["甲方"]),
        ("甲公司（以下简称甲方）", ["甲方"]),
        ("双方（以下合称「双方」）", ["双方"]),
        ("“产品”是指附件一所列的货物。", ["产品"]),
        ("1.1 净利润：指税后利润。", ["净利润"]),
        ("甲方指定的账户", []),
    ],
)
def test_what_defines_a_term(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_definition_knows_its_place_and_clause() -> None:
    doc = document(contracts.SERVICES)
    clauses = split_clauses(doc)
    found = definitions(doc, clauses)
    assert [doc.text[d.start : d.end] for d in found] == [d.term for d in found]
    places = {d.term: "/".join(clauses[d.clause].path) for d in found}
    assert places == {
        "Agreement": "", "Customer": "", "Supplier": "", "Fees": "1/1.1", "Machines": "1/1.2",
    }  # fmt: skip


def test_without_clauses_there_are_none() -> None:
    assert definitions(document('"Fees" means money.'), ()) == ()


QUOTES = st.sampled_from(
    [
        '"',
        "“",
        "”",
        "(",
        ")",
        "the ",
        "Fees",
        "means",
        " ",
        "以下简称",
        "是指",
        "：",
        "\n",
        "，",
        "指",
    ]
)


@settings(deadline=None)
@given(st.lists(QUOTES, max_size=80).map("".join))
def test_terms_are_in_order_and_in_the_text(text: str) -> None:
    doc = document(text)
    found = definitions(doc, split_clauses(doc))
    assert list(found) == sorted(found, key=lambda d: (d.start, d.end))
    for definition in found:
        assert " ".join(text[definition.start : definition.end].split()) == definition.term
        assert definition.term
