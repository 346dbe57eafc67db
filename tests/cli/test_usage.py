"""`stagepost usage`, and what the other commands tell of calls to models."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from stagepost.cli import run
from stagepost.cli.exits import Exit
from stagepost.cli.output import money
from stagepost.outcome import Drained
from stagepost.records import Scope
from support.calls import KEY, new_call, refused_call, result
from web.kit import Engine, engine_in, serving

Command = Callable[..., Awaitable[int]]


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with engine_in(tmp_path) as made:
        yield made


@pytest.fixture
async def command(engine: Engine) -> AsyncIterator[Command]:
    """A command that asks this engine."""
    async with serving(engine) as url:

        async def ask(*words: str) -> int:
            return await asyncio.to_thread(run, [*words, "--url", url])

        yield ask


async def spend(engine: Engine) -> str:
    """A task that has an answer, a refusal and an unknown call."""
    submitted = await engine.submit()
    claimed = await engine.worker.claim()
    await engine.worker.step(claimed, "analyse#1")
    for end in (result(cost=1_234_500), refused_call(), None):
        call = new_call(KEY)
        await engine.store.calls.begin(claimed.lease, call)
        if end is not None:
            await engine.store.calls.end(claimed.task_id, call.id, end)
    await engine.worker.settle(claimed, Drained())
    await engine.worker.complete(await engine.worker.claim())
    return submitted.task_id


async def test_usage_by_type_and_model(
    engine: Engine, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    await spend(engine)
    assert await command("usage") == 0
    head, row, total = capsys.readouterr().out.splitlines()
    names = ["TYPE", "MODEL", "CALLS", "FAILED", "UNKNOWN", "TOKENS", "IN", "OUT", "COST"]
    assert head.split() == names
    assert row.split() == ["echo", "main/large", "3", "1", "1", "300", "330", "$1.24"]
    assert total.endswith(": $1.24 for 3 calls (1 failed; 1 unknown, counted as $0.001)")


async def test_usage_as_json_and_by_day(
    engine: Engine, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    await spend(engine)
    assert await command("usage", "--by", "tenant, day", "--days", "1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["from"] == found["to"] == found["items"][0]["day"]
    assert (found["items"][0]["tenant"], found["total"]["calls"]) == ("local", 3)


async def test_usage_where_there_is_none(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await command("usage", "--type", "echo", "--tenant", "acme") == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "No calls.\n")


@pytest.mark.parametrize("given", [["--by", "hour"], ["--by", ""], ["--days", "0"]])
def test_what_makes_no_sense_is_a_usage(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["usage", *given]) == Exit.USAGE
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (0, "$0.00"), (0.000_001, "$0.000001"), (0.0012, "$0.0012"), (0.5, "$0.50"),
        (0.999_999_9, "$1.00"), (1.2345, "$1.23"), (1_234.5, "$1,234.50"),
    ],
)  # fmt: skip
def test_money_has_as_many_digits_as_it_needs(dollars: float, text: str) -> None:
    assert money(dollars) == text


async def test_a_task_is_shown_with_its_calls_and_their_cost(
    engine: Engine, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    task_id = await spend(engine)
    assert await command("show", task_id) == 0
    lines = capsys.readouterr().out.splitlines()
    told = [" ".join(line.split()) for line in lines]
    assert "cost $1.24 for 3 calls (1 failed; 1 unknown, counted as $0.001)" in told
    (step,) = [line for line in told if line.startswith("analyse#1") and "main/large" not in line]
    assert "$1.24" in step
    rows = [line for line in told if line.startswith("analyse#1 main/large")]
    assert [row.split()[2:4] for row in rows] == [
        ["RESULT", "1"],
        ["REFUSED", "1"],
        ["UNKNOWN", "1"],
    ]
    assert rows[1].endswith("RATE_LIMIT")
    calls = await engine.store.calls.find(task_id, Scope(None), None, 10)
    assert rows[2].endswith(f"{calls[2].id}, counted by its estimate")
    assert await command("show", task_id, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [call["state"] for call in found["calls"]] == ["RESULT", "REFUSED", "UNKNOWN"]


async def test_a_task_without_calls_says_nothing_of_them(
    engine: Engine, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    task_id = (await engine.submit()).task_id
    assert await command("show", task_id) == 0
    out = capsys.readouterr().out
    assert "cost" not in out
    assert "calls to models" not in out


async def test_many_calls_are_shown_as_one(
    engine: Engine, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    task_id = (await engine.submit()).task_id
    claimed = await engine.worker.claim()
    for number in range(7):
        call = new_call(KEY._replace(path=f"analyse[{number}]"))
        await engine.store.calls.begin(claimed.lease, call)
        await engine.store.calls.end(task_id, call.id, result())
    assert await command("show", task_id) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "main/large" in line]
    assert row.split() == [
        "analyse[*]", "main/large", "RESULT", "7", "700", "210", "6.3", "s", "$0.00315",
    ]  # fmt: skip
