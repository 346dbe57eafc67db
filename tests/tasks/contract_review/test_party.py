"""Who the parties are and who acts in a sentence."""

import pytest

from stagepost.tasks.contract_review.cast import cast
from stagepost.tasks.contract_review.party import parties, role_of
from stagepost.tasks.documents.document import Language
from tasks.contract_review.drafting import contract, draft


def introduced(text: str, language: Language = "en") -> list[tuple[str, str, str]]:
    document, _ = draft(text, language)
    return [(party.side, party.alias, party.name) for party in parties(document)]


def test_english_parties_are_taken_from_the_opening_in_order() -> None:
    assert introduced(
        "SUPPLY AGREEMENT\nThis Agreement is made by and between Corran Mills, Inc., a Delaware"
        ' corporation ("Corran"), and Vale & Sons Limited (the "Buyer") (each a "Party").\n'
        'WHEREAS Corran sells flour (the "Products");'
    ) == [
        ("partyA", "Corran", "Corran Mills, Inc."),
        ("partyB", "Buyer", "Vale & Sons Limited"),
    ]


def test_lettered_and_paired_parties_are_found_without_definitions() -> None:
    assert introduced("Party A: Alder Co., Ltd.\nParty B: Birch Co., Ltd.\n1. Party A sells.") == [
        ("partyA", "Party A", "Alder Co., Ltd."),
        ("partyB", "Party B", "Birch Co., Ltd."),
    ]
    assert introduced("The Landlord lets the house to the Tenant. " * 4)[:2] == [
        ("partyA", "Landlord", "Landlord"),
        ("partyB", "Tenant", "Tenant"),
    ]


@pytest.mark.parametrize(
    "opening",
    [
        "甲方：林溪有限公司\n乙方：石桥有限公司",
        "甲方（出租方）：林溪有限公司\n乙方（承租方）：石桥有限公司",
        "出租方（甲方）：林溪有限公司  地址：某市\n承租方（乙方）：石桥有限公司（以下简称“乙方”）",
        "甲 方：林溪有限公司\n乙 方：石桥有限公司，法定代表人：某",
        "本协议由林溪有限公司（以下简称“甲方”）与石桥有限公司（以下简称“乙方”）订立",
    ],
)
def test_chinese_parties_in_their_usual_forms(opening: str) -> None:
    sides = [(side, name[-6:]) for side, _, name in introduced(opening + "\n第一条", "zh")]
    assert sides == [("partyA", "林溪有限公司"), ("partyB", "石桥有限公司")]


def test_role_names_alone_make_the_first_named_party_a() -> None:
    found = introduced("借款人：某甲\n出借人：某乙\n第一条", "zh")
    assert [(side, alias) for side, alias, _ in found] == [
        ("partyA", "借款人"),
        ("partyB", "出借人"),
    ]


def test_roles_say_who_pays() -> None:
    assert role_of("Acme", "Customer") == "payer"
    assert role_of("Service Provider") == "supplier"
    assert role_of("甲方", "承租方") == "payer"
    assert role_of("Acme") == "unknown"


def test_nobody_is_invented() -> None:
    assert introduced("Some notes about the weather, made on Monday.") == []


@pytest.mark.parametrize(
    ("words", "wording", "acting"),
    [
        ("supplier, at its cost, shall on request of customer deliver", "deliver", "Supplier"),
        ("if supplier is late, customer may terminate", "terminate", "Customer"),
        ("this agreement may be terminated by customer", "terminated", "Customer"),
        (
            "in no event shall supplier be liable",
            "in no event shall supplier be liable",
            "Supplier",
        ),
        ("either party may terminate", "terminate", None),
        ("supplier and customer shall keep secret", "keep secret", None),
        ("each of supplier and customer may leave", "leave", None),
        ("nobody may leave", "leave", ""),
    ],
)
def test_the_subject_of_a_sentence(words: str, wording: str, acting: str | None) -> None:
    document, _ = draft('between Aster Ltd (the "Supplier") and Briar Ltd (the "Customer")')
    at = words.index(wording)
    actor = cast(parties(document)).actor(words, (0, len(words)), (at, at + len(wording)))
    if acting is None:
        assert actor is not None
        assert actor.mutual
    else:
        assert (actor.label if actor else "") == acting


def test_chinese_subjects() -> None:
    document, _ = contract("software")
    who = cast(parties(document))
    for words, wording, acting in [
        ("如乙方违约，甲方有权解除", "解除", "甲方"),
        ("甲方有权通知乙方解除", "解除", "甲方"),
        ("费用由乙方承担", "承担", "乙方"),
        ("乙方违约的，应赔偿甲方因此遭受的损失", "赔偿甲方", "乙方"),
    ]:
        at = words.index(wording)
        actor = who.actor(words, (0, len(words)), (at, at + len(wording)))
        assert actor is not None
        assert actor.label == acting, words
