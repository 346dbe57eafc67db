"""A review by a model in a running engine, with the simulated provider."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from engine_kit.engine import ALL, finished, running
from stagepost.calls import CallState
from stagepost.simulated import Asked, SimulatedProvider, Step, serve
from stagepost.task import Status, Task
from stagepost.tasks.contract_review.task import app
from stagepost.wiring import Engine

CONTRACT = """\
SERVICE AGREEMENT

1. Term. This agreement lasts one year and renews by itself.
2. Liability. The Supplier shall be liable without any limit for all losses of the Customer.
3. Payment. The Customer shall pay within thirty days of each invoice.
4. Law. This agreement is governed by the laws of England.
"""
QUOTE = "liable without any limit for all losses of the Customer"
FINDING = {
    "quote": QUOTE,
    "category": "Uncapped Liability",
    "severity": "HIGH",
    "risk": "It may cost the supplier all that it has.",
    "for_whom": "partyB",
    "law_reference": None,
    "suggestion": "Cap it at the fees of one year.",
    "negotiability": "MEDIUM",
    "confidence": 0.8,
}

ACTION = {"entry": 1, "action": "Cap the liability."}

MODELS = """\
[providers.main]
kind = "openai"
base_url = "{url}"
[models.best]
chain = ["main/sim-large"]
[limits."main/sim-large"]
requests_per_minute = 60_000
"""


def diligent(asked: Asked) -> Any:
    """What a good model says."""
    if "LIST" in asked.text and "CLAUSE" not in asked.last:
        return {"summary": "One clause is a high risk.", "actions": [ACTION]}
    found = [FINDING] if QUOTE in asked.text else []
    return {"verdict": "risks" if found else "no-issue", "findings": found}


async def _contract() -> AsyncIterator[bytes]:
    yield CONTRACT.encode()


async def reviewed(engine: Engine, **options: Any) -> tuple[Task, dict[str, Any]]:
    upload = await engine.client.upload("contract.txt", "text/plain", _contract(), limit=10_000)
    given = {"file": upload.upload_id, **options}
    sent = await engine.client.submit("contract-review", given, uploads=[upload])
    view = await finished(engine, sent.task_id)
    return view.task, await engine.client.result(view) or {}


def settings(tmp_path: Path, url: str) -> dict[str, str]:
    file = tmp_path / "models.toml"
    file.write_text(MODELS.format(url=url))
    return {"models": str(file)}


async def test_each_clause_is_asked_about_once_and_the_report_names_the_model(
    tmp_path: Path,
) -> None:
    async with (
        serve(SimulatedProvider(answer=diligent)) as provider,
        running(app, tmp_path / "data", **settings(tmp_path, provider.base_url)) as engine,
    ):
        task, report = await reviewed(engine)
        assert task.status is Status.COMPLETED
        assert "main/sim-large" in report["engine"]
        # The rules find it as well: one finding, of both.
        (found,) = [one for one in report["findings"] if QUOTE in one["quote"]]
        assert (found["model"], found["ruleId"]) == ("main/sim-large", "liability-unlimited")
        calls = await engine.store.calls.find(task.id, ALL, None, 100)
        assert {call.state for call in calls} == {CallState.RESULT}
        assert provider.ledger.billed == len(calls) >= len(report["clauses"])
        assert provider.ledger.by_key.excess == 0


async def test_where_no_model_answers_the_rules_do_if_that_is_allowed(tmp_path: Path) -> None:
    down = Step(fault="401", times=1_000)
    async with (
        serve(SimulatedProvider(script=[down])) as provider,
        running(app, tmp_path / "data", **settings(tmp_path, provider.base_url)) as engine,
    ):
        task, report = await reviewed(engine, fallback=True)
        assert task.status is Status.COMPLETED
        assert "rules" in report["engine"]
        assert report["warnings"]
