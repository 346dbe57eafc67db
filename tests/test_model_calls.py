"""`ctx.llm` in a running engine, against a provider whose own ledger is the judge."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from engine_kit.engine import ALL, finished, lines, note, reached, running
from stagepost import App, Context, Retry
from stagepost.calls import Call, CallState
from stagepost.llm.reserving import limits_of
from stagepost.llm.told import What
from stagepost.simulated import Lending, SimulatedProvider, Simulation, Step, Timing, serve
from stagepost.task import Status, Task
from stagepost.wiring import Engine

app = App()
RESULT, REFUSED, REJECTED = CallState.RESULT, CallState.REFUSED, CallState.REJECTED


class Finding(BaseModel):
    risk: str
    pages: int


@app.task("ask")
async def ask(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("best", request)).text


@app.task("ask-twice")
async def ask_twice(ctx: Context, request: str) -> list[str]:
    first = await ctx.llm.chat("best", request)
    second = await ctx.llm.chat("best", request)
    return [first.text, second.text]


@app.task("find")
async def find(ctx: Context, request: str) -> Finding:
    return await ctx.llm.chat("best", request, response_model=Finding)


@app.task("tell")
async def tell(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("best", request, emit=True)).text


@app.task("impatient")
async def impatient(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("best", request, wait=False)).text


@app.task("stumbles", retry=Retry(attempts=3, first="0.05s", jitter=0))
async def stumbles(ctx: Context, request: Mapping[str, str]) -> list[str]:
    """Fails twice, each time behind its calls: one of its own, two of steps in it."""

    async def work(word: str) -> str:
        answer = await ctx.llm.chat("best", word)
        note(request["file"], answer.text)
        if ctx.attempt == 1:
            raise RuntimeError("after the call")
        return answer.text

    own = await ctx.llm.chat("best", "its own")
    words: list[str] = await ctx.map("work", work, ["one", "two"], concurrency=2)
    if ctx.attempt == 2:
        raise RuntimeError("after all of them")
    return [own.text, *words]


@app.task("sync")
def sync(ctx: Any, request: str) -> list[str]:
    found = ctx.llm.chat("best", request, response_model=Finding)
    return [*ctx.llm.models(), ctx.llm.chat("best", request).text, found.risk]


@app.task("embed")
async def embed(ctx: Context, request: list[str]) -> list[int]:
    return [len(vector) for vector in await ctx.llm.embed("small", request)]


@app.task("elsewhere")
async def elsewhere(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat(request, "Hello")).text


MODELS = """\
[providers.main]
kind = "openai"
base_url = "{url}"
[models.best]
chain = ["main/sim-large", "main/sim-small"]
[models.small]
chain = ["main/sim-embedding"]
[limits."main/sim-large"]
requests_per_minute = 6_000
price = {{ input = 2, output = 10 }}
[limits."main/sim-small"]
requests_per_minute = 6_000
[limits."main/sim-embedding"]
requests_per_minute = 6_000
"""


@asynccontextmanager
async def asking(
    folder: Path, *script: Step, **changes: Any
) -> AsyncIterator[tuple[Engine, Simulation]]:
    async with serve(SimulatedProvider(script=list(script), **changes)) as simulation:
        file = folder / "models.toml"
        file.write_text(MODELS.format(url=simulation.base_url))
        async with running(app, folder / "data", models=str(file)) as engine:
            yield engine, simulation


async def ended(engine: Engine, name: str, value: Any) -> tuple[Task, Any]:
    sent = await engine.client.submit(name, value)
    view = await finished(engine, sent.task_id)
    completed = view.task.status is Status.COMPLETED
    return view.task, await engine.client.result(view) if completed else view.task.failure_kind


async def calls(engine: Engine, task: Task) -> list[Call]:
    return list(await engine.store.calls.find(task.id, ALL, None, 100))


async def test_a_call_is_in_the_ledger_with_what_it_took(tmp_path: Path) -> None:
    async with asking(tmp_path) as (engine, simulation):
        task, text = await ended(engine, "ask", "Hello")
        (call,) = await calls(engine, task)
        assert text
        assert (call.state, call.provider, call.model) == (RESULT, "main", "sim-large")
        assert call.usage.input is not None
        assert call.usage.output is not None
        assert call.cost == call.usage.input * 2 + call.usage.output * 10
        assert call.estimate.cost >= call.cost
        assert (simulation.ledger.billed, call.tenant, call.type) == (1, task.tenant, "ask")


async def test_an_answer_is_what_it_was_asked_to_be(tmp_path: Path) -> None:
    async with asking(tmp_path) as (engine, _):
        task, found = await ended(engine, "find", "Hello")
        assert Finding.model_validate(found)
        assert [call.state for call in await calls(engine, task)] == [RESULT]


async def test_an_answer_that_does_not_fit_is_asked_for_again_and_kept(tmp_path: Path) -> None:
    bad = Step(answer={"risk": "high"})
    good = Step(answer={"risk": "high", "pages": 3})
    async with asking(tmp_path, bad, good) as (engine, _):
        task, found = await ended(engine, "find", "Hello")
        assert found == {"risk": "high", "pages": 3}
        assert [call.state for call in await calls(engine, task)] == [REJECTED, RESULT]


async def test_what_never_fits_is_a_dead_letter_after_two_repairs(tmp_path: Path) -> None:
    bad = Step(answer={"risk": "high"}, times=10)
    async with asking(tmp_path, bad) as (engine, simulation):
        task, kind = await ended(engine, "find", "Hello")
        assert (task.status, kind) == (Status.DEAD_LETTER, "BAD_OUTPUT")
        assert [call.state for call in await calls(engine, task)] == [REJECTED] * 3
        assert simulation.ledger.billed == 3


async def test_the_same_question_twice_is_two_calls(tmp_path: Path) -> None:
    async with asking(tmp_path) as (engine, simulation):
        task, _ = await ended(engine, "ask-twice", "Hello")
        first, second = await calls(engine, task)
        assert first.key == second.key._replace(n=0)
        assert (second.key.n, simulation.ledger.billed) == (1, 2)


async def test_a_later_attempt_pays_for_nothing_again(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    async with asking(tmp_path) as (engine, simulation):
        task, result = await ended(engine, "stumbles", {"file": str(seen)})
        assert (task.attempt, len(result)) == (3, 3)
        assert simulation.ledger.billed == 3
        assert [call.state for call in await calls(engine, task)] == [RESULT] * 3
        assert set(lines(seen)) == set(result[1:])


async def test_text_comes_as_it_is_written(tmp_path: Path) -> None:
    async with asking(tmp_path) as (engine, _):
        task, text = await ended(engine, "tell", "Hello")
        (call,) = await calls(engine, task)
        assert text
        assert call.first_token is not None


async def test_what_headers_tell_holds_while_the_answer_is_on_its_way(tmp_path: Path) -> None:
    slow = Timing(token=0.15, sigma=0.0)  # a stream of about 9 s
    lending = Lending(requests=50)
    async with asking(tmp_path, timing=slow, lending=lending) as (engine, _):
        assert engine.models is not None
        limit = limits_of(engine.models.model("main/sim-large"))[What.REQUESTS]
        sent = await engine.client.submit("tell", "Hello")
        for _ in range(1_000):
            (state,) = await engine.limiting.limiter.state([limit])
            if state.most == 50:
                break
            await asyncio.sleep(0.01)
        assert state.most == 50
        task = await reached(engine, sent.task_id, Status.RUNNING)
        assert [call.state for call in await calls(engine, task)] == [CallState.INTENT]
        assert (await finished(engine, task.id)).task.status is Status.COMPLETED


async def test_a_refusal_is_waited_out_and_spends_no_attempt(tmp_path: Path) -> None:
    async with asking(tmp_path, Step(fault="429", wait=1), speed=10) as (engine, _):
        task, _ = await ended(engine, "ask", "Hello")
        assert (task.status, task.attempt) == (Status.COMPLETED, 1)
        assert [call.state for call in await calls(engine, task)] == [REFUSED, RESULT]


async def test_another_model_answers_where_one_is_overloaded(tmp_path: Path) -> None:
    down = Step(fault="503", model="sim-large", times=20)
    async with asking(tmp_path, down, speed=10) as (engine, _):
        task, _ = await ended(engine, "ask", "Hello")
        found = await calls(engine, task)
        assert [call.model for call in found] == ["sim-large", "sim-large", "sim-small"]
        assert task.attempt == 1


async def test_what_a_person_must_mend_is_waited_for_without_a_worker(tmp_path: Path) -> None:
    async with asking(tmp_path, Step(fault="401", times=100)) as (engine, simulation):
        sent = await engine.client.submit("ask", "Hello")
        task = await reached(engine, sent.task_id, Status.WAITING)
        assert task.attempt == 1
        # A breaker is open for both models: no call goes to either.
        sent = await engine.client.submit("impatient", "Hello")
        task = await reached(engine, sent.task_id, Status.WAITING)
        assert simulation.ledger.received == 2


async def test_a_sync_handler_calls_as_well(tmp_path: Path) -> None:
    async with asking(tmp_path) as (engine, _):
        task, result = await ended(engine, "sync", "Hello")
        assert result[:2] == ["best", "small"]
        assert [call.state for call in await calls(engine, task)] == [RESULT, RESULT]


async def test_texts_become_vectors(tmp_path: Path) -> None:
    async with asking(tmp_path) as (engine, _):
        _, sizes = await ended(engine, "embed", ["one", "two"])
        assert len(sizes) == 2
        assert min(sizes) > 1


@pytest.mark.parametrize("name", ["none", "nobody/none"])
async def test_a_model_that_is_not_there_is_told(tmp_path: Path, name: str) -> None:
    async with asking(tmp_path) as (engine, _):
        sent = await engine.client.submit("elsewhere", name)
        task = await reached(engine, sent.task_id, Status.WAITING)
        assert task.attempt == 1
