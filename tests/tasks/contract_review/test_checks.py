"""The mechanical checks, each by what it must and must not report."""

import pytest

from stagepost.tasks.contract_review.checks import EACH_MOST, mechanical_checks
from stagepost.tasks.contract_review.report import Check, ContractType
from stagepost.tasks.documents.document import Language
from tasks.contract_review.drafting import contract, draft, framed

_EN = (
    'AGREEMENT between Orrin Mill Limited (the "Supplier") and Tarn Foods Inc. (the "Customer").\n'
)
_ZH = "合同\n甲方：松间食品有限公司\n乙方：溪石软件有限公司\n"


def checked(text: str, language: Language = "en", kind: ContractType = "services") -> list[Check]:
    drafted = draft((_EN if language == "en" else _ZH) + text, language)
    found = mechanical_checks(*drafted, framed(drafted, contract_type=kind))
    for check in found:
        assert drafted[0].text[check.start : check.end] == check.quote
        assert check.quote
    return list(found)


def kinds(text: str, language: Language = "en", kind: ContractType = "services") -> list[str]:
    return [check.kind for check in checked(text, language, kind)]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("1. The price is fifty thousand dollars ($5,000).", "en"),
        ("1. Pay within thirty (60) days.", "en"),
        ("1. The fee is $12,000 (ten thousand dollars).", "en"),
        ("1. Pay ten percent (15%) at once.", "en"),
        ("第一条 总价为人民币100,000元（大写：壹拾贰万元整）。", "zh"),
        ("第一条 总价为12万元（大写：壹拾万元整）。", "zh"),
        ("第一条 大写：人民币伍仟元整（¥50,000.00）。", "zh"),
        ("第一条 十五（25）日内付款。", "zh"),
    ],
)
def test_words_and_figures_that_differ(text: str, language: Language) -> None:
    (check,) = checked(text, language)
    assert (check.kind, check.severity) == ("amount-words", "HIGH")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("1. The price is one hundred and twenty-five thousand dollars ($125,000.00).", "en"),
        ("1. Interest of one and one-half percent (1.5%) is due.", "en"),
        ("1. Article one (a) and thirty (30) days, two million dollars ($2,000,000).", "en"),
        ("第一条 总价为人民币120,000.50元（大写：壹拾贰万元伍角）。", "zh"),
        ("第一条 总价86万元（大写：捌拾陆万元整），首付20,000元。", "zh"),
        ("第一条 三十（30）日内付款。", "zh"),
    ],
)
def test_words_and_figures_that_agree(text: str, language: Language) -> None:
    assert kinds(text, language) == []


@pytest.mark.parametrize(
    ("text", "language", "kind"),
    [
        ("1. Start on 31 April 2026.", "en", "date-impossible"),
        ("1. Start on February 30, 2026.", "en", "date-impossible"),
        ("第一条 于2026年13月1日交付。", "zh", "date-impossible"),
        ("第一条 于2026年2月29日交付。", "zh", "date-impossible"),
        ("1. The term runs from 1 May 2026 to 30 April 2025.", "en", "date-contradiction"),
        (
            "1. For a term of two years from 1 May 2026 to 30 April 2027.",
            "en",
            "date-contradiction",
        ),
        ("第一条 自2026年5月1日起至2026年4月30日止。", "zh", "date-contradiction"),
        ("第一条 期限为三年，自2026年5月1日起至2028年4月30日止。", "zh", "date-contradiction"),
    ],
)
def test_dates_that_cannot_be(text: str, language: Language, kind: str) -> None:
    assert kinds(text, language) == [kind]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("1. From 1 May 2026 to 30 April 2027, a term of one year.", "en"),
        ("1. Page 32 May 2026 and 29 February 2028.", "en"),
        ("第一条 期限为二年，自2026年5月1日起至2028年4月30日止。", "zh"),
    ],
)
def test_dates_that_can(text: str, language: Language) -> None:
    assert kinds(text, language) == []


_NUMBERED = "1. One.\n2. Two.\n3. Three.\n4. Four.\n"


@pytest.mark.parametrize(
    ("text", "language", "reported"),
    [
        (_NUMBERED + "5. See Section 9.2 and clause 4.", "en", ["Section 9.2"]),
        (_NUMBERED + "5. See Article XII.", "en", ["Article XII"]),
        (_NUMBERED + "5. See Section 9 of the Securities Act and Code Section 409A.", "en", []),
        (_NUMBERED + "5. See Section 4(b), Section 3 and this Section 5.", "en", []),
        ("第一条 甲\n第二条 乙\n第三条 按照第十二条的约定。", "zh", ["第十二条"]),
        ("第一条 甲\n第二条 乙\n第三条 按照《民法典》第五百八十五条及第二条。", "zh", []),
    ],
)
def test_references_to_clauses_that_do_not_exist(
    text: str, language: Language, reported: list[str]
) -> None:
    found = checked(text, language)
    assert [check.kind for check in found] == ["dangling-reference"] * len(reported)
    for check, name in zip(found, reported, strict=True):
        assert name in check.message


def test_a_file_that_lost_its_numbers_gets_one_remark_only() -> None:
    text = _NUMBERED + "".join(f"See Section 7.{part}.\n" for part in range(1, 9))
    (check,) = checked(text)
    assert check.severity == "LOW"


@pytest.mark.parametrize(
    ("text", "language", "reported"),
    [
        ("1. See Exhibit A and Schedule 2.\nEXHIBIT A - PRICES\nTen.", "en", ["Schedule 2"]),
        ("1. See Exhibit B of the Lease.", "en", []),
        ("第一条 见附件一、附件二。\n附件一：清单\n一台。", "zh", ["附件二"]),
    ],
)
def test_annexes_that_are_not_attached(text: str, language: Language, reported: list[str]) -> None:
    found = checked(text, language)
    assert [check.kind for check in found] == ["missing-annex"] * len(reported)
    for check, name in zip(found, reported, strict=True):
        assert name in check.message


@pytest.mark.parametrize(
    ("text", "language", "count"),
    [
        ("1. The price is $______ and the term [●] months.", "en", 1),
        ("1. The delivery date is [insert date].", "en", 1),
        ("1. Redacted: [***].\nSigned for Orrin Mill\nName: ______  Date: ______", "en", 0),
        ("第一条 总价为____元，于    年    月    日前交付。", "zh", 1),
        ("第一条 正文。\n甲方（盖章）：____\n日期：____", "zh", 0),
    ],
)
def test_blanks(text: str, language: Language, count: int) -> None:
    assert kinds(text, language) == ["blank"] * count


def test_the_same_blank_is_listed_once_with_every_clause_that_has_it() -> None:
    text = "".join(
        f"{n}. Extra seats cost an additional fee (to be determined).\n" for n in range(1, 5)
    )
    (check,) = checked(text)
    assert check.message == "Clause 1: 4 blanks were left to be filled in (also in 2, 3, 4)."


def test_many_blanks_are_named_without_listing_each() -> None:
    text = "".join(f"{n}. The price of part {n} is $____ a piece.\n" for n in range(1, 31))
    found = checked(text)
    others = ", ".join(str(n) for n in range(7, 19))
    assert len(found) == 6
    assert found[-1].message == (
        f"Clause 6: 25 blanks were left to be filled in (also in {others} …)."
    )


def test_a_blank_is_quoted_in_whole_words_and_a_box_is_no_blank() -> None:
    words = "extraordinarily " * 8
    (check,) = checked(f"1. {words}long deliveries take [insert number] days, {words}seldom.\n")
    assert check.message == "Clause 1: 1 blank was left to be filled in."
    assert check.quote.startswith("extraordinarily ")
    assert check.quote.endswith("extraordinarily")
    assert kinds("1. Choose one.\n[  ] Pay monthly.\n[ x ] Pay at once.\n") == []


def test_party_names_that_drift() -> None:
    assert kinds("1. Orrin Mills Limited shall deliver.") == ["party-drift"]
    (check,) = checked("1. Orrin Mills Limited shall deliver.")
    assert check.message == (
        "Clause 1: Orrin Mills Limited is not the party's name, Orrin Mill Limited; it may be"
        " another company."
    )
    assert kinds("1. The Supplier works for the Client and others.") == ["party-drift"]
    assert kinds("1. Orrin Mill Limited delivers to the Customer.") == []
    assert kinds("第一条 松间食品股份有限公司应当付款。", "zh") == ["party-drift"]
    assert kinds("第一条 松间食品有限公司应当付款。", "zh") == []


def test_terms_that_are_used_but_not_defined() -> None:
    used = "The work on the Deliverables starts. Test the Deliverables. Accept the Deliverables. "
    assert kinds(f"1. {used}") == ["undefined-term"]
    assert kinds(f'1. "Deliverables" means the reports. {used}') == []
    assert kinds("第一条 丙方应当付款。", "zh") == ["undefined-term"]


def test_papers_that_both_claim_precedence() -> None:
    first = "1. In case of conflict, this Agreement shall prevail.\n"
    assert kinds(f"{first}2. If there is an inconsistency, the Order Form shall prevail.") == [
        "precedence"
    ]
    assert kinds(f"{first}2. In a conflict of terms this Agreement shall control.") == []
    assert kinds(
        "第一条 合同与补充约定不一致的，以本合同为准。\n第二条 内容冲突的，以附件为准。", "zh"
    ) == ["precedence"]


@pytest.mark.parametrize(
    ("text", "kind", "cited"),
    [
        ("第一条 定金为合同总价的百分之三十。", "sale", "第五百八十六条"),
        ("第一条 合同总价为100,000元。\n第二条 甲方支付定金30,000元。", "sale", "第五百八十六条"),
        ("第一条 租赁期限为二十五年。", "lease", "第七百零五条"),
        ("第一条 租赁期自2026年1月1日至2050年1月1日。", "lease", "第七百零五条"),
        ("第一条 合同期限为一年，试用期三个月。", "employment", "第十九条"),
        ("第一条 合同期限为三年，试用期七个月。", "employment", "第十九条"),
        ("第一条 乙方的竞业限制期限为三年。", "employment", "第二十四条"),
    ],
)
def test_figures_beyond_a_legal_cap(text: str, kind: ContractType, cited: str) -> None:
    (check,) = checked(text, "zh", kind)
    assert (check.kind, check.severity) == ("legal-cap", "HIGH")
    assert cited in check.message


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("第一条 定金为合同总价的20%。", "sale"),
        ("第一条 租赁期限为二十年。", "lease"),
        ("第一条 合同期限为三年，试用期六个月。", "employment"),
        ("第一条 乙方的竞业限制期限为二年。", "employment"),
        ("第一条 定金为合同总价的百分之三十。本合同适用香港法律。", "sale"),
    ],
)
def test_figures_within_the_caps_or_under_another_law(text: str, kind: ContractType) -> None:
    assert kinds(text, "zh", kind) == []


def test_a_clean_contract_passes_every_check() -> None:
    drafted = contract("clean-sale")
    assert mechanical_checks(*drafted, framed(drafted)) == ()


def test_no_kind_floods_the_list() -> None:
    text = "".join(f"{n}. Pay one ({n + 1}) dollar.\n" for n in range(1, 99))
    assert len(checked(text)) == EACH_MOST
