"""A dead letter that is sent back: which of its calls are replayed, and which are paid for anew."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from engine_kit.asking import asking, states
from engine_kit.engine import ALL, finished
from stagepost import App, Context, InvalidInput
from stagepost.calls import CallState
from stagepost.simulated import Simulation, Step
from stagepost.task import Status
from stagepost.wiring import Engine
from support.postgres import Server
from support.world import new_id

app = App()
RESULT, REJECTED = CallState.RESULT, CallState.REJECTED


class Finding(BaseModel):
    risk: str


@app.task("review")
async def review(ctx: Context, request: str) -> str:
    """A call in each of two steps and one of its own, whose words are in a file; then it fails."""

    async def ask(word: str) -> str:
        return (await ctx.llm.chat("best", word)).text

    await ctx.step("first", ask, "one")
    await ctx.step("second", ask, "two")
    own = await ctx.llm.chat("best", (Path(request) / "prompt").read_text())
    if (Path(request) / "broken").exists():
        raise InvalidInput("not yet")
    return own.text


@app.task("find")
async def find(ctx: Context, request: str) -> str:
    async def ask() -> str:
        return (await ctx.llm.chat("best", "Read it.")).text

    await ctx.step("read", ask)
    return (await ctx.llm.chat("best", request, response_model=Finding)).risk


@app.task("find-told")
async def find_told(ctx: Context, request: str) -> str:
    """The same, by a prompt that stands in a file, as code would: a person may mend it."""

    async def ask(word: str) -> str:
        return (await ctx.llm.chat("best", word)).text

    for word in ("parties", "clauses"):
        await ctx.step(word, ask, word)
    prompt = (Path(request) / "prompt").read_text()
    return (await ctx.llm.chat("best", prompt, response_model=Finding)).risk


Opened = Callable[..., AbstractAsyncContextManager[tuple[Engine, Simulation]]]


@pytest.fixture(params=["embedded", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    store = ""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres_server")
        store = server.url_of(f"redriven_{new_id()[-12:]}")
    return lambda *script: asking(app, tmp_path, *script, store=store)


async def dead(engine: Engine, name: str, given: str) -> str:
    task_id = (await engine.client.submit(name, given)).task_id
    assert (await finished(engine, task_id)).task.status is Status.DEAD_LETTER
    return task_id


@pytest.mark.parametrize(
    ("how", "prompt", "paid"),
    [
        ({}, "its own", 0),
        ({"from_step": "second"}, "its own", 2),
        ({"fresh": True}, "its own", 3),
        # The code has changed: what it asks now was never asked.
        ({}, "another", 1),
    ],
    ids=["checkpoints", "from a step", "fresh", "another prompt"],
)
async def test_a_redrive_pays_for_what_it_drops(
    opened: Opened, tmp_path: Path, how: dict[str, Any], prompt: str, paid: int
) -> None:
    (tmp_path / "prompt").write_text("its own")
    (tmp_path / "broken").touch()
    async with opened() as (engine, simulation):
        task_id = await dead(engine, "review", str(tmp_path))
        assert simulation.ledger.billed == 3
        (tmp_path / "broken").unlink()
        (tmp_path / "prompt").write_text(prompt)
        await engine.client.redrive(task_id, **how)
        assert (await finished(engine, task_id)).task.status is Status.COMPLETED
        assert simulation.ledger.billed == 3 + paid
        assert await states(engine, task_id) == [RESULT] * (3 + paid)


async def test_a_bad_answer_is_not_replayed_and_a_saved_step_not_paid_again(
    opened: Opened,
) -> None:
    bad = Step(answer={"danger": 1}, contains="clause", times=3)
    async with opened(bad) as (engine, simulation):
        task_id = await dead(engine, "find", "The clause.")
        assert await states(engine, task_id) == [RESULT] + [REJECTED] * 3
        await engine.client.redrive(task_id)
        assert (await finished(engine, task_id)).task.status is Status.COMPLETED
        assert (await states(engine, task_id))[4:] == [RESULT]
        assert simulation.ledger.billed == 5


async def test_a_mended_prompt_is_paid_for_and_nothing_that_was_saved(
    opened: Opened, tmp_path: Path
) -> None:
    prompt = tmp_path / "prompt"
    prompt.write_text("Tell me of the clause.")
    bad = Step(answer={"danger": 1}, contains="Tell me of the clause.", times=3)
    good = Step(answer={"risk": "none"}, contains="Name its risk.")
    async with opened(bad, good) as (engine, simulation):
        task_id = await dead(engine, "find-told", str(tmp_path))
        was = (await engine.store.get(task_id, ALL)).task
        assert (was.failure_kind, was.attempt) == ("BAD_OUTPUT", 1)
        assert await states(engine, task_id) == [RESULT] * 2 + [REJECTED] * 3
        assert simulation.ledger.billed == 5

        prompt.write_text("Name its risk.")
        await engine.client.redrive(task_id)
        view = await finished(engine, task_id)
        assert view.task.status is Status.COMPLETED
        assert await engine.client.result(view) == "none"
        assert (await states(engine, task_id))[5:] == [RESULT]
        assert simulation.ledger.billed == 6
        # The repairs differ from what they mend: no prompt was paid for twice.
        assert simulation.ledger.by_content.excess == 0
