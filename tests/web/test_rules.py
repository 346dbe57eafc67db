"""Lanes, types and tenants as an operator rules them."""

from collections.abc import Sequence

import httpx
import pytest

from stagepost import App
from stagepost.choice import LaneTurns
from stagepost.records import Claimed, Demand
from web.kit import API, WORKER_ID, Engine, engine_in, http

ONE = ("lanes/interactive", "types/echo")


RULE = {"tenant": "acme", "weight": 3, "concurrency": 2, "keyConcurrency": 4}


async def claimed(engine: Engine) -> Sequence[Claimed]:
    """All that can be claimed now."""
    if not await engine.store.workers():
        await engine.worker.register()
    lanes = LaneTurns({"interactive": 8, "batch": 1})
    return await engine.store.claim(Demand(WORKER_ID, 9, lanes, ("echo", "review")))


class TestPauses:
    @pytest.mark.parametrize("place", ONE)
    async def test_what_is_paused_starts_nothing_until_it_is_resumed(
        self, engine: Engine, client: httpx.AsyncClient, place: str
    ) -> None:
        await engine.submit()
        paused = await client.post(f"{API}/{place}/pause")
        assert (paused.status_code, paused.json()["paused"]) == (200, True)
        assert await claimed(engine) == ()
        again = await client.post(f"{API}/{place}/pause")
        assert again.json() == paused.json()
        resumed = await client.post(f"{API}/{place}/resume")
        assert (resumed.status_code, resumed.json()["paused"]) == (200, False)
        assert len(await claimed(engine)) == 1

    async def test_the_lists_show_it(self, client: httpx.AsyncClient) -> None:
        await client.post(f"{API}/lanes/batch/pause")
        await client.post(f"{API}/types/review/pause")
        for kind, name in (("lanes", "batch"), ("types", "review")):
            items = (await client.get(f"{API}/{kind}")).json()["items"]
            assert [item["name"] for item in items if item["paused"]] == [name]

    async def test_a_submit_is_accepted_meanwhile(self, client: httpx.AsyncClient) -> None:
        await client.post(f"{API}/lanes/interactive/pause")
        assert (await client.post(f"{API}/tasks/echo", json={})).status_code == 202


class TestLimits:
    @pytest.mark.parametrize("place", ONE)
    async def test_a_limit_is_set_and_taken_away(
        self, engine: Engine, client: httpx.AsyncClient, place: str
    ) -> None:
        for _ in range(4):
            await engine.submit()
        limited = await client.put(f"{API}/{place}", json={"concurrency": 2})
        assert (limited.status_code, limited.json()["concurrency"]) == (200, 2)
        assert len(await claimed(engine)) == 2
        free = await client.put(f"{API}/{place}", json={})
        assert free.json()["concurrency"] is None
        assert len(await claimed(engine)) == 2

    @pytest.mark.parametrize("value", [-1, 1.5, "two", 10**7])
    async def test_what_is_no_limit_is_refused(
        self, client: httpx.AsyncClient, value: object
    ) -> None:
        response = await client.put(f"{API}/lanes/batch", json={"concurrency": value})
        assert response.status_code == 422
        assert response.json()["errors"][0]["pointer"] == "#/concurrency"

    async def test_a_types_code_has_its_say(self, tmp_path: object) -> None:
        app = App()

        @app.task("echo", concurrency=3)
        async def echo(ctx: object, request: dict[str, str]) -> None: ...

        async with engine_in(tmp_path, app=app) as engine, http(engine) as client:  # type: ignore[arg-type]
            (item,) = (await client.get(f"{API}/types")).json()["items"]
            assert item == {
                "name": "echo", "lane": "interactive", "paused": False, "concurrency": 3,
            }  # fmt: skip
            await client.put(f"{API}/types/echo", json={"concurrency": 5})
            (item,) = (await client.get(f"{API}/types")).json()["items"]
            assert item["concurrency"] == 5


class TestUnknown:
    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", "lanes/none"),
            ("PUT", "lanes/none"),
            ("POST", "lanes/none/pause"),
            ("PUT", "types/none"),
            ("POST", "types/none/resume"),
        ],
    )
    async def test_what_is_not_there_is_404(
        self, client: httpx.AsyncClient, method: str, path: str
    ) -> None:
        body: dict[str, object] | None = {} if method == "PUT" else None
        response = await client.request(method, f"{API}/{path}", json=body)
        assert response.status_code == 404
        assert "there are:" in response.json()["detail"]


class TestTenants:
    async def test_a_rule_is_made_shown_and_undone(self, client: httpx.AsyncClient) -> None:
        body = {name: value for name, value in RULE.items() if name != "tenant"}
        assert (await client.put(f"{API}/tenants/acme", json=body)).json() == RULE
        assert (await client.get(f"{API}/tenants/acme")).json() == RULE
        assert (await client.get(f"{API}/tenants")).json() == {"items": [RULE], "next": None}
        await client.put(f"{API}/tenants/acme", json={})
        assert (await client.get(f"{API}/tenants")).json() == {"items": [], "next": None}

    async def test_pages(self, client: httpx.AsyncClient) -> None:
        for name in ("one", "other", "third"):
            await client.put(f"{API}/tenants/{name}", json={"weight": 2})
        first = (await client.get(f"{API}/tenants", params={"limit": 2})).json()
        rest = (await client.get(f"{API}/tenants", params={"after": first["next"]})).json()
        found = [rule["tenant"] for rule in first["items"] + rest["items"]]
        assert (found, rest["next"]) == (["one", "other", "third"], None)

    @pytest.mark.parametrize("body", [{"weight": 0}, {"weight": 1001}, {"keyConcurrency": 0}])
    async def test_what_is_no_rule_is_refused(
        self, client: httpx.AsyncClient, body: dict[str, int]
    ) -> None:
        assert (await client.put(f"{API}/tenants/acme", json=body)).status_code == 422

    async def test_a_further_tenants_key_sees_its_own_and_changes_none(self, keyed: Engine) -> None:
        operator = await keyed.key("admin", tenant="default")
        acme = await keyed.key("admin", tenant="acme")
        async with http(keyed) as client:
            for name in ("acme", "other"):
                made = await client.put(
                    f"{API}/tenants/{name}", json={"weight": 2}, headers=operator
                )
                assert made.status_code == 200
            mine = await client.get(f"{API}/tenants/acme", headers=acme)
            assert mine.json()["weight"] == 2
            listed = (await client.get(f"{API}/tenants", headers=acme)).json()["items"]
            assert [rule["tenant"] for rule in listed] == ["acme"]
            assert (await client.get(f"{API}/tenants/other", headers=acme)).status_code == 404
            raised = await client.put(f"{API}/tenants/acme", json={"weight": 9}, headers=acme)
            assert raised.status_code == 403
            assert "default" in raised.json()["detail"]


class TestKeys:
    async def test_a_concurrency_key_is_taken(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        for _ in range(2):
            response = await client.post(f"{API}/tasks/echo?concurrencyKey=doc-7", json={})
            assert response.status_code == 202
        assert len(await claimed(engine)) == 1

    @pytest.mark.parametrize("key", ["", "x" * 256, "a%00b"])
    async def test_what_is_no_key_is_refused(self, client: httpx.AsyncClient, key: str) -> None:
        response = await client.post(f"{API}/tasks/echo?concurrencyKey={key}", json={})
        assert response.status_code == 422


async def test_a_field_that_is_not_there_is_told_beside_those_that_are(
    client: httpx.AsyncClient,
) -> None:
    there = "There is no such field; there are: "
    for method, path, body, where, known in (
        ("PUT", "lanes/batch", {"weigth": 2}, "#/weigth", "concurrency, weight."),
        (
            "POST",
            "dead-letters/discard",
            {"filter": {"typ": "echo"}},
            "#/filter/typ",
            "type, lane, tag, user, failureKind, createdAfter, createdBefore.",
        ),
    ):
        answer = await client.request(method, f"{API}/{path}", json=body)
        assert answer.status_code == 422
        assert {"detail": there + known, "pointer": where} in answer.json()["errors"]
