"""Each rule, by its wordings in both languages; and what no rule may find."""

import pytest

from stagepost.tasks.contract_review import analyse_clause, clause_items
from stagepost.tasks.contract_review import law as statutes
from stagepost.tasks.contract_review.category_words import word
from stagepost.tasks.contract_review.law import Article
from stagepost.tasks.contract_review.playbook import RULES
from stagepost.tasks.contract_review.report import ContractType, Finding
from stagepost.tasks.documents.document import Language
from tasks.contract_review.drafting import draft, framed
from tasks.contract_review.wordings import FOUND, LEFT_ALONE

_ROLES = {
    "license": ("Licensor", "Licensee"),
    "lease": ("Landlord", "Tenant"),
    "loan": ("Lender", "Borrower"),
}


def found_in(words: str, language: Language, kind: ContractType) -> list[Finding]:
    first, second = _ROLES.get(kind, ("Supplier", "Customer"))
    opening = (
        f'AGREEMENT between Orrin Mill Limited (the "{first}"), and Tarn Foods Inc. (the'
        f' "{second}").\n1. '
        if language == "en"
        else "合同\n甲方：松间食品有限公司\n乙方：溪石软件有限公司\n第一条 "
    )
    drafted = draft(f"{opening}{words}\n", language)
    known = framed(drafted, contract_type=kind)
    return [one for item in clause_items(*drafted)[1:] for one in analyse_clause(item, known)]


@pytest.mark.parametrize(("rule", "language", "kind", "words"), FOUND)
def test_a_rule_finds_its_wording(
    rule: str, language: Language, kind: ContractType, words: str
) -> None:
    assert rule in [finding.rule_id for finding in found_in(words, language, kind)]


@pytest.mark.parametrize(("language", "kind", "words"), LEFT_ALONE)
def test_negations_definitions_headings_and_fair_terms_are_left_alone(
    language: Language, kind: ContractType, words: str
) -> None:
    assert [finding.rule_id for finding in found_in(words, language, kind)] == []


def test_every_rule_is_shown_in_every_language_it_reads() -> None:
    shown = {(rule, language) for rule, language, _, _ in FOUND}
    declared = {(rule.id, "en") for rule in RULES if rule.en} | {
        (rule.id, "zh") for rule in RULES if rule.zh
    }
    assert shown == declared


def test_the_playbook_is_well_formed() -> None:
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids)) >= 40
    both = [rule for rule in RULES if rule.en and rule.zh]
    assert len(both) >= 40
    for rule in RULES:
        assert rule.en or rule.zh
        assert set(rule.covers) <= set(ids) - {rule.id}
        assert 0 < rule.confidence < 1
        assert word(rule.category, "zh") != rule.category, "no Chinese word for the category"
        for text in (rule.risk, rule.suggestion):
            assert text.en.endswith(".")
            assert text.zh.endswith("。")


def test_citations_name_the_law_and_its_article() -> None:
    articles = [value for value in vars(statutes).values() if isinstance(value, Article)]
    assert len(articles) >= 40
    for article in articles:
        assert article.cited("zh") == f"《{article.law}》{article.article}"
        assert f"Art. {article.number} (" in article.cited("en")
        assert article.law.startswith("中华人民共和国")


def test_law_is_cited_only_under_the_law_of_the_prc() -> None:
    words = "The Supplier's liability under this Agreement shall be unlimited."
    (foreign,) = found_in(
        f"{words} This Agreement is governed by the laws of Ireland.", "en", "sale"
    )
    assert foreign.law_reference is None
    domestic = found_in(
        f"{words}\n2. This Agreement is governed by the laws of the People's Republic of China.",
        "en",
        "sale",
    )
    assert (
        domestic[0].law_reference
        == "Civil Code of the PRC, Art. 584 (《中华人民共和国民法典》第五百八十四条)"
    )
    (chinese,) = found_in("乙方对由此造成的损失承担无限责任。", "zh", "sale")
    assert chinese.law_reference == "《中华人民共和国民法典》第五百八十四条"
    abroad = found_in("乙方承担无限责任。本合同适用新加坡法律。", "zh", "sale")
    assert {one.rule_id for one in abroad} == {"liability-unlimited", "law-foreign"}
    assert {one.law_reference for one in abroad} == {None}


@pytest.mark.parametrize(
    ("words", "language", "kind", "bearer"),
    [
        (
            "The Supplier may terminate this Agreement at any time for convenience.",
            "en",
            "sale",
            "partyB",
        ),
        ("The Customer shall indemnify the Supplier against any claims.", "en", "sale", "partyB"),
        ("In no event shall the Supplier be liable for indirect damages.", "en", "sale", "partyB"),
        ("If the Customer is late, the Supplier may increase the fees.", "en", "sale", "partyB"),
        (
            "The Supplier hereby assigns to the Customer all right and title.",
            "en",
            "sale",
            "partyA",
        ),
        ("甲方有权提前五日通知乙方解除本合同，且不支付任何补偿。", "zh", "sale", "partyB"),
        ("乙方的背景知识产权归甲方所有。", "zh", "sale", "partyB"),
        ("如乙方违约，甲方有权单方修改本合同条款。", "zh", "sale", "partyB"),
    ],
)
def test_the_party_that_bears_the_risk_is_named(
    words: str, language: Language, kind: ContractType, bearer: str
) -> None:
    assert bearer in {finding.for_whom for finding in found_in(words, language, kind)}
