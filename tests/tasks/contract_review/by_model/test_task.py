"""The task with a model beside the rules, run with the real context."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from stagepost import Context, InvalidInput, Overloaded, RateLimited, ServerError
from stagepost.outcome import Waiting
from stagepost.tasks.contract_review.by_model.prompt import SYSTEM
from stagepost.tasks.contract_review.by_model.trouble import OF_THE_SERVICE
from stagepost.tasks.contract_review.report import ENGINE
from stagepost.tasks.contract_review.task import app
from stagepost.testing import TaskRun, always_replay
from stagepost.waiting import LimitFree
from tasks.contract_review.by_model.running import report_of, run_review
from tasks.contract_review.by_model.scripted import (
    NOTHING,
    Failed,
    Scripted,
    Told,
    clause_of,
    risks,
    said,
)
from tasks.contract_review.drafting import contract

CONTRACT = """\
AGREEMENT between Ash Ltd (the "Supplier") and Elm Ltd (the "Customer").

1. Services. The Supplier will provide the services with care.

2. Fees. The Customer pays within thirty days of the invoice.

3. Liability. The Customer's liability under this Agreement shall be unlimited.

4. Term. Either party may terminate on ninety days' notice in writing.
"""
ENGINE_BY_MODEL = "language model main/large; rules as a second opinion"

Run = Callable[..., Any]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    async def run(models: Any, text: str = CONTRACT, **given: Any) -> TaskRun:
        return await run_review(monkeypatch, models, text, **given)

    return run


def about(number: str, told: Told, otherwise: Told = NOTHING) -> Callable[[str], Told]:
    """An answer for the clause of a number, another for the rest."""
    return lambda question: told if clause_of(question).startswith(number) else otherwise


async def test_each_clause_is_asked_about_once_and_the_report_names_its_model(run: Run) -> None:
    fees = said("within thirty days of the invoice", category="Payment", severity="LOW")
    unlimited = said("The Customer's liability under this Agreement shall be unlimited")
    models = Scripted(
        lambda question: about("2", risks(fees), about("3", risks(unlimited))(question))(question)
    )
    report = report_of(await run(models))
    assert len(models.clauses) == len(report["clauses"])
    assert report["engine"] == ENGINE_BY_MODEL
    assert report["notAnalysed"] == []
    assert "language model" in report["disclaimer"]
    by_category = {one["category"]: one for one in report["findings"]}
    assert by_category["Payment"]["origin"] == "model"
    assert by_category["Payment"]["model"] == "main/large"
    both = by_category["Uncapped Liability"]
    assert (both["origin"], both["ruleId"], both["model"]) == (
        "rule",
        "liability-unlimited",
        "main/large",
    )
    assert both["confidence"] > 0.9
    assert len(report["findings"]) == 2


async def test_it_says_who_found_what_on_the_page(run: Run) -> None:
    done = await run(Scripted(about("2", risks(said("within thirty days", law_reference="A77")))))
    html = done.artifacts["report.html"].content.decode()
    assert "Found by: main/large" in html
    assert "could not be verified" in html
    assert json.loads(done.artifacts["report.json"].content) == report_of(done)
    assert any("could not be verified" in one for one in report_of(done)["warnings"])


@pytest.mark.parametrize("models", [None, Scripted(models=())])
async def test_without_a_model_the_rules_review_as_ever(run: Run, models: Scripted | None) -> None:
    done = await run(models)
    report = report_of(done)
    assert report["engine"] == ENGINE
    assert [path for path in done.ran if "[" not in path] == [
        "parse", "clauses", "knowledge", "summary", "report",
    ]  # fmt: skip
    assert {path.partition("[")[0] for path in done.ran if "[" in path} == {"analyse"}
    assert "model" not in report["findings"][0]
    assert "reviewer" not in done.checkpoints["knowledge"].text
    assert "told" not in done.checkpoints["summary"].text


async def test_rules_can_be_asked_for_where_a_model_is_configured(run: Run) -> None:
    models = Scripted()
    assert report_of(await run(models, reviewer="rules"))["engine"] == ENGINE
    assert models.asked == []


async def test_a_model_that_is_asked_for_and_not_configured_is_refused(run: Run) -> None:
    done = await run(None, reviewer="model")
    assert isinstance(done.error, InvalidInput)
    assert "models.toml" in str(done.error)


async def test_another_alias_is_asked_where_there_is_no_best(run: Run) -> None:
    models = Scripted(models=("tiny",))
    report_of(await run(models))
    assert {alias for alias, _ in models.asked} == {"tiny"}


async def test_a_later_configuration_changes_no_review_that_has_begun(run: Run) -> None:
    first = await run(Scripted())
    kept = {path: step for path, step in first.checkpoints.items() if path != "report"}
    again = await run(Scripted(models=()), checkpoints=kept)
    assert report_of(again)["engine"] == ENGINE_BY_MODEL
    offline = await run(None)
    kept = {path: step for path, step in offline.checkpoints.items() if path != "report"}
    assert report_of(await run(Scripted(), checkpoints=kept))["engine"] == ENGINE


@pytest.mark.parametrize("kind", ["BAD_OUTPUT", "TIMEOUT", "SERVER_ERROR", "CONTEXT_LENGTH"])
async def test_a_failed_clause_is_asked_again_alone(run: Run, kind: str) -> None:
    failed: list[str] = []

    def answers(question: str) -> Told:
        if clause_of(question).startswith("3") and not failed:
            failed.append(question)
            return Failed(kind)
        return NOTHING

    models = Scripted(answers)
    report = report_of(await run(models))
    assert len(models.clauses) == len(report["clauses"]) + 1
    assert models.clauses[-1] == failed[0]
    assert report["notAnalysed"] == []


@pytest.mark.parametrize(
    ("kind", "asked", "why"),
    [
        ("BAD_OUTPUT", 2, "the form asked for"),
        ("CONTENT_POLICY", 1, "content policy"),
        ("INVALID_INPUT", 1, "refused the request"),
        ("CONTEXT_LENGTH", 2, "too long"),
    ],
)
async def test_what_fails_at_last_is_listed_with_its_reason(
    run: Run, kind: str, asked: int, why: str
) -> None:
    models = Scripted(about("3", Failed(kind)))
    report = report_of(await run(models))
    assert len([one for one in models.clauses if clause_of(one).startswith("3")]) == asked
    (one,) = report["notAnalysed"]
    assert one["clause"] == "3"
    assert why in one["reason"]
    assert "1 clause was not analysed by the model" in " ".join(report["warnings"])
    assert [one["ruleId"] for one in report["findings"]] == ["liability-unlimited"]
    assert report["engine"] == ENGINE_BY_MODEL


async def test_a_long_clause_is_asked_about_in_halves_when_it_is_too_long(run: Run) -> None:
    long = "The Supplier will carry out the works as agreed between the parties. " * 60
    text = CONTRACT.replace("with care.", f"with care. {long}")
    models = Scripted(
        lambda question: Failed("CONTEXT_LENGTH") if len(clause_of(question)) > 3_000 else NOTHING
    )
    report = report_of(await run(models, text))
    assert report["notAnalysed"] == []
    whole, *halves = [clause_of(one) for one in models.clauses if "carry out the works" in one]
    halves.sort(key=lambda half: not half.startswith("1."))
    assert len(halves) == 2
    assert "".join("".join(halves).split()) == "".join(whole.split())


async def test_a_failing_service_is_tried_again_by_the_next_attempt(run: Run) -> None:
    down = Scripted(lambda _: Failed("OVERLOADED"))
    first = await run(down)
    assert isinstance(first.error, Overloaded)
    models = Scripted()
    second = await run(models, checkpoints=first.checkpoints, attempt=2)
    report = report_of(second)
    assert report["engine"] == ENGINE_BY_MODEL
    assert len(models.clauses) == len(report["clauses"])


async def test_a_saved_answer_is_not_asked_for_again(run: Run) -> None:
    broken = Scripted(about("3", Failed("SERVER_ERROR")))
    first = await run(broken)
    assert isinstance(first.error, ServerError)
    models = Scripted()
    report = report_of(await run(models, checkpoints=first.checkpoints, attempt=2))
    assert [clause_of(one)[0] for one in models.clauses] == ["3"]
    assert report["notAnalysed"] == []


async def test_what_is_settled_stays_settled_when_a_later_step_fails(run: Run) -> None:
    first = await run(Scripted(about("3", Failed("BAD_OUTPUT"))))
    kept = {path: step for path, step in first.checkpoints.items() if path != "report"}
    models = Scripted()
    report = report_of(await run(models, checkpoints=kept, attempt=2))
    assert [one["clause"] for one in report["notAnalysed"]] == ["3"]
    assert models.asked == []


@pytest.mark.parametrize("kind", ["BAD_OUTPUT", "OVERLOADED"])
async def test_the_review_can_be_replayed_from_each_of_its_steps(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    models = Scripted(about("3", Failed(kind), risks(said("thirty days"))))
    monkeypatch.setattr(Context, "llm", models, raising=False)
    done = await always_replay(
        app,
        "contract-review",
        {"file": "contract.txt", "fallback": True},
        uploads={"contract.txt": CONTRACT.encode()},
    )
    assert report_of(done)["engine"] == ENGINE_BY_MODEL


async def test_the_last_attempt_lists_what_a_failing_service_left(run: Run) -> None:
    report = report_of(await run(Scripted(about("3", Failed("TIMEOUT"))), attempt=4))
    assert [one["clause"] for one in report["notAnalysed"]] == ["3"]
    assert "in time" in report["notAnalysed"][0]["reason"]
    nobody = await run(Scripted(lambda _: Failed("TIMEOUT")), attempt=4)
    assert isinstance(nobody.error, TimeoutError)


@pytest.mark.parametrize(
    "kind", ["OVERLOADED", "SERVER_ERROR", "TIMEOUT", "AUTH", "QUOTA", "BUDGET"]
)
async def test_the_rules_answer_alone_where_that_is_allowed_and_no_model_does(
    run: Run, kind: str
) -> None:
    models = Scripted(lambda _: Failed(kind))
    done = await run(models, fallback=True)
    report = report_of(done)
    assert models.waits == {False}
    assert done.waited == (30 if kind in OF_THE_SERVICE else 0)
    assert report["engine"] == ENGINE
    assert "No clause was analysed by a language model" in " ".join(report["warnings"])
    assert report["notAnalysed"] == []
    offline = report_of(await run(None))
    assert report["findings"] == offline["findings"]
    assert report["summary"] == offline["summary"]
    assert report["disclaimer"] == offline["disclaimer"]
    assert all(alias == "best" for alias, _ in models.asked)


async def test_where_it_is_not_allowed_what_a_person_must_mend_is_waited_for(run: Run) -> None:
    done = await run(Scripted(about("3", Failed("QUOTA"))))
    assert isinstance(done.error, Failed)
    assert "analyse[3]" not in done.checkpoints
    models = Scripted()
    report = report_of(await run(models, checkpoints=done.checkpoints))
    assert report["engine"] == ENGINE_BY_MODEL


async def test_a_service_that_is_down_is_not_asked_for_every_clause(run: Run) -> None:
    clauses = "".join(f"\n\n{n}. Item. The Supplier delivers item {n}." for n in range(1, 201))
    models = Scripted(lambda _: Failed("SERVER_ERROR"))
    report = report_of(await run(models, CONTRACT.partition("\n\n1.")[0] + clauses, fallback=True))
    assert report["engine"] == ENGINE
    assert len(models.asked) < 150


async def test_a_fault_of_ours_is_not_taken_for_a_failed_call(run: Run) -> None:
    done = await run(Scripted(about("3", KeyError("a bug"))), fallback=True)
    assert isinstance(done.error, KeyError)


@pytest.mark.parametrize("limit", [RateLimited(retry_after=7), Failed("RATE_LIMIT", 7)])
@pytest.mark.parametrize("fallback", [True, False])
async def test_a_rate_limit_is_waited_for(run: Run, limit: Exception, *, fallback: bool) -> None:
    limited: list[str] = []

    def answers(question: str) -> Told:
        if not limited:
            limited.append(question)
            return limit
        return NOTHING

    waiting = await run(Scripted(answers), fallback=fallback)
    assert isinstance(waiting.outcome, Waiting)
    (condition,) = waiting.outcome.conditions
    assert isinstance(condition, LimitFree)
    assert condition.delay == pytest.approx(7, rel=0.3)
    models = Scripted(answers)
    report = report_of(await run(models, checkpoints=waiting.checkpoints, fallback=fallback))
    assert models.waits == {not fallback}
    assert [clause_of(one) for one in models.clauses] == [clause_of(limited[0])]
    assert report["notAnalysed"] == []


async def test_a_refused_answer_leaves_the_clause_listed(run: Run) -> None:
    models = Scripted(about("3", risks(said("words that nobody wrote"))))
    report = report_of(await run(models))
    assert [one["clause"] for one in report["notAnalysed"]] == ["3"]
    assert "could be proved" in report["notAnalysed"][0]["reason"]


async def test_a_chinese_report_says_it_in_chinese(run: Run) -> None:
    (document, _) = contract("lease")
    quote = "双方的通知以书面形式送达上述地址"

    def answers(question: str) -> Told:
        if clause_of(question).startswith("3.1"):
            return Failed("CONTENT_POLICY")
        bad = said("没有这样的文字", risk="风险。", suggestion="修改。")
        good = said(quote, risk="依据《民法典》第九百条，风险较大。", suggestion="修改。")
        return risks(bad, good) if quote in clause_of(question) else NOTHING

    done = await run(Scripted(answers, lambda _: Failed("TIMEOUT")), document.text)
    report = report_of(done)
    told = [*report["warnings"], *(one["reason"] for one in report["notAnalysed"])]
    assert len(told) == 5
    assert all(not re.search("[a-z]{3}", text) for text in told)
    assert "本报告由语言模型和固定规则" in report["disclaimer"]
    (finding,) = [one for one in report["findings"] if one.get("model")]
    assert finding["citation"] == "unverified"
    assert "民法典" not in finding["risk"]


async def test_every_question_begins_with_the_same_message(run: Run) -> None:
    models = Scripted()
    report_of(await run(models, side="partyB", language="zh"))
    firsts = {messages[0]["content"] for model, messages in models.asked if model == "best"}
    assert firsts == {SYSTEM}
    assert all("SIDE TO PROTECT: partyB" in one for one in models.clauses)
    assert all("Simplified Chinese" in one for one in models.clauses)
