"""What /metrics tells of calls to models."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from engine_kit.engine import ALL, reached
from engine_kit.models import ended
from stagepost.calls import UNTOLD
from stagepost.errors import StoreUnavailable
from stagepost.llm.breaker import State
from stagepost.outcome import Drained
from stagepost.simulated import Step
from stagepost.task import Status
from stagepost.web.call_metrics import CallMetrics
from support.calls import new_call, refused_call, result
from web import kit
from web.served_models import served

Labels = frozenset[tuple[str, str]]


async def samples(client: httpx.AsyncClient, name: str) -> dict[Labels, float]:
    text = (await client.get("/metrics")).text
    return {
        frozenset(sample.labels.items()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def of(**labels: str) -> Labels:
    return frozenset(labels.items())


async def test_calls_are_counted_as_they_come(tmp_path: Path) -> None:
    async with served(tmp_path, Step(fault="429", wait=1), speed=10) as (engine, _, client):
        task = await ended(engine, "ask", "Hello")
        calls = await engine.store.calls.find(task.id, ALL, None, 10)
        large = {"type": "ask", "model": "main/sim-large"}
        assert await samples(client, "stagepost_calls_total") == {
            of(**large, state="INTENT"): 2,
            of(**large, state="REFUSED"): 1,
            of(**large, state="RESULT"): 1,
        }
        assert await samples(client, "stagepost_call_seconds_count") == {of(**large): 2}
        usage = calls[1].usage
        assert await samples(client, "stagepost_call_tokens_total") == {
            of(**large, direction="input"): usage.input,
            of(**large, direction="output"): usage.output,
        }
        cost = await samples(client, "stagepost_call_cost_dollars_total")
        assert cost[of(**large)] == pytest.approx(calls[1].cost / 1_000_000)
        waits = await samples(client, "stagepost_call_wait_seconds_count")
        assert waits[of(model="main/sim-large")] >= 2


async def test_an_answer_that_does_not_fit_is_counted_again(tmp_path: Path) -> None:
    bad, good = Step(answer={"risk": "high"}), Step(answer={"risk": "high", "pages": 3})
    async with served(tmp_path, bad, good) as (engine, _, client):
        await ended(engine, "judge", "Hello")
        counts = await samples(client, "stagepost_calls_total")
        found = {dict(labels)["state"]: count for labels, count in counts.items()}
        assert found == {"INTENT": 2, "RESULT": 2, "REJECTED": 1}
        assert {dict(labels)["model"] for labels in counts} == {"main/sim-large"}


async def test_a_model_that_is_not_in_the_file_is_another(tmp_path: Path) -> None:
    async with served(tmp_path) as (engine, _, client):
        await ended(engine, "tell", "Hello")
        counts = await samples(client, "stagepost_calls_total")
        assert {dict(labels)["model"] for labels in counts} == {"other"}


async def test_breakers_tell_how_they_stand(tmp_path: Path) -> None:
    async with served(tmp_path, Step(fault="401", times=99)) as (engine, _, client):
        sent = await engine.client.submit("ask", "Hello")
        await reached(engine, sent.task_id, Status.WAITING)
        assert await samples(client, "stagepost_call_breaker") == {
            of(model=f"main/{model}", state=word): float(word == now)
            for model, now in (("sim-large", "open"), ("sim-embedding", "closed"))
            for word in ("closed", "open", "half-open")
        }


async def test_unknown_calls_are_told_from_the_store(engine: kit.Engine) -> None:
    async with kit.http(engine) as client:
        none = {of(type=name): 0.0 for name in ("echo", "review", "other")}
        assert await samples(client, "stagepost_calls_unknown_total") == none
        await engine.submit()
        claimed = await engine.worker.claim()
        call = new_call()
        await engine.store.calls.begin(claimed.lease, call)
        assert await samples(client, "stagepost_calls_unknown_total") == none
        await engine.worker.settle(claimed, Drained())
        told = await samples(client, "stagepost_calls_unknown_total")
        assert told == none | {of(type="echo"): 1.0}
        await engine.store.calls.end(claimed.task_id, call.id, result())
        assert await samples(client, "stagepost_calls_unknown_total") == none


async def test_while_the_store_is_away_they_stay(
    engine: kit.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away() -> Any:
        raise StoreUnavailable("It is away.")

    monkeypatch.setattr(engine.store.calls, "unknown_by_type", away)
    async with kit.http(engine) as client:
        assert await samples(client, "stagepost_store_up") == {of(): 0}
        assert await samples(client, "stagepost_calls_unknown_total") == {}


def counted(*models: str) -> tuple[CallMetrics, CollectorRegistry]:
    registry = CollectorRegistry()
    return CallMetrics(registry, ["review"], models), registry


def test_what_is_not_told_counts_by_the_estimate_and_what_is_free_as_nothing() -> None:
    metrics, registry = counted("main/large")
    labels = {"type": "review", "model": "main/large"}
    ends = [
        (result(usage=UNTOLD, cost=None), (200, 300, 0.001)),
        (refused_call(), (0, 0, 0)),
        (refused_call(maybe_billed=True), (200, 300, 0.001)),
        (result(), (100, 30, 0.000_45)),
    ]
    sums = [0.0, 0.0, 0.0]
    for end, counts in ends:
        metrics.ended("review", new_call(), end)
        sums = [one + other for one, other in zip(sums, counts, strict=True)]
        tokens = "stagepost_call_tokens_total"
        assert [
            registry.get_sample_value(tokens, {**labels, "direction": "input"}),
            registry.get_sample_value(tokens, {**labels, "direction": "output"}),
            registry.get_sample_value("stagepost_call_cost_dollars_total", labels),
        ] == pytest.approx(sums)


def test_labels_do_not_grow() -> None:
    metrics, registry = counted("main/large")
    for number in range(50):
        metrics.sent(f"type-{number}", f"main/{number}")
        metrics.rejected(f"type-{number}", "")
        metrics.waited(f"main/{number}", 1.0)
        metrics.ended(f"type-{number}", replace(new_call(), model=f"m{number}"), result())
        metrics.breakers([(f"main/{number}", State.OPEN)])
    for family in registry.collect():
        for sample in family.samples:
            assert sample.labels.get("type", "other") == "other"
            assert sample.labels.get("model", "other") in {"other", "main/large"}


def test_a_wait_for_ever_is_not_summed_up() -> None:
    metrics, registry = counted("main/large")
    for seconds in (1.0, float("inf"), 2.0):
        metrics.waited("main/large", seconds)
    total = registry.get_sample_value("stagepost_call_wait_seconds_sum", {"model": "main/large"})
    assert total == 3.0
