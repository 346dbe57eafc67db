"""How many tasks of a tenant may wait."""

from typing import Any

import httpx
import pytest

from stagepost.quota import Quota
from web.kit import API, Engine, http

ECHO = f"{API}/tasks/echo"
QUOTAS = f"{API}/tenants/local/quotas"


async def test_a_tenant_without_room_is_told_when_to_try_again(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    put = await client.put(QUOTAS, json={"maxQueued": 1})
    assert put.json() == {"tenant": "local", "maxQueued": 1, "own": True, "waiting": 0}
    headers = {"Idempotency-Key": "first"}
    first = await client.post(ECHO, json={}, headers=headers)
    assert first.status_code == 202

    refused = await client.post(ECHO, json={}, headers={"Idempotency-Key": "second"})
    assert refused.status_code == 429
    assert refused.json()["type"] == "urn:stagepost:problem:too-many"
    assert int(refused.headers["retry-after"]) >= 1
    assert (await client.post(ECHO, json={}, headers=headers)).status_code == 200
    assert (await client.post(ECHO, json={}, headers={"X-Tenant-Id": "acme"})).status_code == 202

    # Each of the two tenants has a turn.
    assert {(await engine.worker.claim()).tenant for _ in range(2)} == {"local", "acme"}
    assert (await client.get(QUOTAS)).json()["waiting"] == 0
    again = await client.post(ECHO, json={"number": 2}, headers={"Idempotency-Key": "second"})
    assert again.status_code == 202


async def test_a_tenant_that_may_submit_nothing_is_told_who_changes_it(
    client: httpx.AsyncClient,
) -> None:
    await client.put(QUOTAS, json={"maxQueued": 0})
    refused = await client.post(ECHO, json={})
    assert refused.status_code == 429
    assert refused.json()["detail"] == (
        "The tenant may submit no task now: its quota is 0. An admin of the server changes it "
        "with `stagepost quotas TENANT --max-queued N`."
    )


async def test_quotas_are_set_listed_and_unset(client: httpx.AsyncClient) -> None:
    assert (await client.get(QUOTAS)).json() == {
        "tenant": "local", "maxQueued": None, "own": False, "waiting": 0,
    }  # fmt: skip
    for name, most in (("b", 5), ("a b", None), ("é", 0)):
        answer = await client.put(f"{API}/tenants/{name}/quotas", json={"maxQueued": most})
        assert answer.json() == {"tenant": name, "maxQueued": most, "own": True, "waiting": 0}
    first = (await client.get(f"{API}/quotas?limit=2")).json()
    assert first == {
        "items": [{"tenant": "a b", "maxQueued": None}, {"tenant": "b", "maxQueued": 5}],
        "next": "b",
    }
    for _ in range(2):
        assert (await client.delete(f"{API}/tenants/é/quotas")).status_code == 204
    assert (await client.get(f"{API}/quotas?after=b")).json() == {"items": [], "next": None}


@pytest.mark.parametrize("body", [{}, {"maxQueued": -1}, {"maxQueued": "1e3"}, {"most": 5}, [5]])
async def test_a_quota_that_is_none_is_refused(client: httpx.AsyncClient, body: Any) -> None:
    answer = await client.put(QUOTAS, json=body)
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:stagepost:problem:validation"
    assert not (await client.get(QUOTAS)).json()["own"]


@pytest.mark.parametrize("name", ["%20a", "a%00", "x" * 129])
async def test_a_name_that_no_tenant_has_is_refused(client: httpx.AsyncClient, name: str) -> None:
    answer = await client.put(f"{API}/tenants/{name}/quotas", json={"maxQueued": 1})
    assert answer.status_code == 422


async def test_more_tenants_than_are_read_at_once_are_refused(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stagepost.stores.sqlite.quotas.MOST", 1)
    assert (await client.put(QUOTAS, json={"maxQueued": 1})).status_code == 200
    assert (await client.put(QUOTAS, json={"maxQueued": 2})).status_code == 200
    refused = await client.put(f"{API}/tenants/other/quotas", json={"maxQueued": 1})
    assert refused.status_code == 409


async def test_a_further_tenants_key_sees_its_own_and_changes_none(keyed: Engine) -> None:
    for tenant in ("acme", "other"):
        await keyed.store.quotas.set(Quota(tenant, 5))
    headers = await keyed.key("admin", tenant="acme")
    async with http(keyed) as client:
        client.headers.update(headers)
        listed = (await client.get(f"{API}/quotas")).json()
        assert listed == {"items": [{"tenant": "acme", "maxQueued": 5}], "next": None}
        seen = (await client.get(f"{API}/tenants/acme/quotas")).json()
        assert seen["maxQueued"] == 5
        assert (await client.get(f"{API}/tenants/other/quotas")).status_code == 404
        for tenant in ("acme", "other"):
            path = f"{API}/tenants/{tenant}/quotas"
            assert (await client.put(path, json={"maxQueued": 7})).status_code == 403
            assert (await client.delete(path)).status_code == 403
    assert (await keyed.store.quotas.get("acme")).quota.max_queued == 5


async def test_a_key_of_the_first_tenant_sets_everybodys(keyed: Engine) -> None:
    async with http(keyed) as client:
        client.headers.update(await keyed.key("admin", tenant="default"))
        path = f"{API}/tenants/acme/quotas"
        assert (await client.put(path, json={"maxQueued": 7})).json()["maxQueued"] == 7
        assert (await client.get(f"{API}/quotas")).json()["items"] == [
            {"tenant": "acme", "maxQueued": 7}
        ]
        assert (await client.delete(path)).status_code == 204
