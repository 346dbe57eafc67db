"""Answers, prompts and crowds that are larger or worse than anybody would send."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_kit.asking import SLOW, asking, calls, models_file, states
from engine_kit.engine import ALL, events, finished, reached, running, until
from stagepost import App, Context, Retry
from stagepost.calls import CallState
from stagepost.insisting import insist
from stagepost.simulated import Timing
from stagepost.task import Status, Task
from stagepost.wiring import Engine
from support.postgres import Server
from support.postgres import server as own_server
from support.scripted_provider import Reply, scripted, whole
from support.scripted_provider import events as streamed
from support.world import new_id

app = App()
RESULT, REFUSED = CallState.RESULT, CallState.REFUSED
ONCE = Retry(attempts=1)
TWICE = Retry(attempts=2, first="0.05s", jitter=0)


@app.task("measure", retry=TWICE)
async def measure(ctx: Context, request: int) -> int:
    """The length of an answer to a prompt of so many words; the first attempt fails behind it."""
    answer = await ctx.llm.chat("best", "word " * request)
    if ctx.attempt == 1:
        raise RuntimeError("after the call")
    return len(answer.text)


@app.task("ask", retry=ONCE)
async def ask(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("best", request, timeout=60)).text


@app.task("tell", retry=ONCE)
async def tell(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("best", request, emit=True, timeout=1)).text


@app.task("crowd", retry=TWICE, timeout="120s")
async def crowd(ctx: Context, request: dict[str, int]) -> int:
    """Many calls at the same time, whose answers an attempt that fails has all had."""

    async def work(word: str) -> str:
        return (await ctx.llm.chat("best", word)).text

    async def one(number: int) -> str:
        return (await ctx.llm.chat("best", f"{number}")).text

    if request.get("in_map"):
        items = [f"{number}" for number in range(request["count"])]
        return len(await ctx.map("work", work, items, concurrency=request["at_once"]))
    found = [await one(number) for number in range(request["count"])]
    if ctx.attempt == 1:
        raise RuntimeError("after all of them")
    return len(found)


async def ended(engine: Engine, name: str, value: Any) -> Task:
    sent = await engine.client.submit(name, value)
    return (await finished(engine, sent.task_id)).task


def answer_of(text: str) -> Reply:
    said = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": said, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    told = {"id": "1", "object": "chat.completion", "created": 1, "model": "sim-large"}
    return whole({**told, "choices": [choice], "usage": usage})


async def test_an_answer_of_ten_megabytes_is_kept_and_replayed(tmp_path: Path) -> None:
    async with scripted(answer_of("x" * 10_000_000)) as server:
        models = models_file(tmp_path, server.address)
        async with running(app, tmp_path / "data", models=models) as engine:
            task = await ended(engine, "measure", 1)
            (call,) = await calls(engine, task.id)
            assert (task.status, task.attempt) == (Status.COMPLETED, 2)
            assert (call.state, call.answer_size or 0) > (RESULT, 10_000_000)
            assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("name", "reply", "kind", "tries"),
    [
        ("ask", whole("\0\ud7ff{{{\x07" * 1000), "SERVER_ERROR", 4),
        ("ask", whole("[" * 100_000), "SERVER_ERROR", 4),
        ("tell", streamed(b"data: \xff\xfe{{\n\n", b"\0" * 5000, end="cut"), "", 0),
        ("tell", streamed(b": alive\n\n", end="endless", every=0.05), "TIMEOUT", 3),
    ],
    ids=["garbage", "deep", "garbled stream", "endless stream"],
)
async def test_what_is_no_answer_ends_within_its_tries(
    tmp_path: Path, name: str, reply: Reply, kind: str, tries: int
) -> None:
    async with scripted(reply) as server:
        models = models_file(tmp_path, server.address)
        async with running(app, tmp_path / "data", models=models) as engine:
            task = await ended(engine, name, "Hello")
            found = await calls(engine, task.id)
            assert task.status is Status.DEAD_LETTER
            assert {call.state for call in found} == {REFUSED}
            assert all(call.maybe_billed for call in found)
            if kind:
                assert (task.failure_kind, len(found)) == (kind, tries)
            assert len(server.asked) == len(found) <= 4


async def test_a_prompt_of_a_megabyte_is_kept_and_replayed(tmp_path: Path) -> None:
    async with asking(app, tmp_path, context=10_000_000) as (engine, simulation):
        task = await ended(engine, "measure", 200_000)
        (call,) = await calls(engine, task.id)
        assert (task.status, task.attempt) == (Status.COMPLETED, 2)
        assert call.request_size > 1_000_000
        bodies = await engine.store.calls.bodies(task.id, call.id, ALL)
        assert bodies.request is not None
        assert bodies.request.blob is not None
        assert simulation.ledger.billed == 1


async def test_more_calls_than_a_page_are_all_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stagepost.claim_calls._PAGE", 30)
    async with asking(app, tmp_path) as (engine, simulation):
        task = await ended(engine, "crowd", {"count": 100})
        assert (task.status, task.attempt) == (Status.COMPLETED, 2)
        assert simulation.ledger.billed == 100
        assert await states(engine, task.id) == [RESULT] * 100


@pytest.mark.parametrize("patience", [30.0, 0.05], ids=["in place", "without a worker"])
async def test_a_crowd_of_calls_waits_and_none_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    monkeypatch.setattr("stagepost.llm.asking.MOST_FLYING", 8)
    monkeypatch.setattr("stagepost.claim_calls.PATIENCE", patience)
    async with asking(app, tmp_path, timing=SLOW) as (engine, simulation):
        given = {"count": 40, "at_once": 40, "in_map": 1}
        tasks = await asyncio.gather(*(ended(engine, "crowd", given) for _ in range(2)))
        assert [(task.status, task.attempt) for task in tasks] == [(Status.COMPLETED, 1)] * 2
        assert simulation.ledger.billed == 80
        assert simulation.ledger.peak <= 8


KEYED = """\
[providers.main]
kind = "openai"
base_url = "{url}"
api_key_env = "THE_KEY"
[models.best]
chain = ["main/sim-large"]
"""


@pytest.mark.parametrize("status", [400, 401, 500])
async def test_a_key_that_a_provider_repeats_is_told_to_nobody(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    status: int,
) -> None:
    key = "sk-secret-0123456789abcdef"
    monkeypatch.setenv("THE_KEY", key)
    caplog.set_level("DEBUG")
    said = {"error": {"message": f"Of {key} and 'the prompt' nothing is known.", "code": "x"}}
    async with scripted(whole(said, status)) as server:
        file = tmp_path / "models.toml"
        file.write_text(KEYED.format(url=server.address))
        async with running(app, tmp_path / "data", models=str(file)) as engine:
            sent = await engine.client.submit("ask", "the prompt")
            ends = (Status.WAITING, Status.DEAD_LETTER)
            task = await reached(engine, sent.task_id, *ends)
            found = await calls(engine, task.id)
            assert {call.message.count("***") for call in found} == {1}, "an operator reads it"
            told = [str(task.wait), task.error_message, *await events(engine, task.id)]
    assert server.asked[0].headers["authorization"] == f"Bearer {key}"
    assert not any("nothing is known" in str(text) for text in told), told
    assert key not in caplog.text
    assert key not in str([found, told])


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that this test may stop."""
    with own_server() as server:
        yield server


async def test_an_answer_that_comes_while_the_store_is_away_is_kept(
    tmp_path: Path, server: Server
) -> None:
    store = server.url_of(f"away_{new_id()[-12:]}")
    slow = Timing(first_token=2.0, sigma=0)
    async with asking(app, tmp_path, store=store, timing=slow) as (engine, simulation):
        sent = await engine.client.submit("ask", "Hello")
        await until(lambda: simulation.ledger.flying == 1)
        await asyncio.to_thread(server.stop)
        await until(lambda: simulation.ledger.billed == 1)
        await asyncio.sleep(3)
        await asyncio.to_thread(server.start)
        task = (await insist(lambda: finished(engine, sent.task_id))).task
        assert (task.status, task.attempt) == (Status.COMPLETED, 1)
        assert await states(engine, task.id) == [RESULT]
        assert simulation.ledger.billed == 1
