"""The summary by a model: from the list alone, behind the rules' level, and never instead of it."""

from typing import Any

import pytest

from stagepost.tasks.contract_review.by_model.answer import ActionAnswer, SummaryAnswer
from stagepost.tasks.contract_review.by_model.summing import ACTION_MOST, SUMMARY_MOST
from tasks.contract_review.by_model.running import report_of, run_review
from tasks.contract_review.by_model.scripted import (
    NOTHING,
    Failed,
    Scripted,
    clause_of,
    data_of,
    risks,
    said,
)

CONTRACT = """\
AGREEMENT between Zebrafish Ltd (the "Supplier") and Quokka Ltd (the "Customer").

1. Narwhal. The Supplier will provide the Axolotl with care.

2. Fees. The Customer pays within thirty days of the invoice.

3. Liability. The Customer's liability for the Axolotl shall be unlimited.
"""


def answering(summary: str, *actions: tuple[int, str]) -> Scripted:
    told = [ActionAnswer(entry=entry, action=action) for entry, action in actions]
    fees = risks(said("within thirty days", category="Payment", severity="LOW"))
    return Scripted(
        lambda question: fees if clause_of(question).startswith("2") else NOTHING,
        lambda _: SummaryAnswer(summary=summary, actions=told),
    )


async def test_the_model_sees_the_list_and_nothing_of_the_contract(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = answering("Two things matter.")
    report_of(await run_review(monkeypatch, models, CONTRACT))
    (question,) = [messages for alias, messages in models.asked if alias == "fast"]
    said_to = "\n".join(message["content"] for message in question)
    assert not [word for word in ("Zebrafish", "Quokka", "Narwhal", "Axolotl") if word in said_to]
    assert "1. HIGH Uncapped Liability" in data_of(question[1]["content"])
    assert "2. LOW Payment" in data_of(question[1]["content"])


async def test_its_words_stand_behind_the_level_and_its_actions_at_our_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = answering("Two things matter.", (2, "Agree on the date."), (1, "Ask for a cap."))
    report = report_of(await run_review(monkeypatch, models, CONTRACT))
    offline = report_of(await run_review(monkeypatch, None, CONTRACT))
    assert "Overall risk: medium, because" in report["summary"]
    assert report["summary"].endswith(" Two things matter.")
    assert report["actions"] == [
        "In clause 2: Agree on the date.",
        "In clause 3: Ask for a cap.",
    ]
    assert report["riskLevel"] == offline["riskLevel"]


async def test_what_it_leaves_out_stays_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    models = answering("Two things matter.", (2, "Agree on the date."))
    report = report_of(await run_review(monkeypatch, models, CONTRACT))
    first, second = report["actions"]
    assert first == "In clause 2: Agree on the date."
    assert second.startswith("In clause 3: Cap total liability")


@pytest.mark.parametrize("kind", ["OVERLOADED", "BAD_OUTPUT", "CONTENT_POLICY", "QUOTA"])
async def test_where_it_fails_the_rules_sum_up_and_the_report_says_so(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    models = Scripted(lambda _: NOTHING, lambda _: Failed(kind))
    report = report_of(await run_review(monkeypatch, models, CONTRACT))
    offline = report_of(await run_review(monkeypatch, None, CONTRACT))
    assert (report["summary"], report["actions"]) == (offline["summary"], offline["actions"])
    assert "summary is that of the rules" in " ".join(report["warnings"])
    assert report["engine"].startswith("language model")


@pytest.mark.parametrize("summary", ["", " \u200b\n", "<p></p>"])
async def test_an_empty_summary_is_none(monkeypatch: pytest.MonkeyPatch, summary: str) -> None:
    report = report_of(await run_review(monkeypatch, answering(summary, (1, "Go.")), CONTRACT))
    assert "summary is that of the rules" in " ".join(report["warnings"])
    assert "Go." not in " ".join(report["actions"])


async def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    models = answering("long " * 5_000, *((n, "do " * 5_000) for n in range(1, 9)))
    report: dict[str, Any] = report_of(await run_review(monkeypatch, models, CONTRACT))
    offline = report_of(await run_review(monkeypatch, None, CONTRACT))
    assert len(report["summary"]) <= len(offline["summary"]) + SUMMARY_MOST + 40
    assert all(len(action) <= ACTION_MOST + 100 for action in report["actions"])


async def test_nobody_is_asked_where_nothing_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    models = Scripted()
    text = "AGREEMENT\n\n1. Services. The parties work with care.\n"
    report_of(await run_review(monkeypatch, models, text))
    assert {alias for alias, _ in models.asked} == {"best"}


@pytest.mark.parametrize("error", [KeyError("a bug"), Failed("UNKNOWN_OUTCOME")])
async def test_what_is_no_failure_of_a_model_is_raised(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    done = await run_review(monkeypatch, Scripted(lambda _: NOTHING, lambda _: error), CONTRACT)
    assert done.error is error
