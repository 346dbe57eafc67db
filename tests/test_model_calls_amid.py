"""What happens amid a call, to the task that makes it: nothing is paid twice, nothing is wasted."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from engine_kit.asking import SLOW, asking, calls, states
from engine_kit.engine import events, finished, lines, note, reached, until
from stagepost import App, Context, Retry
from stagepost.calls import CallState
from stagepost.simulated import Simulation, Step, Timing
from stagepost.task import Status
from stagepost.wiring import Engine
from support.postgres import Server
from support.world import new_id

app = App()
RESULT, REFUSED, UNKNOWN = CallState.RESULT, CallState.REFUSED, CallState.UNKNOWN
SLOWER = Timing(first_token=2.5, sigma=0)
"""Longer than it takes until the next attempt."""
QUICK = Retry(attempts=3, first="0.05s", jitter=0)


@app.task("ask", retry=QUICK)
async def ask(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("best", request)).text


@app.task("hasty", retry=QUICK, timeout="0.2s")
async def hasty(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("best", request)).text


@app.task("hasty-talk", retry=QUICK, timeout="0.2s")
async def hasty_talk(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("best", request, emit=True)).text


@app.task("hasty-large", retry=QUICK, timeout="0.2s")
async def hasty_large(ctx: Context, request: str) -> int:
    return len((await ctx.llm.chat("best", request, max_tokens=120_000)).text)


@app.task("stumble", retry=QUICK)
async def stumble(ctx: Context, request: str) -> str:
    answer = await ctx.llm.chat("best", request)
    if ctx.attempt == 1:
        raise RuntimeError("after the call")
    return answer.text


@app.task("one-fails", retry=QUICK)
async def one_fails(ctx: Context, request: str) -> list[str]:
    async def work(word: str) -> str:
        if word == "fails" and ctx.attempt == 1:
            raise RuntimeError("beside a call")
        return (await ctx.llm.chat("best", f"{request} {word}")).text

    words: list[str] = await ctx.map("work", work, ["one", "two", "fails"])
    return words


@app.task("child-dies", retry=QUICK, timeout="60s")
def child_dies(ctx: Any, request: str) -> str:
    """Its process dies twice, each time amid a call or right behind it."""
    import threading  # noqa: PLC0415  # a child's own business

    claims = len(lines(Path(request)))
    note(request, "claim")
    if claims == 0:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()
    answer: str = ctx.llm.chat("best", "Hello").text
    if claims < 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer


@app.task("child-always-dies", retry=Retry(attempts=10), timeout="60s")
def child_always_dies(ctx: Any, request: str) -> None:
    """Behind its only call, each time."""
    note(request, "claim")
    ctx.llm.chat("best", "Hello")
    os.kill(os.getpid(), signal.SIGKILL)


@app.task("two-branches", retry=QUICK)
async def two_branches(ctx: Context, request: str) -> list[str]:
    async def work(word: str) -> str:
        return (await ctx.llm.chat("best", word)).text

    words: list[str] = await ctx.map("work", work, ["limited", "slow"])
    return words


@app.task("chain", retry=QUICK)
async def chain(ctx: Context, request: str) -> list[str]:
    return [(await ctx.llm.chat("best", f"{n}")).text for n in range(3)]


@app.task("either", retry=QUICK)
async def either(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("either", request)).text


Opened = Callable[..., AbstractAsyncContextManager[tuple[Engine, Simulation]]]


@pytest.fixture(params=["embedded", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    store = ""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres_server")
        store = server.url_of(f"amid_{new_id()[-12:]}")
    return lambda *script, **changes: asking(app, tmp_path, *script, store=store, **changes)


async def submit(engine: Engine, name: str, request: str = "Hello") -> str:
    return (await engine.client.submit(name, request)).task_id


async def warm(engine: Engine) -> None:
    """The first call of a process loads an SDK, which may take longer than a short time-out."""
    await finished(engine, await submit(engine, "ask", "the first"))


async def asked(simulation: Simulation, count: int = 1) -> None:
    await until(lambda: simulation.ledger.received >= count)


@pytest.mark.parametrize("name", ["hasty", "hasty-talk"])
async def test_a_handler_past_its_timeout_leaves_its_answer_to_the_next(
    opened: Opened, name: str
) -> None:
    async with opened(timing=SLOWER) as (engine, simulation):
        await warm(engine)
        task_id = await submit(engine, name)
        done = (await finished(engine, task_id)).task
        assert (done.status, done.attempt) == (Status.COMPLETED, 2)
        assert simulation.ledger.billed == 2
        assert await states(engine, task_id) == [RESULT]


async def test_an_answer_too_large_for_the_ledger_is_kept_past_the_timeout(opened: Opened) -> None:
    text = "word " * 80_000
    async with opened(timing=SLOWER, answer=lambda _: text) as (engine, simulation):
        await warm(engine)
        task_id = await submit(engine, "hasty-large")
        view = await finished(engine, task_id)
        assert await engine.client.result(view) == len(text)
        assert (view.task.attempt, simulation.ledger.billed) == (2, 2)


async def test_an_answer_that_came_since_the_claim_has_looked_is_found(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none_yet(*_: Any) -> list[Any]:
        return []

    async with opened() as (engine, simulation):
        monkeypatch.setattr(type(engine.store.calls), "memos", none_yet)
        task_id = await submit(engine, "stumble")
        done = (await finished(engine, task_id)).task
        assert (done.status, done.attempt) == (Status.COMPLETED, 2)
        assert simulation.ledger.billed == 1


async def test_a_branch_that_fails_wastes_no_call_of_the_others(opened: Opened) -> None:
    async with opened(timing=SLOW) as (engine, simulation):
        task_id = await submit(engine, "one-fails")
        done = (await finished(engine, task_id)).task
        assert (done.status, done.attempt) == (Status.COMPLETED, 2)
        assert simulation.ledger.by_content.excess == 0
        assert set(await states(engine, task_id)) == {RESULT}


async def test_a_child_that_dies_amid_a_call_leaves_its_answer_to_the_next(
    opened: Opened, tmp_path: Path
) -> None:
    async with opened(timing=SLOWER) as (engine, simulation):
        await warm(engine)
        task_id = await submit(engine, "child-dies", str(tmp_path / "claims"))
        done = (await finished(engine, task_id)).task
        assert done.status is Status.COMPLETED
        assert len(lines(tmp_path / "claims")) == 3
        assert simulation.ledger.billed == 2
        # The first death was around an answer, the second got no further.
        assert done.attempt == 2


async def test_an_answer_that_was_there_already_is_no_progress(
    opened: Opened, tmp_path: Path
) -> None:
    async with opened() as (engine, simulation):
        task_id = await submit(engine, "child-always-dies", str(tmp_path / "claims"))
        done = (await finished(engine, task_id)).task
        assert (done.status, done.failure_kind) == (Status.DEAD_LETTER, "WORKER_LOST")
        assert len(lines(tmp_path / "claims")) == 4
        assert simulation.ledger.billed == 1


async def test_a_cancel_lets_the_call_in_flight_end_and_starts_none(opened: Opened) -> None:
    async with opened(timing=SLOW) as (engine, simulation):
        task_id = await submit(engine, "chain")
        await asked(simulation)
        await engine.client.cancel(task_id)
        done = (await finished(engine, task_id)).task
        assert done.status is Status.CANCELLED
        assert await states(engine, task_id) == [RESULT]
        assert simulation.ledger.received == 1


async def test_a_cancel_waits_for_no_call_of_a_handler_that_has_ended(opened: Opened) -> None:
    async with opened(Step(fault="slow", wait=8, contains="slow")) as (engine, simulation):
        await warm(engine)
        task_id = await submit(engine, "hasty", "slow")
        await asked(simulation, 2)
        await until(lambda: not engine.worker._slots.running)
        await engine.client.cancel(task_id)
        assert (await finished(engine, task_id)).task.status is Status.CANCELLED
        assert simulation.ledger.flying == 1


@pytest.mark.parametrize("timing", [SLOW, SLOWER], ids=["in its grace", "past its grace"])
async def test_a_drain_lets_the_call_in_flight_end_and_another_worker_uses_it(
    opened: Opened, timing: Timing
) -> None:
    async with opened(timing=timing) as (engine, simulation):
        task_id = await submit(engine, "chain")
        await asked(simulation)
    assert simulation.ledger.billed == 1
    async with opened() as (engine, simulation):
        done = (await finished(engine, task_id)).task
        assert (done.status, done.attempt) == (Status.COMPLETED, 1)
        assert simulation.ledger.billed == 2
        assert await states(engine, task_id) == [RESULT] * 3


async def test_a_branch_that_parks_wastes_no_call_in_flight(opened: Opened) -> None:
    limited = Step(fault="429", wait=7, contains="limited")
    slow = Step(fault="slow", wait=1, contains="slow")
    async with opened(limited, slow, headers=False) as (engine, simulation):
        task_id = await submit(engine, "two-branches")
        parked = await reached(engine, task_id, Status.WAITING)
        assert parked.wait is not None
        assert (parked.wait.kind, parked.attempt) == ("limit", 1)
        assert "sim-large" in (parked.wait.name or "")
        assert parked.worker_id is None
        assert sorted(await states(engine, task_id)) == [REFUSED, RESULT]
        done = (await finished(engine, task_id)).task
        assert (done.status, done.attempt) == (Status.COMPLETED, 1)
        assert simulation.ledger.billed == 2
        assert simulation.ledger.refused.total() == 1


async def test_what_a_provider_says_is_for_operators_alone(opened: Opened) -> None:
    secret = Step(fault="content-filter", contains="the prompt's own words")
    async with opened(secret) as (engine, _):
        task_id = await submit(engine, "ask", "the prompt's own words")
        view = await finished(engine, task_id)
        (call,) = await calls(engine, task_id)
        assert call.message
        told = [view.task.error_message or "", str(await events(engine, task_id))]
        assert not any(call.message in text for text in told), told


async def test_one_call_probes_a_model_that_was_down(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stagepost.llm.breaker.FIRST", 0.5)
    async with opened(Step(fault="401", times=1), timing=SLOW) as (engine, simulation):
        await reached(engine, await submit(engine, "ask", "opens it"), Status.WAITING)
        assert simulation.ledger.received == 1
        tasks = [await submit(engine, "ask", f"{n}") for n in range(8)]
        for task in tasks:
            await reached(engine, task, Status.WAITING, Status.COMPLETED)
        simulation.then(Step(fault="401"))
        await asked(simulation, 2)
        await asyncio.sleep(0.2)
        assert simulation.ledger.received == 2, "one probe, and nothing beside it"
