"""Lanes, workers, health, metrics."""

import asyncio
import errno
import shutil
from collections import namedtuple
from dataclasses import replace
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from stagepost.errors import Retryable, StoreUnavailable
from stagepost.web.metrics import TABLE
from web.kit import API, WORKER_ID, Engine, http

Usage = namedtuple("Usage", "total used free")  # noqa: PYI024  # as shutil's own


class TestLanes:
    async def test_a_lane_tells_what_waits_and_runs(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        for _ in range(6):
            await engine.submit()
        await engine.worker.complete(await engine.worker.claim())
        await engine.worker.claim()
        lanes = (await client.get(f"{API}/lanes")).json()

        empty, lane = lanes["items"]
        assert list(lane) == [
            "name", "paused", "concurrency", "weight", "queued", "pool", "running",
            "oldestQueuedSeconds", "lag",
            "arrivalsPerMinute", "completionsPerMinute", "etaSeconds", "desiredWorkers",
        ]  # fmt: skip
        assert (lane["name"], lane["queued"], lane["pool"], lane["running"]) == (
            "interactive", 4, 4, 1,
        )  # fmt: skip
        assert (lane["arrivalsPerMinute"], lane["completionsPerMinute"]) == (6, 1)
        # It fills up, so nobody can say when it is empty; two workers of four slots would do.
        assert (lane["etaSeconds"], lane["desiredWorkers"]) == (None, 2)
        assert (empty["oldestQueuedSeconds"], empty["etaSeconds"], empty["desiredWorkers"]) == (
            None, 0, 0,
        )  # fmt: skip

    async def test_pages(self, client: httpx.AsyncClient) -> None:
        first = (await client.get(f"{API}/lanes", params={"limit": 1})).json()
        second = (await client.get(f"{API}/lanes", params={"after": first["next"]})).json()
        behind = (await client.get(f"{API}/lanes", params={"after": "z"})).json()

        assert [lane["name"] for lane in first["items"] + second["items"]] == [
            "batch",
            "interactive",
        ]
        assert second["next"] is None
        assert behind == {"items": [], "next": None}

    async def test_the_workers(self, engine: Engine, client: httpx.AsyncClient) -> None:
        await engine.submit()
        await engine.worker.claim()
        items = (await client.get(f"{API}/workers")).json()["items"]

        assert len(items) == 1
        worker = items[0]
        assert list(worker) == [
            "id", "lanes", "slots", "running", "version", "startedAt", "lastBeat", "state",
        ]  # fmt: skip
        assert (worker["id"], worker["slots"], worker["running"]) == (WORKER_ID, 4, 1)
        assert (worker["version"], worker["state"]) == ("1.2.3", "running")


class TestHealth:
    async def test_all_is_well(self, client: httpx.AsyncClient) -> None:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        ready = await client.get("/readyz")

        assert ready.status_code == 200
        assert ready.json()["status"] == "ok"
        assert set(ready.json()["checks"]) == {"store", "disk", "draining"}

    async def test_a_part_that_fails_makes_it_down_and_is_named(self, engine: Engine) -> None:
        async def worker() -> None:
            raise RuntimeError("secret")

        async with http(_with(engine, worker=worker)) as client:
            ready = await client.get("/readyz")

        assert ready.status_code == 503
        assert ready.headers["retry-after"]
        assert ready.json()["status"] == "down"
        check = ready.json()["checks"]["worker"]
        assert check == {"status": "down", "detail": "The check failed (RuntimeError)."}

    async def test_a_part_that_can_be_missed_makes_it_degraded(self, engine: Engine) -> None:
        async def broker() -> None:
            raise Retryable("The broker is away.")

        async with http(_with(engine, broker=broker)) as client:
            ready = await client.get("/readyz")

        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert ready.json()["checks"]["broker"]["detail"] == "The broker is away."

    async def test_a_part_that_hangs_is_down(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stagepost.web.health._PATIENCE", 0.05)

        async with http(_with(engine, bus=asyncio.Event().wait)) as client:
            ready = await client.get("/readyz")

        assert ready.json()["checks"]["bus"]["status"] == "down"

    async def test_a_store_that_takes_no_writes_is_down(
        self, engine: Engine, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def ping() -> None:
            raise StoreUnavailable("The disk is full.")

        monkeypatch.setattr(engine.store, "ping", ping)
        ready = await client.get("/readyz")

        assert ready.status_code == 503
        assert ready.json()["checks"]["store"] == {"status": "down", "detail": "The disk is full."}

    @pytest.mark.parametrize(
        ("free", "status"), [(2**40, "ok"), (2**28, "degraded"), (2**20, "down")]
    )
    async def test_little_room_on_the_disk(
        self,
        client: httpx.AsyncClient,
        monkeypatch: pytest.MonkeyPatch,
        free: int,
        status: str,
    ) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(2**41, 0, free))
        ready = await client.get("/readyz")

        assert ready.json()["checks"]["disk"]["status"] == status
        assert ready.json()["status"] == status

    async def test_a_data_folder_that_is_gone(
        self, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def gone(_: object) -> None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")

        monkeypatch.setattr(shutil, "disk_usage", gone)
        disk = (await client.get("/readyz")).json()["checks"]["disk"]

        assert disk["status"] == "down"
        assert disk["detail"] == "The data folder can't be read (No such file or directory)."

    async def test_a_draining_process_is_down(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        engine.parts.draining.set()
        ready = await client.get("/readyz")

        assert ready.status_code == 503
        assert ready.json()["checks"]["draining"]["status"] == "down"
        assert (await client.get("/healthz")).status_code == 200


def _with(engine: Engine, **checks: Any) -> Engine:
    engine.parts = replace(engine.parts, checks=checks)
    return engine


class TestMetrics:
    async def test_every_metric_is_in_the_table(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        families = await self._families(client)
        shown = {
            name + "_total" if family.type == "counter" else name
            for name, family in families.items()
            if not name.endswith("_created")
        }

        assert shown == set(TABLE)
        for name, row in TABLE.items():
            family = families[name.removesuffix("_total") if row.kind == "counter" else name]
            assert (family.type, family.documentation) == (row.kind, row.help)

    async def test_they_count_what_happened(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        await engine.submit()
        await engine.submit()
        await engine.worker.complete(await engine.worker.claim())
        await client.get(f"{API}/tasks/nothing")
        await client.get("/nowhere/at/all")
        families = await self._families(client)

        def value(name: str, **labels: str) -> float:
            samples = families[name.removesuffix("_total")].samples
            found = [
                sample.value
                for sample in samples
                if sample.name == name and sample.labels == labels
            ]
            assert len(found) == 1, (name, labels, samples)
            return float(found[0])

        assert value("stagepost_tasks_total", type="echo", status="QUEUED") == 2
        assert value("stagepost_tasks_total", type="echo", status="RUNNING") == 1
        assert value("stagepost_tasks_total", type="echo", status="COMPLETED") == 1
        assert value("stagepost_queue_tasks", lane="interactive") == 1
        assert value("stagepost_running_tasks", lane="interactive") == 0
        assert value("stagepost_queue_oldest_seconds", lane="batch") == 0
        assert (value("stagepost_workers"), value("stagepost_worker_slots")) == (1, 4)
        assert (value("stagepost_store_up"), value("stagepost_streams")) == (1, 0)
        unmatched = {"route": "unmatched", "method": "GET", "status": "404"}
        assert value("stagepost_http_requests_total", **unmatched) == 1
        known = {"route": "/api/v1/tasks/{task_id}", "method": "GET", "status": "404"}
        assert value("stagepost_http_requests_total", **known) == 1

    async def test_labels_do_not_grow(self, engine: Engine, client: httpx.AsyncClient) -> None:
        for number in range(30):
            await client.get(f"/made/up/{number}")
            await client.request(f"MADE{number}", "/healthz")
            await client.get(f"{API}/tasks/{number}/status")
        families = await self._families(client)

        samples = families["stagepost_http_requests"].samples
        requests = [sample for sample in samples if sample.name.endswith("_total")]
        assert len(requests) == 3, requests

    async def test_a_store_that_is_away_is_told(
        self, engine: Engine, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def lanes(_names: Any) -> Any:
            raise StoreUnavailable("It is away.")

        monkeypatch.setattr(engine.store, "lanes", lanes)
        families = await self._families(client)

        assert families["stagepost_store_up"].samples[0].value == 0

    @staticmethod
    async def _families(client: httpx.AsyncClient) -> dict[str, Any]:
        response = await client.get("/metrics")
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        families = text_string_to_metric_families(response.text)
        return {family.name: family for family in families}
