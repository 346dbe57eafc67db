"""What models' providers lend, beside the limits of handlers."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from stagepost.cli import run
from stagepost.limiter import Charge, Notice, Reservation
from stagepost.llm.catalogue import Catalogue
from stagepost.web import create_app
from stagepost.web.model_limits import model_limits
from web.kit import API, Engine, engine_in, http, serving

LIMITS = f"{API}/limits"
MODELS = Catalogue.parse("""\
[providers.main]
kind = "openai"
[providers.backup]
kind = "anthropic"
[models.best]
chain = ["main/large", "backup/claude"]
[limits."main/large"]
requests_per_minute = 600
concurrency = 5
[limits."backup/claude"]
input_tokens_per_minute = 1_000
""")


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with engine_in(tmp_path) as made:
        made.parts = replace(made.parts, models=MODELS)
        yield made


@pytest.fixture
async def client(engine: Engine) -> AsyncIterator[httpx.AsyncClient]:
    async with http(engine) as made:
        yield made


def reservation(name: str, units: int) -> Reservation:
    limit = next(each.limit for each in model_limits(MODELS) if each.limit.name == name)
    return Reservation(f"{name}{units}", [Charge(limit, units)])


async def listed(client: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
    items = (await client.get(LIMITS, params=query)).json()["items"]
    return {item["name"]: item for item in items}


async def test_a_model_tells_what_its_provider_lends(client: httpx.AsyncClient) -> None:
    found = await listed(client)
    assert list(found) == [
        "model:backup/claude:input-tokens", "model:backup/claude:output-tokens",
        "model:backup/claude:requests", "model:main/large:requests", "model:main/large:tokens",
    ]  # fmt: skip
    assert found["model:main/large:requests"] == {
        "name": "model:main/large:requests", "model": "main/large", "units": 600,
        "windowSeconds": 60.0, "atOnce": 5, "source": "models", "used": 0, "held": 0, "waiting": 0,
        "most": 600, "pace": 1.0, "pausedSeconds": 0,
    }  # fmt: skip
    assert found["model:backup/claude:input-tokens"]["units"] == 1_000
    untold = found["model:main/large:tokens"]
    assert (untold["units"], untold["most"], untold["atOnce"]) == (None, None, None)


async def test_it_tells_what_is_used_and_what_the_provider_said(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    limiter = engine.parts.limiting.limiter
    asked = reservation("model:main/large:requests", 1)
    assert (await limiter.reserve(asked)).granted
    limit = asked.charges[0].limit
    await limiter.heed([Notice(limit, most=500), Notice(limit, slower=True, pause=30)])
    found = (await listed(client))["model:main/large:requests"]
    assert (found["used"], found["held"], found["most"], found["units"]) == (1, 1, 500, 600)
    assert found["pace"] == 0.7
    assert 0 < found["pausedSeconds"] <= 30


async def test_they_page_together_with_those_of_handlers(client: httpx.AsyncClient) -> None:
    for name in ("gpu", "zoo"):
        await client.put(f"{LIMITS}/{name}", json={"atOnce": 1})
    names: list[str] = []
    after: str | None = None
    for _ in range(10):
        query = {"limit": "2"} | ({} if after is None else {"after": after})
        page = (await client.get(LIMITS, params=query)).json()
        names += [item["name"] for item in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert names == sorted(names)
    assert (names[0], names[-1], len(names)) == ("gpu", "zoo", 7)


async def test_nobody_sets_or_takes_away_what_a_provider_lends(client: httpx.AsyncClient) -> None:
    path = f"{LIMITS}/model:main/large:requests"
    assert (await client.put(path, json={"atOnce": 1})).status_code == 422
    assert (await client.delete(path)).status_code == 404


async def test_metrics_tell_them_too(engine: Engine, client: httpx.AsyncClient) -> None:
    await engine.parts.limiting.limiter.reserve(reservation("model:main/large:requests", 1))
    text = (await client.get("/metrics")).text
    held = {
        sample.labels["limit"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "stagepost_limit_held_units"
    }
    assert held["model:main/large:requests"] == 1
    assert len(held) == 5


async def test_the_command_shows_them(
    engine: Engine, client: httpx.AsyncClient, capsys: pytest.CaptureFixture[str]
) -> None:
    await client.put(f"{LIMITS}/gpu", json={"atOnce": 1})
    limit = reservation("model:main/large:requests", 1).charges[0].limit
    notices = [Notice(limit, most=500), Notice(limit, slower=True, pause=30)]
    await engine.parts.limiting.limiter.heed(notices)
    async with serving(engine, create_app(engine.parts)) as url:
        assert await asyncio.to_thread(run, ["limits", "--url", url]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "1 at once" in lines["gpu"]
    requests = lines["model:main/large:requests"]
    assert "600 in 60 s and 5 at once" in requests
    assert "500 by its provider's word, at 70% of its pace, paused for " in requests
    assert "as told in 60 s" in lines["model:main/large:tokens"]
