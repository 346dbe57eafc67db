"""Calls that are told to come back, or never come to an end: nobody stands by, and none goes on for
ever."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from engine_kit.asking import SLOW, asking, calls, models_file, states
from engine_kit.engine import ALL, LONG, finished, reached, running, until
from stagepost import App, Context
from stagepost.calls import CallState
from stagepost.simulated import SimulatedProvider, Simulation, Step, serve
from stagepost.task import Status
from support.postgres import Server
from support.world import new_id

app = App()
RESULT, REFUSED, UNKNOWN = CallState.RESULT, CallState.REFUSED, CallState.UNKNOWN
CLAUSES = ("the limited one", *(f"clause {n}" for n in range(2, 9)))
ASKED_FOR = 30.0
"""Seconds, as Retry-After says."""


@app.task("review")
async def review(ctx: Context, request: list[str]) -> list[str]:
    async def read(clause: str) -> str:
        return (await ctx.llm.chat("best", clause)).text

    texts: list[str] = await ctx.map("read", read, request, concurrency=8)
    return texts


@app.task("ask")
async def ask(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("best", request)).text


@app.task("plain")
async def plain(_: Context, request: str) -> str:
    return request


async def test_one_of_eight_calls_is_told_to_come_back_in_half_a_minute(tmp_path: Path) -> None:
    limited = Step(fault="429", wait=ASKED_FOR, contains="limited")
    one_slot = {"concurrency": 1}
    async with asking(app, tmp_path, limited, settings=one_slot, timing=SLOW) as (engine, judge):
        task_id = (await engine.client.submit("review", list(CLAUSES))).task_id
        parked = await reached(engine, task_id, Status.WAITING)
        assert parked.wait is not None
        assert (parked.wait.kind, parked.attempt, parked.worker_id) == ("limit", 1, None)
        assert sorted(await states(engine, task_id)) == [REFUSED, *[RESULT] * 7]
        assert judge.ledger.billed == 7

        # The only slot works for another meanwhile.
        other = (await engine.client.submit("plain", "at once")).task_id
        assert (await finished(engine, other)).task.status is Status.COMPLETED
        assert (await engine.store.get(task_id, ALL)).task.status is Status.WAITING

        (refused,) = [call for call in await calls(engine, task_id) if call.state is REFUSED]
        async with asyncio.timeout(ASKED_FOR + LONG):
            view = await engine.client.wait(task_id, timeout=ASKED_FOR + LONG)
        assert (view.task.status, view.task.attempt) == (Status.COMPLETED, 1)
        found = await calls(engine, task_id)
        again = found[-1]
        assert again.key == refused.key
        assert again.started_at - (refused.ended_at or 0) >= ASKED_FOR * 1_000
        assert [call.state for call in found].count(RESULT) == len(found) - 1 == 8
        assert (judge.ledger.billed, judge.ledger.by_content.excess) == (8, 0)
        assert judge.ledger.refused.total() == 1


def asked_so_often(judge: Simulation, times: int) -> bool:
    return judge.ledger.received == times


@pytest.mark.parametrize("kind", ["embedded", "postgres"])
async def test_a_call_that_no_worker_outlives_is_not_sent_for_ever(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Each worker is stopped amid it, as by a deploy: that spends no attempt, but perhaps money."""
    store = ""
    if kind == "postgres":
        server: Server = request.getfixturevalue("postgres_server")
        store = server.url_of(f"limited_{new_id()[-12:]}")
    monkeypatch.setattr("stagepost.llm.asking._LANDING", 0.05)
    monkeypatch.setattr("stagepost.claim_calls.MOST_SENT", 3)
    endless = Step(fault="slow", wait=3_600, times=3)
    async with serve(SimulatedProvider(script=[endless])) as judge:
        told = {"store": store, "models": models_file(tmp_path, judge.base_url)}
        task_id = ""
        for life in range(3):
            async with running(app, tmp_path / "data", **told) as engine:
                task_id = task_id or (await engine.client.submit("ask", "Hello")).task_id
                await until(partial(asked_so_often, judge, life + 1))
        async with running(app, tmp_path / "data", **told) as engine:
            task = (await finished(engine, task_id)).task
            assert (task.status, task.failure_kind) == (Status.DEAD_LETTER, "UNKNOWN_OUTCOME")
            assert "not paid for once more" in (task.error_message or "")
            (failure,) = await engine.store.failures(task_id)
            assert "was sent 3 times" in failure.trace
            assert await states(engine, task_id) == [UNKNOWN] * 3
            assert judge.ledger.received == 3

            # A person has looked, and pays again.
            await engine.client.redrive(task_id)
            assert (await finished(engine, task_id)).task.status is Status.COMPLETED
            assert await states(engine, task_id) == [UNKNOWN] * 3 + [RESULT]
