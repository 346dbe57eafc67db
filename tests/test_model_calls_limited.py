"""One of a task's calls is told to come back much later: the others go on, and nobody stands by."""

import asyncio
from pathlib import Path

from engine_kit.asking import SLOW, asking, calls, states
from engine_kit.engine import ALL, LONG, finished, reached
from stagepost import App, Context
from stagepost.calls import CallState
from stagepost.simulated import Step
from stagepost.task import Status

app = App()
RESULT, REFUSED = CallState.RESULT, CallState.REFUSED
CLAUSES = ("the limited one", *(f"clause {n}" for n in range(2, 9)))
ASKED_FOR = 30.0
"""Seconds, as Retry-After says."""


@app.task("review")
async def review(ctx: Context, request: list[str]) -> list[str]:
    async def read(clause: str) -> str:
        return (await ctx.llm.chat("best", clause)).text

    texts: list[str] = await ctx.map("read", read, request, concurrency=8)
    return texts


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
