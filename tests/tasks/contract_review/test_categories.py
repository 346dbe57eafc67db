"""CUAD's categories on sentences written for these tests."""

import pytest

from stagepost.tasks.contract_review import clause_items
from stagepost.tasks.contract_review.categories import CATEGORIES, categorise
from stagepost.tasks.documents.document import Language
from tasks.contract_review.drafting import draft, review


def categories(words: str, language: Language = "en") -> set[str]:
    document, clauses = draft(f"1. {words}", language)
    (item,) = clause_items(document, clauses)
    return {span.category for span in categorise(item).categories}


@pytest.mark.parametrize(
    ("category", "words"),
    [
        ("Governing Law", "This Agreement is governed by the laws of Ireland."),
        ("Anti-Assignment", "Neither party may assign this Agreement without consent."),
        ("Cap On Liability", "The Supplier's total liability shall not exceed the fees paid."),
        ("Uncapped Liability", "Nothing in this Agreement limits liability for fraud."),
        ("Audit Rights", "The Customer may audit the books and records of the Supplier."),
        ("Insurance", "The Supplier shall maintain liability insurance."),
        ("Exclusivity", "The Buyer shall purchase the goods exclusively from the Seller."),
        ("Non-Compete", "The Seller shall not compete with the Buyer."),
        ("No-Solicit Of Employees", "Neither party shall solicit the employees of the other."),
        ("No-Solicit Of Customers", "He shall not solicit any customers of the Company."),
        ("Renewal Term", "This Agreement shall automatically renew for one year."),
        ("Expiration Date", "This Agreement shall continue until 31 May 2027."),
        ("Effective Date", "This Agreement shall become effective on 1 May 2026."),
        ("Termination For Convenience", "Either party may terminate upon sixty days' notice."),
        ("Change Of Control", "Upon a change of control the Licensor may leave."),
        ("License Grant", "The Licensor grants a licence to use the software."),
        ("Irrevocable Or Perpetual License", "This is a perpetual licence."),
        ("Ip Ownership Assignment", "He hereby assigns all right, title and interest."),
        ("Joint Ip Ownership", "The results are jointly owned."),
        ("Liquidated Damages", "They pay liquidated damages."),
        ("Minimum Commitment", "The minimum purchase quantity is ten."),
        ("Most Favored Nation", "Most favored nation pricing applies."),
        ("Revenue/Profit Sharing", "The Agent receives ten percent of net revenue."),
        ("Rofr/Rofo/Rofn", "The Buyer has a right of first refusal."),
        ("Source Code Escrow", "The source code is placed in escrow."),
        ("Covenant Not To Sue", "The Licensee shall not contest the validity of the patent."),
        ("Third Party Beneficiary", "The Bank is a third party beneficiary."),
        ("Warranty Duration", "The goods are warranted for a period of two years."),
    ],
)
def test_a_category_is_recognised(category: str, words: str) -> None:
    assert category in categories(words)


@pytest.mark.parametrize(
    ("category", "words"),
    [
        ("Governing Law", "本合同适用中华人民共和国法律。"),
        ("Anti-Assignment", "未经对方同意，任何一方不得转让本合同。"),
        ("Cap On Liability", "赔偿责任累计不超过合同总价。"),
        ("Exclusivity", "乙方为甲方的独家供应商。"),
        ("Insurance", "乙方应投保财产一切险。"),
        ("Warranty Duration", "质保期为二十四个月。"),
        ("Liquidated Damages", "违约金为合同总价的百分之五。"),
    ],
)
def test_a_category_is_recognised_in_chinese(category: str, words: str) -> None:
    assert category in categories(words, "zh")


def test_plain_sentences_have_no_category() -> None:
    assert categories("The parties met on the hill and had tea.") == set()
    assert categories("双方在友好的气氛中会面。", "zh") == set()


def test_the_names_are_cuads_own_and_single() -> None:
    names = [category.name for category in CATEGORIES]
    assert len(names) == len(set(names)) == 38


def test_contents_pages_are_not_marked() -> None:
    lines = " ".join(f"{n}.1 Audit Rights and Insurance {n}{n}" for n in range(1, 9))
    assert categories(lines) == set()


def test_the_front_of_a_contract_is_marked() -> None:
    drafted = draft(
        "SUPPLY AGREEMENT\nThis Supply Agreement is made on 3 May 2026 between Ash Mills Limited"
        ' (the "Seller") and Elm Foods Inc. (the "Buyer").\n1. They agree.'
    )
    preamble = review(drafted).clauses[0]
    marked = {
        (span.category, drafted[0].text[span.start : span.end]) for span in preamble.categories
    }
    assert marked >= {
        ("Document Name", "SUPPLY AGREEMENT"),
        ("Parties", "Ash Mills Limited"),
        ("Parties", "Buyer"),
    }
    assert any(name == "Agreement Date" and "3 May 2026" in text for name, text in marked)
