"""What needs a person: a model whose breaker is open is told once, and no more once it is back."""

import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine_kit.engine import finished, reached, until
from stagepost.simulated import Step
from stagepost.task import Status
from web.kit import API
from web.served_models import served


async def firing(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    (rule,) = (await client.get(f"{API}/alerts")).json()["items"]
    assert rule["rule"] == "breaker-open"
    found: list[dict[str, Any]] = rule["firing"]
    return found


async def test_a_breaker_that_opens_is_an_alert_until_it_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("stagepost.llm.breaker.FIRST", 1.0)
    refused = Step(fault="401", times=2)
    with caplog.at_level(logging.INFO, "stagepost.llm"):
        async with served(tmp_path, refused) as (engine, judge, client):
            assert await firing(client) == []
            sent = await engine.client.submit("ask", "May I?")
            await reached(engine, sent.task_id, Status.WAITING)
            (alert,) = await firing(client)
            assert alert["name"] == "main/sim-large"
            assert alert["message"] == "No call goes to main/sim-large for a while: AUTH."
            metrics = (await client.get("/metrics")).text
            assert 'stagepost_call_breaker{model="main/sim-large",state="open"} 1.0' in metrics

            # The first probe fails: it is the same alert.
            await until(lambda: judge.ledger.received == 2)
            assert await firing(client) == [alert]

            assert (await finished(engine, sent.task_id)).task.status is Status.COMPLETED
            assert await firing(client) == []
            told = [record for record in caplog.records if record.name == "stagepost.llm"]
    assert [(each.levelname, each.getMessage()) for each in told] == [
        ("WARNING", "no call goes to main/sim-large for a while: AUTH"),
        ("INFO", "calls go to main/sim-large again"),
    ]


async def test_a_process_without_models_has_no_alert(client: httpx.AsyncClient) -> None:
    assert await firing(client) == []
