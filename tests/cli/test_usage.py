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
