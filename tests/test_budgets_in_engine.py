"""Budgets in a running engine: what is used up holds calls back, and nothing is forgotten."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine_kit.engine import ALL, finished, reached, running
from stagepost import App, CallFailed, Context
from stagepost.limit import Calendar
from stagepost.llm.reserving import budget
from stagepost.simulated import SimulatedProvider, Simulation, Step, serve
from stagepost.task import Status, Task
from stagepost.wiring import Engine

app = App()

MODELS = """\
[providers.main]
kind = "openai"
base_url = "{url}"
[models.best]
chain = ["main/sim-large"]
[limits."main/sim-large"]
requests_per_minute = 6_000
concurrency = 50
price = {{ input = 0, output = 1_000 }}
[budgets]
{budgets}
"""
WORDS = 100
"""Tokens of an answer at most: a call reserves 0.1 dollars."""
ANSWER = Step(answer="one two three four five six seven eight nine ten", times=1_000)


@app.task("ask")
async def ask(ctx: Context, request: int) -> int:
    """Ask so many times, one after the other."""
    for n in range(request):
        await ctx.llm.chat("best", f"Hello {n}", max_tokens=WORDS)
    return request


@app.task("ask-at-once")
async def ask_at_once(ctx: Context, request: int) -> int:
    async def one(n: int) -> str:
        return (await ctx.llm.chat("best", f"Hello {n}", max_tokens=WORDS)).text

    return len(await ctx.map("ask", one, list(range(request)), concurrency=request))


@app.task("impatient")
async def impatient(ctx: Context, request: int) -> str:
    try:
        for n in range(request):
            await ctx.llm.chat("best", f"Hello {n}", max_tokens=WORDS, wait=False)
    except CallFailed as error:
        return str(error.kind)
    return "all"


def provided() -> AbstractAsyncContextManager[Simulation]:
    return serve(SimulatedProvider(script=[ANSWER]))


@asynccontextmanager
async def asking(folder: Path, simulation: Simulation, budgets: str) -> AsyncIterator[Engine]:
    file = folder / "models.toml"
    file.write_text(MODELS.format(url=simulation.base_url, budgets=budgets))
    async with running(app, folder / "data", models=str(file)) as engine:
        yield engine


async def submitted(engine: Engine, name: str, value: Any) -> str:
    return (await engine.client.submit(name, value)).task_id


async def spent(engine: Engine, task_id: str) -> int:
    return (await engine.store.calls.spent(task_id, ALL)).cost


async def waits_for(engine: Engine, task_id: str, name: str) -> Task:
    task = await reached(engine, task_id, Status.WAITING)
    assert task.wait is not None
    assert (task.wait.kind, task.wait.name) == ("budget", name)
    return task


def midnight(task: Task) -> bool:
    """Whether it waits until a day of UTC begins."""
    assert task.wait is not None
    assert task.wait.until is not None
    begins = datetime.fromtimestamp(round(task.wait.until / 1000), UTC)
    return begins.hour == begins.minute == 0


async def test_who_has_used_up_a_day_s_waits_until_midnight(tmp_path: Path) -> None:
    async with provided() as sim, asking(tmp_path, sim, 'tenant = "0.25/day"') as engine:
        task = await waits_for(
            engine, await submitted(engine, "ask", 100), "budget:tenant/local:day"
        )
        assert midnight(task)
        assert task.attempt == 1
        assert 0 < await spent(engine, task.id) <= 250_000
        assert sim.ledger.received == sim.ledger.billed


async def test_calls_at_the_same_time_never_overshoot(tmp_path: Path) -> None:
    async with provided() as sim, asking(tmp_path, sim, 'type = "0.35/day"') as engine:
        task_id = await submitted(engine, "ask-at-once", 40)
        await waits_for(engine, task_id, "budget:type/ask-at-once:day")
        # Each is sure of 0.1 dollars while it flies, so less than that may be left over.
        assert 250_000 < await spent(engine, task_id) <= 350_000


async def test_an_impatient_handler_is_told(tmp_path: Path) -> None:
    async with provided() as sim, asking(tmp_path, sim, 'user = "0.15/month"') as engine:
        view = await finished(engine, await submitted(engine, "impatient", 30))
        assert await engine.client.result(view) == "BUDGET"
        assert 0 < await spent(engine, view.task.id) <= 150_000


async def test_each_task_has_its_own_for_ever(tmp_path: Path) -> None:
    async with provided() as sim, asking(tmp_path, sim, 'task = "0.25"') as engine:
        one, other = [await submitted(engine, "ask", n) for n in (100, 2)]
        task = await waits_for(engine, one, f"budget:task/{one}:ever")
        assert task.wait is not None
        assert task.wait.until is None, "no time ends it"
        assert task.due_at is not None, "but it is looked at again, should it be raised"
        assert (await finished(engine, other)).task.status is Status.COMPLETED


async def test_a_restart_forgets_nothing(tmp_path: Path) -> None:
    async with provided() as sim:
        async with asking(tmp_path, sim, 'tenant = "0.25/month"') as engine:
            await waits_for(
                engine, await submitted(engine, "ask", 100), "budget:tenant/local:month"
            )
        before = sim.ledger.received
        async with asking(tmp_path, sim, 'tenant = "0.25/month"') as engine:
            await waits_for(engine, await submitted(engine, "ask", 1), "budget:tenant/local:month")
        assert sim.ledger.received == before


async def test_an_ended_task_s_budget_is_forgotten(tmp_path: Path) -> None:
    async with provided() as sim, asking(tmp_path, sim, 'task = "0.25"') as engine:
        view = await finished(engine, await submitted(engine, "ask", 2))
        # Its end is told before its book is closed.
        limit = budget("task", view.task.id, 0.25, Calendar.EVER)
        for _ in range(500):
            (state,) = await engine.limiting.limiter.state([limit])
            if not state.used:
                break
            await asyncio.sleep(0.01)
        assert state.used == 0
        assert await spent(engine, view.task.id) > 0


async def test_what_costs_nothing_takes_from_no_budget(tmp_path: Path) -> None:
    free = MODELS.replace("output = 1_000", "output = 0")
    async with provided() as sim:
        file = tmp_path / "models.toml"
        file.write_text(free.format(url=sim.base_url, budgets='tenant = "0.000001/day"'))
        async with running(app, tmp_path / "data", models=str(file)) as engine:
            view = await finished(engine, await submitted(engine, "ask", 3))
            assert view.task.status is Status.COMPLETED
