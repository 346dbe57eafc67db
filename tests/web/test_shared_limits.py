"""Limits through the API."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from stagepost.errors import LimiterUnavailable
from stagepost.limit import Limit
from stagepost.limiter import Charge, Reservation
from web.kit import API, Engine, engine_in, http

LIMITS = f"{API}/limits"


async def taken(engine: Engine, name: str, units: int) -> None:
    rule = (await engine.parts.limiting.rules())[name]
    reservation = Reservation(f"{name}{units}", [Charge(rule.limit, units)])
    await engine.parts.limiting.limiter.reserve(reservation)


class TestLimits:
    async def test_one_is_set_and_changed_and_listed(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        first = await client.put(f"{LIMITS}/main/gpt-large", json={"units": 10})
        assert first.status_code == 201
        assert first.json() == {
            "name": "main/gpt-large", "units": 10, "windowSeconds": 60.0, "burst": None,
            "atOnce": None, "source": "api", "used": 0, "held": 0, "waiting": 0,
        }  # fmt: skip
        body = {"units": 20, "windowSeconds": 30, "burst": 3, "atOnce": 7}
        changed = await client.put(f"{LIMITS}/main/gpt-large", json=body)
        assert changed.status_code == 200
        for _ in range(2):
            await taken(engine, "main/gpt-large", 3)
        (listed,) = (await client.get(LIMITS)).json()["items"]
        assert listed == {
            **body, "name": "main/gpt-large", "source": "api", "used": 3, "held": 3, "waiting": 0,
        }  # fmt: skip

    async def test_one_without_units_has_no_window(self, client: httpx.AsyncClient) -> None:
        put = await client.put(f"{LIMITS}/gpu", json={"atOnce": 2})
        assert (put.json()["units"], put.json()["windowSeconds"]) == (None, None)
        names = ("units", "windowSeconds", "burst", "atOnce")
        again = await client.put(f"{LIMITS}/gpu", json={name: put.json()[name] for name in names})
        assert (again.status_code, again.json()) == (200, put.json())

    async def test_one_is_taken_away(self, client: httpx.AsyncClient) -> None:
        await client.put(f"{LIMITS}/gpu", json={"atOnce": 2})
        assert (await client.delete(f"{LIMITS}/gpu")).status_code == 204
        assert (await client.get(LIMITS)).json() == {"items": [], "next": None}
        assert (await client.delete(f"{LIMITS}/gpu")).status_code == 404

    async def test_what_the_settings_have_is_listed_and_comes_back(self, tmp_path: Path) -> None:
        given = {"gpu": Limit("gpu", at_once=2)}
        async with engine_in(tmp_path, shared_limits=given) as engine, http(engine) as client:
            (listed,) = (await client.get(LIMITS)).json()["items"]
            assert (listed["source"], listed["atOnce"]) == ("settings", 2)
            refused = await client.delete(f"{LIMITS}/gpu")
            assert refused.status_code == 409
            assert "STAGEPOST_LIMITS" in refused.json()["detail"]
            await client.put(f"{LIMITS}/gpu", json={"atOnce": 5})
            assert (await client.get(LIMITS)).json()["items"][0]["source"] == "api"
            await client.delete(f"{LIMITS}/gpu")
            assert (await client.get(LIMITS)).json()["items"][0]["atOnce"] == 2

    async def test_pages(self, client: httpx.AsyncClient) -> None:
        for name in ("c", "a", "b"):
            await client.put(f"{LIMITS}/{name}", json={"atOnce": 1})
        first = (await client.get(LIMITS, params={"limit": 2})).json()
        rest = (await client.get(LIMITS, params={"after": first["next"]})).json()
        assert [item["name"] for item in first["items"] + rest["items"]] == ["a", "b", "c"]

    @pytest.mark.parametrize(
        ("name", "body"),
        [
            ("x", {}),
            ("x", {"units": 0}),
            ("x", {"units": 5, "burst": 6}),
            ("x", {"burst": 1, "atOnce": 1}),
            ("x", {"units": 5, "windowSeconds": 0.01}),
            ("x", {"atOnce": 10_001}),
            ("x", {"units": 5, "perMinute": True}),
            ("x", {"units": "many"}),
            ("Upper", {"atOnce": 1}),
            ("with%20space", {"atOnce": 1}),
        ],
    )
    async def test_what_can_not_be_meant_is_422(
        self, client: httpx.AsyncClient, name: str, body: Any
    ) -> None:
        refused = await client.put(f"{LIMITS}/{name}", json=body)
        assert refused.status_code == 422
        assert refused.json()["errors"]
        assert (await client.get(LIMITS)).json()["items"] == []

    async def test_a_change_is_seen_at_once_here_and_by_others_in_a_second(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        await client.put(f"{LIMITS}/gpu", json={"atOnce": 2})
        assert (await engine.parts.limiting.rules())["gpu"].limit.at_once == 2
        await engine.store.limits.put(Limit("gpu", at_once=9))  # as another process does
        async with asyncio.timeout(5):
            rules = engine.parts.limiting.rules
            while (await rules())["gpu"].limit.at_once != 9:  # noqa: ASYNC110  # it is read anew
                await asyncio.sleep(0.05)

    async def test_while_the_limiter_is_away(
        self, engine: Engine, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def away(*_: Any) -> Any:
            raise LimiterUnavailable("It is away.")

        monkeypatch.setattr(engine.parts.limiting.limiter, "state", away)
        refused = await client.get(LIMITS)
        assert (refused.status_code, refused.json()["detail"]) == (503, "It is away.")
        assert await metric(client, "stagepost_limiter_up") == {"": 0}


async def metric(client: httpx.AsyncClient, name: str) -> dict[str, float]:
    text = (await client.get("/metrics")).text
    return {
        sample.labels.get("limit", ""): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


async def test_metrics_tell_each_limit_and_forget_those_taken_away(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    await client.put(f"{LIMITS}/pages", json={"units": 10, "atOnce": 10})
    await client.put(f"{LIMITS}/gpu", json={"atOnce": 1})
    await taken(engine, "pages", 4)
    await taken(engine, "pages", 7)
    assert await metric(client, "stagepost_limit_used_units") == {"pages": 4, "gpu": 0}
    assert await metric(client, "stagepost_limit_held_units") == {"pages": 4, "gpu": 0}
    assert await metric(client, "stagepost_limit_waiting") == {"pages": 1, "gpu": 0}
    assert await metric(client, "stagepost_limiter_up") == {"": 1}
    await client.delete(f"{LIMITS}/gpu")
    engine.parts.limiting.forget()
    assert await metric(client, "stagepost_limit_held_units") == {"pages": 4}
