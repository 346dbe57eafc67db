"""Limits in a running engine, with the real limiter and store."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine_kit.engine import events, finished, lines, note, reached, running
from stagepost import App, Context, Retry
from stagepost.limit import Limit
from stagepost.limiter import Charge, Reservation
from stagepost.limiters.account import Account
from stagepost.limiters.memory import MemoryLimiter
from stagepost.limiters.postgres import desk
from stagepost.limiting import Limiting
from stagepost.records import Scope
from stagepost.task import CancelRequest, Status
from stagepost.wiring import Engine
from support.postgres import Server
from support.world import new_id

app = App()
LIMITS = {
    "gpu": Limit("gpu", at_once=1),
    "slow": Limit("slow", 1, 5.6),
    "hour": Limit("hour", 1, 3600),
    "quick": Limit("quick", 2, 0.3),
}
_inside: list[int] = []


@app.task("exclusive", timeout="30s")
async def exclusive(ctx: Context, request: str) -> int:
    async def work() -> int:
        _inside.append(1)
        await asyncio.sleep(0.02)
        most = len(_inside)
        _inside.pop()
        return most

    async with ctx.limit("gpu"):
        return await ctx.step("work", work)


@app.task("dies-with-it", retry=Retry(attempts=1), timeout="30s")
def dies_with_it(ctx: Any, request: str) -> None:
    import os  # noqa: PLC0415  # a child's own business
    import signal  # noqa: PLC0415

    with ctx.limit("gpu"):
        os.kill(os.getpid(), signal.SIGKILL)


@app.task("sync", timeout="30s")
def sync(ctx: Any, request: str) -> int:
    with ctx.limit("gpu"):
        return int(ctx.step("one", int, 1))


@app.task("rated", timeout="30s")
async def rated(ctx: Context, request: str) -> None:
    for n in range(3):
        await ctx.limit("quick")
        await ctx.step("page", note, request, f"{n}")


@app.task("parks", timeout="30s")
async def parks(ctx: Context, request: str) -> int:
    await ctx.step("first", note, request, f"claim of {ctx.task_id}")
    await ctx.limit("slow")
    await ctx.step("second", note, request, "through")
    return ctx.attempt


@app.task("for-an-hour", timeout="30s")
async def for_an_hour(ctx: Context, request: str) -> None:
    await ctx.limit("hour")


@app.task("sync-for-an-hour", timeout="30s")
def sync_for_an_hour(ctx: Any, request: str) -> None:
    ctx.limit("hour")


@app.task("greedy", retry=Retry(attempts=1), timeout="30s")
async def greedy(ctx: Context, request: str) -> None:
    match request:
        case "unknown":
            await ctx.limit("gpus")
        case "too-much":
            await ctx.limit("slow", units=2)
        case "none":
            await ctx.limit("slow", units=0)


@pytest.fixture(params=["embedded", "postgres"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Engine]:
    settings: dict[str, Any] = {"shared_limits": LIMITS}
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres_server")
        settings["store"] = server.url_of(f"limits_{new_id()[-12:]}")
    async with running(app, tmp_path / "data", **settings) as engine:
        yield engine


async def submit(engine: Engine, name: str, request: str = "") -> str:
    return (await engine.client.submit(name, request)).task_id


async def held(engine: Engine, name: str) -> int:
    (state,) = await engine.limiting.limiter.state([LIMITS[name]])
    return state.held


async def test_only_so_many_are_inside_at_once(engine: Engine) -> None:
    tasks = [await submit(engine, "exclusive") for _ in range(12)]
    results = [(await finished(engine, task)).result for task in tasks]
    assert {result.text for result in results if result} == {"1"}
    assert await held(engine, "gpu") == 0


async def test_a_wait_in_place_is_no_wait_of_the_task(engine: Engine, tmp_path: Path) -> None:
    task = await submit(engine, "rated", str(tmp_path / "log"))
    assert (await finished(engine, task)).task.status is Status.COMPLETED
    assert lines(tmp_path / "log") == ["0", "1", "2"]
    assert "waiting" not in [event.kind for event in await events(engine, task)]


async def test_a_long_wait_parks_the_task_and_it_goes_on_by_itself(
    engine: Engine, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    first = await submit(engine, "parks", str(log))
    await finished(engine, first)
    second = await submit(engine, "parks", str(log))
    parked = await reached(engine, second, Status.WAITING)
    assert parked.wait is not None
    assert (parked.wait.kind, parked.wait.name) == ("limit", "slow")
    assert parked.worker_id is None
    done = (await finished(engine, second)).task
    assert (done.status, done.attempt) == (Status.COMPLETED, 1)
    # Its saved step was not run again.
    assert lines(log).count(f"claim of {second}") == 1
    assert lines(log).count("through") == 2


async def test_a_task_that_is_parked_goes_on_as_soon_as_the_limit_is_free(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    limiter = engine.limiting.limiter
    # As if holds had lasted for an hour so far: it is told to come in an hour.
    long = Account(usual_hold=3_600_000.0)
    monkeypatch.setattr(desk, "_NEW", long.dump())
    if isinstance(limiter, MemoryLimiter):
        limiter._accounts["gpu"] = long
    held = Reservation("somebody", [Charge(LIMITS["gpu"], 1)])
    assert (await limiter.reserve(held)).granted
    task = await submit(engine, "exclusive")
    parked = await reached(engine, task, Status.WAITING)
    assert parked.due_at is not None
    assert parked.due_at > parked.created_at + 600_000
    await limiter.settle(held)
    assert (await finished(engine, task)).task.status is Status.COMPLETED


@pytest.mark.parametrize("name", ["for-an-hour", "sync-for-an-hour"])
async def test_a_task_that_waits_for_a_limit_can_be_cancelled(engine: Engine, name: str) -> None:
    await finished(engine, await submit(engine, name))
    task = await submit(engine, name)
    await reached(engine, task, Status.WAITING)
    cancelled = await engine.store.cancel(task, Scope(None), CancelRequest("ada"))
    assert cancelled.status is Status.CANCELLED


async def test_what_a_killed_handler_held_is_free(engine: Engine) -> None:
    assert (await finished(engine, await submit(engine, "dies-with-it"))).task.status is (
        Status.DEAD_LETTER
    )
    done = await finished(engine, await submit(engine, "sync"))
    assert done.task.status is Status.COMPLETED
    assert await held(engine, "gpu") == 0


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ("unknown", 'There is no limit "gpus"; set it with'),
        ("too-much", '2 units never fit in the limit "slow" of 1 in 5.6 s'),
    ],
)
async def test_what_can_not_be_granted_fails_with_a_clear_sentence(
    engine: Engine, request_: str, told: str
) -> None:
    task = await submit(engine, "greedy", request_)
    done = (await finished(engine, task)).task
    assert (done.status, done.failure_kind) == (Status.DEAD_LETTER, "BUG")
    assert told in (done.error_message or "")
    (failure,) = await engine.store.failures(task)
    assert told in failure.message


async def test_a_number_of_units_that_is_none_is_a_fault_of_the_code(engine: Engine) -> None:
    task = await submit(engine, "greedy", "none")
    assert (await finished(engine, task)).task.status is Status.DEAD_LETTER
    (failure,) = await engine.store.failures(task)
    assert "a whole number from 1" in failure.trace


async def test_a_rule_of_the_store_wins_and_holds_within_a_second(engine: Engine) -> None:
    limiting: Limiting = engine.limiting
    await finished(engine, await submit(engine, "for-an-hour"))
    await engine.store.limits.put(Limit("hour", 100, 60))
    limiting.forget()
    assert (await limiting.rules())["hour"].source == "api"
    done = await finished(engine, await submit(engine, "for-an-hour"))
    assert done.task.status is Status.COMPLETED
    await engine.store.limits.drop("hour")
    limiting.forget()
    assert (await limiting.rules())["hour"].source == "settings"
