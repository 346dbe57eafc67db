"""What a task would cost, by what others of its type have cost."""

import asyncio
from pathlib import Path
from typing import Any

import httpx

from engine_kit.engine import ALL, finished
from stagepost.estimates import of_cost
from stagepost.simulated import Step
from stagepost.wiring import Engine
from web.kit import API
from web.served_models import served

ANSWER = Step(answer="Yes.", times=100)


async def asked(client: httpx.AsyncClient, type_name: str, size: int = 100) -> Any:
    response = await client.get(f"{API}/types/{type_name}/estimate", params={"bytes": size})
    assert response.status_code == 200, response.text
    return response.json()


async def kept(engine: Engine, tasks: int) -> None:
    """Until what so many tasks have cost is in the history."""
    for _ in range(500):
        await engine.learner.keep()
        costs = (await engine.store.history.all()).get(of_cost("ask"), {})
        if sum(map(len, costs.values())) == tasks:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it was not learnt")


async def test_before_any_history_nothing_is_guessed(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, _sim, client):
        assert await asked(client, "ask") == {
            "type": "ask", "bytes": 100, "tasks": 0, "cost": None, "tokens": None, "fits": None,
            "short": [],
        }  # fmt: skip
        assert (await client.get(f"{API}/types/none/estimate")).status_code == 404
        for wrong in ("-1", "many", str(2**60)):
            refused = await client.get(f"{API}/types/ask/estimate?bytes={wrong}")
            assert refused.status_code == 422


async def test_it_is_what_others_have_cost(tmp_path: Path) -> None:
    async with served(tmp_path, ANSWER) as (engine, _, client):
        costs, tokens = [], []
        for n in range(5):
            sent = await engine.client.submit("ask", "May I? " * (n + 1))
            view = await finished(engine, sent.task_id)
            spent = await engine.store.calls.spent(view.task.id, ALL)
            costs.append(spent.cost / 1e6)
            tokens.append(spent.input + spent.output)
        await kept(engine, 5)
        found = await asked(client, "ask")
        assert found["tasks"] == 5
        assert found["cost"] == {"usual": sorted(costs)[2], "high": max(costs)}
        assert found["tokens"] == {"usual": sorted(tokens)[2], "high": max(tokens)}
        assert (found["fits"], found["short"]) == (True, [])
        assert (await asked(client, "judge"))["cost"] is None, "of another type"


async def test_it_says_which_budget_is_too_small(tmp_path: Path) -> None:
    async with served(tmp_path, ANSWER) as (engine, _, client):
        sent = await engine.client.submit("ask", "May I?")
        await finished(engine, sent.task_id)
        await kept(engine, 1)
        await client.put(f"{API}/tenants/acme/budgets", json={"budgets": ["0.000001/day"]})
        client.headers["X-Tenant-Id"] = "acme"
        found = await asked(client, "ask")
        assert (found["fits"], found["short"]) == (False, ["budget:tenant/acme:day"])
        client.headers["X-Tenant-Id"] = "other"
        assert (await asked(client, "ask"))["fits"]


async def test_a_redrive_of_dead_letters_costs_what_others_have_cost(tmp_path: Path) -> None:
    filtered = Step(fault="content-filter", contains="never", times=3)
    async with served(tmp_path, filtered, ANSWER) as (engine, _, client):
        for type_name in ("ask", "ask", "tell"):
            sent = await engine.client.submit(type_name, "never")
            assert (await finished(engine, sent.task_id)).task.failure_kind == "CONTENT_POLICY"
        costs = []
        for n in range(3):
            sent = await engine.client.submit("ask", "May I? " * (n + 1))
            view = await finished(engine, sent.task_id)
            costs.append((await engine.store.calls.spent(view.task.id, ALL)).cost)
        await kept(engine, 3)
        twice = round(2 * sum(costs) / 3) / 1e6
        dead = f"{API}/dead-letters"

        by_type = (await client.get(dead, params={"groupBy": "type"})).json()["items"]
        assert [(each["type"], each["estimatedCost"]) for each in by_type] == [
            ("ask", twice),
            ("tell", None),
        ], "of a type of which none was completed nothing is known"
        (by_kind,) = (await client.get(dead, params={"groupBy": "failureKind"})).json()["items"]
        assert (by_kind["count"], by_kind["estimatedCost"]) == (3, twice)

        every = {"filter": {"failureKind": "CONTENT_POLICY"}, "dryRun": True}
        told = (await client.post(f"{dead}/redrive", json=every)).json()["groups"]
        assert [each["estimatedCost"] for each in told] == [twice, None]
        ids = [each["taskId"] for each in (await client.get(dead)).json()["items"]]
        one = {"taskIds": ids, "dryRun": True}
        told = (await client.post(f"{dead}/redrive", json=one)).json()["groups"]
        assert [each["estimatedCost"] for each in told] == [twice, None]
