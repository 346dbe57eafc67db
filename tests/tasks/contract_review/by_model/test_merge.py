"""Rules and model in one list: nothing twice, and no rule's finding lost or made smaller."""

import pytest

from stagepost.tasks.contract_review import Finding, summarise
from stagepost.tasks.contract_review.by_model.merge import merged
from tasks.contract_review.drafting import draft, framed, review

RULED = Finding(
    id="liability-unlimited-10",
    rule_id="liability-unlimited",
    clause="1",
    clause_path=("1",),
    page=1,
    start=10,
    end=50,
    quote="q" * 40,
    category="Uncapped Liability",
    severity="MEDIUM",
    risk="The rule's risk.",
    for_whom="partyB",
    law_reference=None,
    suggestion="The rule's advice.",
    negotiability="MEDIUM",
    confidence=0.7,
    origin="rule",
)
MODELLED = RULED.model_copy(
    update={
        "id": "model-uncapped-liability-20-60",
        "rule_id": "",
        "start": 20,
        "end": 60,
        "severity": "HIGH",
        "risk": "The model's risk.",
        "suggestion": "The model's advice.",
        "confidence": 0.6,
        "origin": "model",
        "model": "main/large",
        "citation": "unverified",
    }
)


def test_one_place_and_category_is_one_finding_of_both() -> None:
    (both,) = merged([RULED], [MODELLED])
    assert (both.origin, both.rule_id, both.model) == ("rule", "liability-unlimited", "main/large")
    assert (both.start, both.end, both.quote) == (RULED.start, RULED.end, RULED.quote)
    assert both.severity == "HIGH"
    assert both.confidence == pytest.approx(0.88)
    assert both.risk == "The rule's risk. The model's risk."
    assert both.suggestion == "The rule's advice. The model's advice."
    assert both.citation == "unverified"


def test_a_model_makes_no_rule_s_finding_smaller() -> None:
    meek = MODELLED.model_copy(update={"severity": "LOW", "confidence": 0.0, "risk": "Harmless."})
    (both,) = merged([RULED.model_copy(update={"law_reference": "Art. 1"})], [meek])
    assert (both.severity, both.confidence) == ("MEDIUM", 0.7)
    assert both.risk.startswith("The rule's risk.")
    assert (both.law_reference, both.citation) == ("Art. 1", None)


@pytest.mark.parametrize(
    "other", [{"category": "Breach"}, {"start": 45, "end": 90}, {"start": 60, "end": 100}]
)
def test_another_place_or_category_is_another_finding(other: dict[str, object]) -> None:
    model = MODELLED.model_copy(update=other)
    assert merged([RULED], [model]) == [RULED, model]


def test_two_rules_in_one_place_are_not_confirmed_by_one_finding() -> None:
    second = RULED.model_copy(update={"id": "other", "rule_id": "other"})
    first, left = merged([RULED, second], [MODELLED])
    assert first.model == "main/large"
    assert left == second


def test_a_model_s_findings_are_listed_each_by_itself_and_forged_ones_are_dropped() -> None:
    lines = "".join(f"{n}. The Customer bears loss number {n}.\n" for n in range(1, 6))
    document, clauses = draft(lines)
    frame = framed((document, clauses))

    def of_model(number: int) -> Finding:
        quote = f"The Customer bears loss number {number}."
        start = document.text.index(quote)
        where = {"start": start, "end": start + len(quote), "quote": quote, "id": f"m{number}"}
        return MODELLED.model_copy(update=where)

    found = [of_model(number) for number in range(1, 6)]
    forged = found[0].model_copy(update={"start": found[0].start + 1, "id": "forged"})
    summary = summarise(document, clauses, frame, [], [*found, forged])
    assert [one.id for one in summary.findings] == ["m1", "m2", "m3", "m4", "m5"]
    assert summary.dropped == 1
    assert len(summary.actions) == 5


def test_what_only_rules_found_is_printed_as_before() -> None:
    printed = review(draft("1. The Customer's liability shall be unlimited.")).model_dump(
        by_alias=True
    )
    assert not [one for one in printed["findings"] if "model" in one or "citation" in one]
    assert printed["findings"]
    assert {"model", "citation"} <= set(MODELLED.model_dump(by_alias=True))
