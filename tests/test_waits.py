"""Handlers that wait, in a whole engine: without a worker, and without wasting what flies."""

import asyncio
from pathlib import Path

import pytest
from uuid_utils import uuid7

from engine_kit.engine import ALL, finished, kinds, lines, reached, running, short
from engine_kit.waiting_handlers import app
from stagepost import gate, handler_waits
from stagepost.signals import Signal
from stagepost.task import Status, Task
from stagepost.testing import FakeClock
from stagepost.wiring import Engine, open_engine


async def send(engine: Engine, task_id: str, name: str, body: str, sender: str = "bob") -> Task:
    signal = Signal(str(uuid7()), name, body, sender)
    return await engine.store.waits.send(task_id, ALL, signal)


async def waiting(engine: Engine, task_id: str) -> Task:
    return await reached(engine, task_id, Status.WAITING)


async def parked_for(engine: Engine, task_id: str, names: set[str]) -> None:
    async with asyncio.timeout(30):
        while True:
            task = await waiting(engine, task_id)
            if {condition.name for condition in task.conditions} == names:
                return
            await asyncio.sleep(0.02)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "GRACE", 0.1)
    monkeypatch.setattr(handler_waits, "_POLL", 0.05)


async def test_a_long_sleep_gives_its_worker_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler_waits, "BRIEF", 0.0)
    log = tmp_path / "log"
    async with running(app, tmp_path, concurrency=1) as engine:
        asks = [{"log": str(log), "seconds": 1.0} for _ in range(3)]
        ids = [(await engine.client.submit("sleeper", ask)).task_id for ask in asks]
        for task_id in ids:
            task = await waiting(engine, task_id)
            assert (task.wait and task.wait.kind, task.worker_id) == ("timer", None)
        for task_id in ids:
            view = await finished(engine, task_id)
            assert await engine.client.result(view) == "after"
            assert (view.task.attempt, view.task.fence) == (1, 2)
            assert await kinds(engine, task_id) == [
                *("queued", "started", "step", "waiting", "queued", "started", "step", "step"),
                "completed",
            ]
    assert sorted(lines(log)) == sorted(["before", "run", "run", "after"] * 3)


async def test_a_brief_sleep_stays_where_it_is(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        ask = {"log": str(log), "seconds": 0.2}
        view = await finished(engine, (await engine.client.submit("sleeper", ask)).task_id)
        assert (view.task.status, view.task.fence) == (Status.COMPLETED, 1)
    assert lines(log) == ["before", "run", "after"]


async def test_a_signal_comes_to_the_handler(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        ask = {"log": str(tmp_path / "log")}
        task_id = (await engine.client.submit("approval", ask)).task_id
        task = await waiting(engine, task_id)
        assert task.wait is not None
        assert (task.wait.kind, task.wait.name, task.wait.until) == ("signal", "approve", None)
        assert (await send(engine, task_id, "approve", '{"ok":true}')).status is Status.QUEUED
        assert await engine.client.result(await finished(engine, task_id)) == {"ok": True}


async def test_a_wait_ends_at_its_time_out(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        ask = {"log": str(tmp_path / "log"), "seconds": 0.3}
        task_id = (await engine.client.submit("approval", ask)).task_id
        assert await engine.client.result(await finished(engine, task_id)) == "nobody came"
        assert "waiting" in await kinds(engine, task_id)


async def test_a_sync_handler_waits_without_its_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        task_id = (await engine.client.submit("sync-approval", {"log": str(log)})).task_id
        await waiting(engine, task_id)
        await send(engine, task_id, "first", "1")
        await reached(engine, task_id, Status.RUNNING, Status.QUEUED)
        assert (await waiting(engine, task_id)).wait
        await send(engine, task_id, "second", "2")
        assert await engine.client.result(await finished(engine, task_id)) == [1, 2]
    assert len(lines(log)) == 3


async def test_a_wait_beside_steps_parks_when_they_have_come_to_an_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        task_id = (await engine.client.submit("beside", {"log": str(log)})).task_id
        await waiting(engine, task_id)
        flown = [f"{what} {n}" for n in range(3) for what in ("begin", "end")]
        assert lines(log) == ["run", *flown]
        await send(engine, task_id, "go", '"go"')
        assert await engine.client.result(await finished(engine, task_id)) == "go"
    assert lines(log) == ["run", *flown, "run"]


async def test_a_signal_that_comes_while_steps_fly_parks_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        task_id = (await engine.client.submit("beside", {"log": str(log)})).task_id
        await reached(engine, task_id, Status.RUNNING)
        await send(engine, task_id, "go", '"go"')
        assert await engine.client.result(await finished(engine, task_id)) == "go"
        assert "waiting" not in await kinds(engine, task_id)
    assert lines(log).count("run") == 1


async def test_items_of_a_map_wait_each_for_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        ask = {"log": str(log), "n": 3}
        task_id = (await engine.client.submit("items", ask)).task_id
        left = {f"answer-{number}" for number in range(3)}
        for number in (1, 2, 0):
            await parked_for(engine, task_id, left)
            await send(engine, task_id, f"answer-{number}", str(number))
            left.discard(f"answer-{number}")
        assert await engine.client.result(await finished(engine, task_id)) == [0, 1, 2]
    assert sorted(lines(log)) == ["ask 0", "ask 1", "ask 2"]


@pytest.mark.parametrize("seconds", [0.05, 2.0])
async def test_a_limit_in_one_step_of_a_group_wastes_no_other(
    tmp_path: Path, seconds: float
) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        ask = {"log": str(log), "seconds": seconds}
        task_id = (await engine.client.submit("group-limited", ask)).task_id
        assert await engine.client.result(await finished(engine, task_id)) == ["limited", "slow"]
        assert (await engine.store.get(task_id, ALL)).task.attempt == 1
    assert lines(log).count("begin slow") == lines(log).count("end slow") == 1
    assert lines(log).count("limited") == 3


async def test_who_swallows_the_unwinding_makes_nothing_up(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        task_id = (await engine.client.submit("swallow", {"log": str(tmp_path / "log")})).task_id
        await waiting(engine, task_id)
        await send(engine, task_id, "go", "1")
        assert await engine.client.result(await finished(engine, task_id)) == "went on"


async def test_cancel_of_what_waits_is_done_at_once(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        ask = {"log": str(tmp_path / "log")}
        task_id = (await engine.client.submit("approval", ask)).task_id
        await waiting(engine, task_id)
        assert (await engine.client.cancel(task_id)).status is Status.CANCELLED
        beside = (await engine.client.submit("beside", ask)).task_id
        await reached(engine, beside, Status.RUNNING)
        await asyncio.sleep(0.2)
        await engine.client.cancel(beside)
        assert (await finished(engine, beside)).task.status is Status.CANCELLED


async def test_a_drain_leaves_a_task_that_waits_waiting(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path, drain_grace=5.0) as engine:
        task_id = (await engine.client.submit("beside", {"log": str(log)})).task_id
        approval = (await engine.client.submit("approval", {"log": str(log)})).task_id
        await waiting(engine, approval)
        await reached(engine, task_id, Status.RUNNING)
    async with running(app, tmp_path) as engine:
        assert (await engine.store.get(approval, ALL)).task.status is Status.WAITING
        await send(engine, approval, "approve", "1")
        await send(engine, task_id, "go", '"go"')
        assert await engine.client.result(await finished(engine, approval)) == 1
        assert await engine.client.result(await finished(engine, task_id)) == "go"
    work = [line for line in lines(log) if line.startswith("begin")]
    assert work == ["begin 0", "begin 1", "begin 2"], "no step was wasted"


async def test_months_pass_with_a_fake_clock(tmp_path: Path) -> None:
    clock, log = FakeClock(), tmp_path / "log"
    async with open_engine(short(tmp_path), app, clock=clock) as engine:
        ask = {"log": str(log), "seconds": 90 * 86_400.0}
        task_id = (await engine.client.submit("sleeper", ask)).task_id
        until = clock.now() + 90 * 86_400_000
        task = await waiting(engine, task_id)
        assert task.wait is not None
        assert (task.wait.kind, task.wait.until) == ("timer", until)
        clock.advance(89 * 86_400)
        await asyncio.sleep(0.1)
        assert (await engine.store.get(task_id, ALL)).task.status is Status.WAITING
        clock.advance(86_400)
        assert await engine.client.result(await finished(engine, task_id)) == "after"
    assert lines(log) == ["before", "run", "run", "after"]
