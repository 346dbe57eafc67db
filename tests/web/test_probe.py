"""What a process without the API answers."""

from pathlib import Path

import httpx

from stagepost.errors import Retryable
from stagepost.web import create_probe
from web.kit import API, WORKER_ID, alive, engine_in, serving


async def test_a_probe_tells_life_readiness_and_counts_and_nothing_else(tmp_path: Path) -> None:
    async with engine_in(tmp_path, auth=("keys",)) as engine:
        app = create_probe(engine.parts)
        async with serving(engine, app) as url, httpx.AsyncClient(base_url=url) as client:
            # Machines ask by whatever name or address they have, and without a key.
            host = {"Host": "10.1.2.3:9090"}
            assert (await client.get("/healthz", headers=host)).json() == {"status": "ok"}
            ready = await client.get("/readyz", headers=host)
            assert ready.status_code == 200
            assert set(ready.json()["checks"]) == {"store", "disk", "draining"}
            await engine.submit()
            await engine.worker.complete(await engine.worker.claim())
            told = (await client.get("/metrics", headers=host)).text
            assert 'stagepost_tasks_total{status="COMPLETED",type="echo"} 1.0' in told
            assert "stagepost_workers 1.0" in told
            for path in ("/", "/docs", f"{API}/tasks", f"{API}/workers", f"{API}/keys"):
                assert (await client.get(path)).status_code == 404
            assert (await client.post("/healthz")).status_code == 405
            assert WORKER_ID not in told


async def test_a_probe_is_red_while_the_process_stops_and_degraded_without_its_bus(
    tmp_path: Path,
) -> None:
    async with engine_in(tmp_path) as engine:

        async def away() -> None:
            raise Retryable("The bus has no connection.")

        checks: dict[str, object] = {"bus": away}
        object.__setattr__(engine.parts, "checks", checks)
        app = create_probe(engine.parts)
        async with (
            alive(app),
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://127.0.0.1"
            ) as client,
        ):
            found = await client.get("/readyz")
            assert (found.status_code, found.json()["status"]) == (200, "degraded")
        app = create_probe(engine.parts)
        engine.parts.draining.set()
        async with (
            alive(app),
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://127.0.0.1"
            ) as client,
        ):
            assert (await client.get("/readyz")).status_code == 503
            assert (await client.get("/healthz")).status_code == 200
