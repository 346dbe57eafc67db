"""Who the parties are and who acts in a sentence."""

import pytest

from stagepost.tasks.contract_review.cast import cast
from stagepost.tasks.contract_review.party import parties
from stagepost.tasks.contract_review.roles import role_of
from stagepost.tasks.documents.document import Language
from tasks.contract_review.drafting import contract, draft

_FORMS = {
    "a numbered list in capitals": (
        """This AGREEMENT is made BETWEEN
        1. Quillon Data Corp., a Delaware corporation ("Quillon"), of 3 Hill Street AND
        2. Thorne Science Limited a company registered in England ("Thorne"), in Leeds.
        WHEREAS""",
        ["Quillon Data Corp.", "Thorne Science Limited"],
    ),
    "a letter": (
        """Yield Letter
        To: Larch Bank, N.A., as trustee ("Counterparty") From: Moor AG, London Branch ("Moor")
        This letter confirms the deal between us. It is a "Confirmation" under the rules of the
        Swaps Association, Inc. (the "Model Form").""",
        ["Larch Bank, N.A.", "Moor AG"],
    ),
    "behind a title page and a table of contents": (
        "PROMOTION AGREEMENT BY AND BETWEEN ALDER CORPORATION AND BIRCH INC. TABLE OF CONTENTS"
        + "2. GOVERNANCE 10\n" * 200
        + """This Agreement is entered into by and between Birch Inc. ("Birch"), a Nevada
        corporation, and Alder Corporation ("Alder"). Each is a "Party".""",
        ["Birch Inc.", "Alder Corporation"],
    ),
    "a small first letter, an old name, an address with a bracket": (
        """Agreement between ivoryNet, Inc. (formerly known as Ivory, Inc.), ("Ivory") and
        Oto GmbH, a company located at Weg 4, Halle (Saale), Germany ("Oto").""",
        ["ivoryNet, Inc.", "Oto GmbH"],
    ),
    "an and, an of in the name": (
        """AGREEMENT by and between RIVER GAS AND POWER COMPANY, hereinafter referred to as
        "Shipper" and Elm of Vermont LLC ("Carrier"). The rates follow the (the "Conditions").""",
        ["RIVER GAS AND POWER COMPANY", "Elm of Vermont LLC"],
    ),
    "a company without Inc. or Ltd.": (
        """by and between Alder Flooring, Inc., a Delaware corporation ("Seller") and Alder Floors
        Company, a Tennessee corporation (the "Buyer").""",
        ["Alder Flooring, Inc.", "Alder Floors Company"],
    ),
    "short names without quotes": (
        """This Agreement is entered into by Lakes Gas Limited Partnership (Transporter) and FEN
        PIPELINE COMPANY (Shipper). WHEREAS""",
        ["Lakes Gas Limited Partnership", "FEN PIPELINE COMPANY"],
    ),
    "no short names": (
        "This is a hosting agreement between Nutmeg.com and tide systems. It lasts a year.",
        ["Nutmeg.com", "tide systems"],
    ),
}


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


@pytest.mark.parametrize("form", sorted(_FORMS))
def test_english_parties_in_their_many_forms(form: str) -> None:
    opening, names = _FORMS[form]
    assert [name for _, _, name in introduced(opening)] == names


def test_parties_that_are_taken_together_stand_on_one_side() -> None:
    text = (
        'Agreement between Quill Corp. ("Quill"), Thorne Limited ("Thorne") and Marsh A/S ("Marsh")'
        ' (together, Thorne and Marsh shall be referred to as "the Publishers").\nWHEREAS'
    )
    document, _ = draft(text)
    assert [(party.side, party.alias) for party in parties(document)] == [
        ("partyA", "Quill"),
        ("partyB", "Thorne"),
        ("partyB", "Marsh"),
    ]
    words = "the publishers shall indemnify quill"
    actor = cast(parties(document)).actor(words, (0, len(words)), (15, 30))
    assert actor is not None
    assert actor.side == "partyB"


@pytest.mark.parametrize(
    "text",
    [
        'This Mutual Agreement ("MNDA") has a front (the "Cover Page") and (the "Standard Terms").',
        "The parties agree between the parties and their affiliates. " * 5,
        "This agreement is between {customer_name} and {provider_name}.",
        'If you and we signed the Model Agreement (the "Model Form"), this "Confirmation" governs.',
    ],
)
def test_a_document_or_a_form_is_no_party(text: str) -> None:
    assert introduced(text) == []


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
