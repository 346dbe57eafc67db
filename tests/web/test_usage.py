"""What was spent on models, summed up through the API."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from stagepost.caller import Caller
from stagepost.outcome import Drained
from stagepost.records import Scope
from support.calls import new_call, refused_call, rejected, result
from web.kit import API, Engine, http

USAGE = f"{API}/usage"
TODAY = datetime.now(UTC).date()


async def spent(engine: Engine, tenant: str, user: str) -> None:
    """A task with five calls: an answer, three that brought nothing, and an unknown one."""
    caller = Caller(tenant, user, Scope(tenant))
    await engine.submit(caller=caller)
    claimed = await engine.worker.claim()
    for end in (result(), rejected(), refused_call(), refused_call(maybe_billed=True), None):
        call = new_call(model="small" if end is None else "large")
        await engine.store.calls.begin(claimed.lease, call)
        if end is not None:
            await engine.store.calls.end(claimed.task_id, call.id, end)
    await engine.worker.settle(claimed, Drained())
    await engine.worker.complete(await engine.worker.claim())


async def asked(client: httpx.AsyncClient, **query: Any) -> Any:
    response = await client.get(USAGE, params=query)
    assert response.status_code == 200, response.text
    return response.json()


async def test_nothing_was_spent(client: httpx.AsyncClient) -> None:
    found = await asked(client, by="day,model")
    assert found.pop("total")["cost"] == 0
    assert found == {
        "from": (TODAY - timedelta(days=6)).isoformat(), "to": TODAY.isoformat(),
        "items": [], "next": None, "complete": True,
    }  # fmt: skip


async def test_it_is_summed_up_by_what_is_asked_for(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    await spent(engine, "acme", "ann")
    await spent(engine, "acme", "bob")
    await spent(engine, "other", "eve")
    whole = await asked(client)
    assert whole["items"] == []
    assert whole["total"] == {
        "calls": 15, "rejected": 3, "refused": 6, "unknown": 3,
        "inputTokens": 1_800, "cachedTokens": 120, "outputTokens": 1_980, "reasoningTokens": 30,
        "cost": 0.0087, "unknownCost": 0.003,
    }  # fmt: skip
    tenants = (await asked(client, by="tenant"))["items"]
    assert [(item["tenant"], item["cost"], item["user"]) for item in tenants] == [
        ("acme", 0.0058, None),
        ("other", 0.0029, None),
    ]
    by_all = (await asked(client, by="model,day,type,user"))["items"]
    assert {item["day"] for item in by_all} == {TODAY.isoformat()}
    assert {(item["type"], item["user"], item["provider"], item["model"]) for item in by_all} == {
        ("echo", user, "main", model) for user in ("ann", "bob", "eve")
        for model in ("large", "small")
    }  # fmt: skip
    assert {item["calls"] for item in by_all} == {1, 4}


async def test_only_of_a_type_a_tenant_and_some_days(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    await spent(engine, "acme", "ann")
    await spent(engine, "other", "eve")
    assert (await asked(client, type="echo"))["total"]["calls"] == 10
    assert (await asked(client, type="review"))["total"]["calls"] == 0
    assert (await asked(client, tenant="acme"))["total"]["calls"] == 5
    assert (await asked(client, tenant="nobody"))["total"]["calls"] == 0
    yesterday = (TODAY - timedelta(days=1)).isoformat()
    assert (await asked(client, to=yesterday))["total"]["calls"] == 0
    days = {"from": yesterday, "to": (TODAY + timedelta(days=1)).isoformat()}
    assert (await asked(client, **days))["total"]["calls"] == 10


async def test_more_sums_than_are_asked_for(engine: Engine, client: httpx.AsyncClient) -> None:
    await spent(engine, "acme", "ann")
    cut = await asked(client, by="model", limit=1)
    assert (len(cut["items"]), cut["complete"], cut["total"]["calls"]) == (1, False, 5)
    assert (await asked(client, by="model", limit=2))["complete"]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"from": "2026-02-30"}, "from"),
        ({"from": "yesterday"}, "from"),
        ({"to": "20260101"}, "to"),
        ({"to": "1"}, "to"),
        ({"from": "2026-01-02", "to": "2026-01-01"}, "from"),
        ({"from": "2024-01-01", "to": "2026-01-01"}, "from"),
        ({"by": "hour"}, "by"),
        ({"by": "day,"}, "by"),
        ({"limit": "1000"}, "limit"),
    ],
)
async def test_what_can_not_be_meant_is_422(
    client: httpx.AsyncClient, query: dict[str, str], parameter: str
) -> None:
    refused = await client.get(USAGE, params=query)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["parameter"] == parameter


async def test_the_first_days_of_all(client: httpx.AsyncClient) -> None:
    assert (await asked(client, to="0001-01-03"))["from"] == "0001-01-01"
    assert (await asked(client, to="9999-12-31"))["total"]["calls"] == 0


async def test_who_sees_what(keyed: Engine) -> None:
    for tenant, user in (("acme", "ann"), ("acme", "bob"), ("default", "root")):
        await spent(keyed, tenant, user)
    sees: dict[tuple[str, str, str | None], set[str]] = {
        ("admin", "acme", None): {"acme"},
        ("read", "acme", "bob"): {"acme"},
        ("admin", "other", None): set(),
        ("operate", "default", None): {"default"},
        ("admin", "default", None): {"acme", "default"},
        ("admin", "default", "root"): {"default"},
    }
    async with http(keyed) as client:
        for (role, tenant, bound), seen in sees.items():
            client.headers.update(await keyed.key(role, tenant=tenant, user=bound))
            items = (await asked(client, by="tenant,user"))["items"]
            assert {item["tenant"] for item in items} == seen, (role, tenant)
            if bound is not None:
                assert {item["user"] for item in items} == {bound}
            others = await asked(client, by="user", tenant="acme")
            assert bool(others["items"]) is ("acme" in seen)


async def test_headers_in_the_local_mode_narrow_it(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    await spent(engine, "acme", "ann")
    for tenant, calls in (("acme", 5), ("other", 0)):
        found = await client.get(USAGE, headers={"X-Tenant-Id": tenant})
        assert found.json()["total"]["calls"] == calls
