"""What is left of budgets, beside the other limits."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest

from stagepost.caller import Caller
from stagepost.cli import run
from stagepost.llm.catalogue import Catalogue
from stagepost.records import Scope
from stagepost.web import create_app
from support.calls import new_call, result
from web.kit import API, Engine, http, serving

LIMITS = f"{API}/limits"
MODELS = Catalogue.parse("""\
[budgets]
tenant = ["1/day", "20/month"]
user = "2/day"
type = "3/month"
task = "1"
[budgets.tenants]
other = "7.5/month"
""")


def budgeted(engine: Engine) -> Engine:
    engine.parts = replace(engine.parts, models=MODELS)
    return engine


async def spent(engine: Engine, tenant: str, user: str) -> float:
    """A task with one call, and its cost in dollars."""
    await engine.submit(caller=Caller(tenant, user, Scope(tenant)))
    claimed = await engine.worker.claim()
    call = new_call(model="large")
    await engine.store.calls.begin(claimed.lease, call)
    await engine.store.calls.end(claimed.task_id, call.id, result())
    await engine.worker.complete(claimed)
    return (await engine.store.calls.spent(claimed.task_id, Scope(None))).cost / 1e6


async def listed(client: httpx.AsyncClient) -> dict[str, Any]:
    response = await client.get(LIMITS)
    assert response.status_code == 200, response.text
    return {item["name"]: item for item in response.json()["items"]}


async def test_who_has_spent_something_is_told_with_what_is_spent(engine: Engine) -> None:
    cost = await spent(engine, "acme", "ann")
    await spent(engine, "other", "eve")
    assert cost > 0
    async with http(budgeted(engine)) as client:
        found = await listed(client)
    assert sorted(found) == [
        "budget:tenant/acme:day", "budget:tenant/acme:month", "budget:tenant/other:month",
        "budget:type/echo:month", "budget:user/acme/ann:day", "budget:user/other/eve:day",
    ]  # fmt: skip
    assert found["budget:tenant/acme:day"] == {
        "name": "budget:tenant/acme:day", "payer": "tenant", "of": "acme", "dollars": 1.0,
        "period": "day", "source": "budgets", "spent": cost, "waiting": 0,
    }  # fmt: skip
    assert found["budget:tenant/other:month"]["dollars"] == 7.5
    assert found["budget:type/echo:month"]["spent"] == pytest.approx(2 * cost)


async def test_nobody_sees_more_than_of_the_usage(keyed: Engine) -> None:
    for tenant, user in (("acme", "ann"), ("acme", "bob"), ("other", "eve")):
        await spent(keyed, tenant, user)
    acme = {"tenant/acme:day", "tenant/acme:month", "user/acme/ann:day", "user/acme/bob:day"}
    other = {"tenant/other:month", "user/other/eve:day"}
    sees: dict[tuple[str, str, str | None], set[str]] = {
        ("read", "acme", None): acme,
        ("read", "acme", "bob"): {"user/acme/bob:day"},
        ("admin", "nobody", None): set(),
        ("admin", "default", None): acme | other | {"type/echo:month"},
    }
    async with http(budgeted(keyed)) as client:
        for (role, tenant, bound), seen in sees.items():
            client.headers.update(await keyed.key(role, tenant=tenant, user=bound))
            found = {name.removeprefix("budget:") for name in await listed(client)}
            assert found == seen, (role, tenant)


async def test_the_command_shows_them(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    await spent(engine, "other", "eve")
    async with serving(engine, create_app(budgeted(engine).parts)) as url:
        assert await asyncio.to_thread(run, ["limits", "--url", url]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "$7.50 a month" in lines["budget:tenant/other:month"]
