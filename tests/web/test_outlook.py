"""Why a task waits and how long it will take, as the API tells it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from stagepost import App
from stagepost.backlog import Backlog
from stagepost.errors import StoreUnavailable
from stagepost.outcome import Drained, Waiting
from stagepost.rules import Rule, RuleKind
from stagepost.task import Wait
from stagepost.waiting import ChildrenOver, Condition, LimitFree, SignalSent, TimeComes
from web.kit import API, Engine, engine_in, http


@pytest.fixture
async def learnt(engine: Engine) -> AsyncIterator[Engine]:
    """Tasks of one type took 40 s, large ones 200 s."""
    await engine.store.history.add({("echo", 0): [40_000] * 20, ("echo", 8): [200_000] * 20})
    yield engine  # noqa: PT022  # the fixture of the engine ends it


async def status(engine: Engine, task_id: str) -> dict[str, Any]:
    async with http(engine) as client:
        response = await client.get(f"{API}/tasks/{task_id}/status")
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def test_a_submit_is_answered_with_what_others_took(learnt: Engine) -> None:
    async with http(learnt) as client:
        small = (await client.post(f"{API}/tasks/echo", json={})).json()
        unknown = (await client.post(f"{API}/tasks/review", files={"file": ("a", b"x")})).json()
    assert small["estimatedSeconds"] == 40
    assert unknown["estimatedSeconds"] == 10
    assert (await status(learnt, small["taskId"]))["estimatedSeconds"] == 40


async def test_behind_the_places_that_are_counted_it_grows_on(
    learnt: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    look = learnt.store.backlog

    async def counting(lane: str, step: int) -> Backlog:
        looks.append(lane)
        return await look(lane, step)

    monkeypatch.setattr(learnt.store, "backlog", counting)
    await learnt.worker.register(slots=100)
    ids: list[str] = []
    for _ in range(14):
        sent = await asyncio.gather(*(learnt.submit() for _ in range(1_000)))
        # Ids tell their order only among those of other milliseconds.
        ids.append(sorted(submitted.task_id for submitted in sent)[500])
        await asyncio.sleep(0.002)
    async with http(learnt) as client:
        asked = await asyncio.gather(
            *(client.get(f"{API}/tasks/{task_id}/status") for task_id in ids[8:])
        )
    told = [answer.json() for answer in asked]
    places = [body["queuePosition"] for body in told]
    assert 8_000 < places[0] < places[1] <= 10_000
    assert [round(place, -3) for place in places[2:]] == [10_000, 11_000, 12_000, 13_000]
    assert places == sorted(set(places))
    # 100 slots are free, and each task takes 40 s of one.
    seconds = [40 + (place - 100) * 40 // 100 for place in places]
    assert [body["estimatedSeconds"] for body in told] == pytest.approx(seconds, abs=1)
    assert looks == ["interactive"], "one look is for all who ask"


async def test_a_large_input_is_compared_with_large_ones(learnt: Engine) -> None:
    async with http(learnt) as client:
        large = await client.post(f"{API}/tasks/echo", json={"text": "x" * 200_000})
    assert large.json()["estimatedSeconds"] == 200
    assert (await status(learnt, large.json()["taskId"]))["estimatedSeconds"] == 200


async def test_the_queue_before_it_is_in_it(learnt: Engine) -> None:
    await learnt.worker.register(slots=2)
    ids = [(await learnt.submit()).task_id for _ in range(6)]
    # Two slots are free: the third waits for half a task's time, the sixth for two.
    told = [await status(learnt, task_id) for task_id in ids]
    assert [body["queuePosition"] for body in told] == [1, 2, 3, 4, 5, 6]
    assert [body["estimatedSeconds"] for body in told] == [40, 40, 60, 80, 100, 120]
    assert {body["waitingFor"] for body in told} == {None}


async def test_a_list_guesses_places_by_age(learnt: Engine) -> None:
    await learnt.worker.register(slots=1)
    for _ in range(4):
        await learnt.submit()
        await asyncio.sleep(0.02)
    async with http(learnt) as client:
        items = (await client.get(f"{API}/tasks")).json()["items"]
    told = [item["estimatedSeconds"] for item in items]
    assert told == sorted(told, reverse=True)
    assert (told[0], told[-1]) == (160, 40)


async def test_what_a_running_task_has_left(learnt: Engine) -> None:
    task_id = (await learnt.submit()).task_id
    claim = await learnt.worker.claim()
    before = await status(learnt, task_id)
    assert before["waitingFor"] is None
    assert 38 <= before["estimatedSeconds"] <= 40
    await learnt.worker.progress(claim, 90)
    after = await status(learnt, task_id)
    assert after["estimatedSeconds"] <= 5


async def test_a_failed_attempt_counts_its_pause(learnt: Engine) -> None:
    task_id = (await learnt.submit()).task_id
    await learnt.worker.fail(await learnt.worker.claim(), delay=60.0)
    assert 98 <= (await status(learnt, task_id))["estimatedSeconds"] <= 100


async def test_a_parked_task_counts_its_pause(learnt: Engine) -> None:
    task_id = (await learnt.submit()).task_id
    await learnt.worker.park(await learnt.worker.claim(), Wait("limit", "openai"))
    assert 98 <= (await status(learnt, task_id))["estimatedSeconds"] <= 100


async def test_a_planned_task_counts_from_its_time(learnt: Engine) -> None:
    async with http(learnt) as client:
        sent = (await client.post(f"{API}/tasks/echo?delaySeconds=600", json={})).json()
    body = await status(learnt, sent["taskId"])
    assert 638 <= body["estimatedSeconds"] <= 640
    assert body["waitingFor"]["kind"] == "timer"


async def test_estimates_and_places_do_not_move_the_tag(learnt: Engine) -> None:
    await learnt.worker.register(slots=1)
    first = (await learnt.submit()).task_id
    second = (await learnt.submit()).task_id
    address = f"{API}/tasks/{second}/status"
    async with http(learnt) as client:
        before = await client.get(address)
        await learnt.client.cancel(first)
        await learnt.store.history.add({("echo", 0): [1_000] * 60})
    async with http(learnt) as client:
        # Another process, which reads everything anew.
        after = await client.get(address)
    assert before.json()["queuePosition"] != after.json()["queuePosition"]
    assert before.json()["estimatedSeconds"] != after.json()["estimatedSeconds"]
    assert before.headers["etag"] == after.headers["etag"]


@pytest.mark.parametrize(
    ("worker", "name"),
    [
        ({"lanes": ("batch",)}, "lane interactive"),
        ({"types": ("review",)}, "type echo"),
        ({"versions": {"echo": (2,)}}, "version 1 of echo"),
        ({"state": "draining"}, "lane interactive"),
        ({"state": "stalled"}, "lane interactive"),
        ({"versions": {"echo": (2, 1)}}, None),
    ],
)
async def test_the_worker_that_is_missing(
    engine: Engine, worker: dict[str, Any], name: str | None
) -> None:
    task_id = (await engine.submit()).task_id
    claim = await engine.worker.claim()
    await engine.store.settle(claim.lease, Drained())
    await engine.store.rescue(older_than=-1.0)
    await engine.worker.register(**worker)
    if "state" in worker:
        await engine.store.beat((await engine.store.workers())[0].id, worker["state"])
    wait = (await status(engine, task_id))["waitingFor"]
    assert wait == (None if name is None else {"kind": "worker", "name": name, "until": None})


@pytest.mark.parametrize(
    ("place", "another"), [("lanes/interactive", "lanes/batch"), ("types/echo", "types/review")]
)
async def test_what_is_paused(
    engine: Engine, client: httpx.AsyncClient, place: str, another: str
) -> None:
    task_id = (await engine.submit()).task_id
    name = place.replace("s/", " ")
    # A pause is told before the worker that is missing as well.
    await client.post(f"{API}/{place}/pause")
    wait = (await status(engine, task_id))["waitingFor"]
    assert wait == {"kind": "paused", "name": name, "until": None}
    await engine.worker.register()
    await client.post(f"{API}/{place}/resume")
    await client.post(f"{API}/{another}/pause")
    assert (await status(engine, task_id))["waitingFor"] is None


@pytest.mark.parametrize("place", ["lanes/interactive", "types/echo", "tenants/local"])
async def test_a_limit_that_is_full(engine: Engine, client: httpx.AsyncClient, place: str) -> None:
    await engine.worker.register()
    for _ in range(2):
        await engine.submit()
    assert (await client.put(f"{API}/{place}", json={"concurrency": 2})).status_code == 200
    task_id = (await engine.submit()).task_id
    claims = [await engine.worker.claim()]
    assert (await status(engine, task_id))["waitingFor"] is None
    claims.append(await engine.worker.claim())
    wait = (await status(engine, task_id))["waitingFor"]
    assert wait == {"kind": "limit", "name": place.replace("s/", " "), "until": None}
    await engine.worker.complete(claims[0])
    assert (await status(engine, task_id))["waitingFor"] is None


async def test_the_limit_of_a_types_code(tmp_path: Path) -> None:
    app = App()

    @app.task("echo", concurrency=1)
    async def echo(ctx: object, request: dict[str, str]) -> None: ...

    async with engine_in(tmp_path, app=app) as engine:
        await engine.worker.register()
        await engine.submit()
        await engine.worker.claim()
        task_id = (await engine.submit()).task_id
        wait = (await status(engine, task_id))["waitingFor"]
        assert wait == {"kind": "limit", "name": "type echo", "until": None}
        await engine.store.rules.put(Rule(RuleKind.TYPE, "echo", concurrency=2))
        assert (await status(engine, task_id))["waitingFor"] is None


async def test_who_waits_for_its_key(engine: Engine) -> None:
    await engine.worker.register()
    first = (await engine.submit(concurrency_key="one")).task_id
    second = (await engine.submit(concurrency_key="one")).task_id
    assert (await status(engine, first))["waitingFor"] is None
    wait = (await status(engine, second))["waitingFor"]
    assert wait == {"kind": "limit", "name": "key one", "until": None}
    await engine.worker.complete(await engine.worker.claim())
    assert (await status(engine, second))["waitingFor"] is None


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        (TimeComes("a night", 4_102_444_800_000), "timer"),
        (SignalSent("approval", "approval"), "signal"),
        (ChildrenOver("pages", "pages", stop=False), "child"),
        (LimitFree("openai", 60.0), "limit"),
    ],
)
async def test_what_a_handler_waits_for(engine: Engine, condition: Condition, kind: str) -> None:
    task_id = (await engine.submit()).task_id
    await engine.worker.settle(await engine.worker.claim(), Waiting((condition,)))
    wait = (await status(engine, task_id))["waitingFor"]
    assert (wait["kind"], wait["name"]) == (kind, condition.name)
    assert (wait["until"] is None) == (kind in {"signal", "child"})


async def test_a_list_names_what_holds_each_task_up(engine: Engine) -> None:
    await engine.submit()
    async with http(engine) as client:
        (item,) = (await client.get(f"{API}/tasks")).json()["items"]
    assert item["waitingFor"] == {"kind": "worker", "name": "lane interactive", "until": None}
    assert item["estimatedSeconds"] == 10


async def test_a_settled_task_has_no_outlook(learnt: Engine) -> None:
    task_id = (await learnt.submit()).task_id
    await learnt.worker.bury(await learnt.worker.claim())
    body = await status(learnt, task_id)
    assert (body["estimatedSeconds"], body["waitingFor"], body["queuePosition"]) == (None,) * 3


async def test_a_store_that_answers_only_the_task_costs_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away() -> Any:
        raise StoreUnavailable("away")

    async with engine_in(tmp_path) as engine:
        task_id = (await engine.submit()).task_id
        monkeypatch.setattr(engine.store, "workers", away)
        monkeypatch.setattr(engine.store.history, "all", away)
        body = await status(engine, task_id)
    assert (body["waitingFor"], body["estimatedSeconds"]) == (None, 10)


async def test_the_version_of_the_code_is_told_from_the_first_claim(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    task_id = (await engine.submit()).task_id
    assert (await client.get(f"{API}/tasks/{task_id}")).json()["codeVersion"] is None
    await engine.worker.claim()
    assert (await client.get(f"{API}/tasks/{task_id}")).json()["codeVersion"] == 1


async def test_tasks_of_a_version_that_nobody_runs_are_counted(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    async def stranded() -> str:
        lines = (await client.get("/metrics")).text.splitlines()
        (line,) = [
            each for each in lines if each.startswith('stagepost_stranded_tasks{type="echo"')
        ]
        return line.split()[-1]

    await engine.submit()
    assert await stranded() == "0.0"
    claim = await engine.worker.claim()
    await engine.store.settle(claim.lease, Drained())
    assert await stranded() == "0.0"
    await engine.store.rescue(older_than=-1.0)
    await engine.worker.register(versions={"echo": (2,)})
    assert await stranded() == "1.0"
