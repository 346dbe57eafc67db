"""What tenants may spend on models, through the API."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine_kit.engine import finished, reached
from stagepost.llm.catalogue import Catalogue
from stagepost.simulated import Step
from stagepost.task import Status
from web.kit import API, Engine, http
from web.served_models import served

ACME = f"{API}/tenants/acme/budgets"
TWO = ["20/day", "300/month"]


async def test_they_are_set_listed_and_unset(client: httpx.AsyncClient) -> None:
    none = {"tenant": "acme", "budgets": [], "own": False}
    assert (await client.get(ACME)).json() == none
    put = await client.put(ACME, json={"budgets": ["20.50/day", "300/month"]})
    assert put.json() == {"tenant": "acme", "budgets": ["20.5/day", "300/month"], "own": True}
    await client.put(f"{API}/tenants/a b/budgets", json={"budgets": []})
    first = (await client.get(f"{API}/budgets?limit=1")).json()
    assert first == {"items": [{"tenant": "a b", "budgets": []}], "next": "a b"}
    assert (await client.get(f"{API}/budgets?after=a b")).json()["items"] == [
        {"tenant": "acme", "budgets": ["20.5/day", "300/month"]}
    ]
    for _ in range(2):
        assert (await client.delete(ACME)).status_code == 204
    assert (await client.get(ACME)).json() == none


async def test_without_its_own_those_of_the_file_count(engine: Engine) -> None:
    models = Catalogue.parse('[budgets]\ntenant = "5/day"\n[budgets.tenants]\nother = "9/month"')
    engine.parts = replace(engine.parts, models=models)
    async with http(engine) as client:
        assert (await client.get(ACME)).json()["budgets"] == ["5/day"]
        other = (await client.get(f"{API}/tenants/other/budgets")).json()
        assert (other["budgets"], other["own"]) == (["9/month"], False)


@pytest.mark.parametrize(
    "body",
    [
        {}, [], {"budgets": "20/day"}, {"budgets": ["20"]}, {"budgets": ["20/week"]},
        {"budgets": ["1/day", "2/day"]}, {"budgets": ["1/day", "2/month", "3/day"]},
        {"budgets": [5]}, {"budgets": ["-1/day"]}, {"budgets": ["1/day"], "other": 1},
    ],
)  # fmt: skip
async def test_what_is_no_budget_is_refused(client: httpx.AsyncClient, body: Any) -> None:
    refused = await client.put(ACME, json=body)
    assert refused.status_code == 422
    assert not (await client.get(ACME)).json()["own"]


async def test_only_the_first_tenant_s_admin_sets_them(keyed: Engine) -> None:
    async with http(keyed) as client:
        client.headers.update(await keyed.key("admin", tenant="default"))
        assert (await client.put(ACME, json={"budgets": TWO})).status_code == 200
        client.headers.update(await keyed.key("admin", tenant="acme"))
        assert (await client.put(ACME, json={"budgets": []})).status_code == 403
        assert (await client.delete(ACME)).status_code == 403
        assert (await client.get(ACME)).json()["budgets"] == TWO
        assert len((await client.get(f"{API}/budgets")).json()["items"]) == 1
        client.headers.update(await keyed.key("admin", tenant="other"))
        assert (await client.get(ACME)).status_code == 404
        assert (await client.get(f"{API}/budgets")).json()["items"] == []


async def test_a_task_goes_on_when_its_tenant_s_budget_is_raised(tmp_path: Path) -> None:
    local = f"{API}/tenants/local/budgets"
    async with served(tmp_path, Step(answer="Yes.")) as (engine, sim, client):
        # The call may cost a fiftieth of a dollar.
        await client.put(local, json={"budgets": ["0.001/month"]})
        sent = await engine.client.submit("ask", "May I?")
        await reached(engine, sent.task_id, Status.WAITING)
        status = (await client.get(f"{API}/tasks/{sent.task_id}/status")).json()
        waiting = status["waitingFor"]
        assert (waiting["kind"], waiting["name"]) == ("budget", "budget:tenant/local:month")
        assert sim.ledger.received == 0
        await client.put(local, json={"budgets": ["1/month"]})
        view = await finished(engine, sent.task_id)
        assert view.task.status is Status.COMPLETED
        assert await engine.client.result(view) == "Yes."
