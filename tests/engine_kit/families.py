"""Handlers that start tasks and wait for them."""

import asyncio
from typing import Any

from pydantic import BaseModel

from engine_kit.engine import note
from stagepost import App, ChildFailed, Context, InvalidInput, Retry

app = App()
ONCE = Retry(attempts=1)


class Numbers(BaseModel):
    numbers: list[int] = []
    how: str = "stop"
    log: str = ""


class Number(BaseModel):
    n: int
    log: str = ""


async def nap(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return f"slept for {seconds} s"


@app.task("double", retry=ONCE)
async def double(_ctx: Context, request: Number) -> int:
    if request.log:
        note(request.log, str(request.n))
    if request.n < 0:
        raise InvalidInput(f"{request.n} is below zero")
    return 2 * request.n


@app.task("slow", lane="batch", retry=Retry(attempts=5))
async def slow(ctx: Context, request: Number) -> int:
    await ctx.step("sleep", asyncio.sleep, request.n)
    return request.n


@app.task("brief", lane="batch", retry=Retry(attempts=5))
async def brief(_ctx: Context, request: Number) -> int:
    await asyncio.sleep(1.5)
    return request.n


@app.task("one", retry=ONCE)
async def one(ctx: Context, request: Number) -> dict[str, Any]:
    note(request.log, "begun")
    first = await ctx.child("double", Number(n=request.n))
    second = await ctx.child("double", {"n": first})
    return {"first": first, "second": second}


@app.task("catching", retry=ONCE)
async def catching(ctx: Context, request: Number) -> dict[str, Any]:
    try:
        await ctx.child("double", request)
    except ChildFailed as failure:
        return {"kind": failure.failure_kind, "status": failure.status, "text": str(failure)}
    return {}


@app.task("many", retry=ONCE)
async def many(ctx: Context, request: Numbers) -> list[Any]:
    inputs = [Number(n=n, log=request.log) for n in request.numbers]
    if request.how == "collect":
        found = await ctx.batch("double", inputs, on_failure="collect", progress=(0, 80))
        return [[child.status, child.result, child.failure_kind] for child in found]
    return await ctx.batch("double", inputs)


@app.task("beside", retry=ONCE)
async def beside(ctx: Context, request: Numbers) -> list[int]:
    """Children that are waited for side by side, and a step that runs meanwhile."""

    async def asked(n: int) -> int:
        doubled: int = await ctx.child("double", Number(n=n), key=str(n))
        return doubled

    step = asyncio.create_task(ctx.step("nap", nap, 0.2))
    found = await asyncio.gather(*map(asked, request.numbers))
    assert await step == "slept for 0.2 s"
    return found


@app.task("mapped", retry=ONCE)
async def mapped(ctx: Context, request: Numbers) -> list[int]:
    async def asked(n: int) -> int:
        doubled: int = await ctx.child("double", Number(n=n))
        return doubled + 1

    return await ctx.map("ask", asked, request.numbers)


@app.task("blocking", retry=ONCE)
def blocking(ctx: Any, request: Numbers) -> list[int]:
    first = ctx.child("double", Number(n=1))
    spawned = ctx.spawn("double", Number(n=2))
    assert len(spawned) == 36
    found = ctx.batch("double", [Number(n=n) for n in request.numbers])
    return [first, *found]


@app.task("spawning", retry=ONCE)
async def spawning(ctx: Context, request: Numbers) -> list[str]:
    ids = [
        await ctx.spawn("slow", Number(n=n), detached=request.how == "detached")
        for n in request.numbers
    ]
    if request.how == "wait":
        await ctx.child("slow", Number(n=600), key="last")
    return ids


@app.task("crowd")
async def crowd(ctx: Context, request: Numbers) -> None:
    """Starts many children one by one, says so, and waits for one that does not end."""
    note(request.log, "begun")
    for number in range(request.numbers[0]):
        await ctx.spawn("brief", Number(n=number))
        note(request.log, str(number))
    await ctx.child("slow", Number(n=600), key="last")


@app.task("strange", retry=ONCE)
async def strange(ctx: Context, request: Numbers) -> Any:
    """Asks for what there is not."""
    match request.how:
        case "type":
            return await ctx.child("nowhere", None)
        case "lane":
            return await ctx.child("double", Number(n=1), lane="nowhere")
        case "input":
            return await ctx.child("double", {"m": 1})
        case "size":
            return await ctx.child("many", Numbers(log="x" * 2_000_000))
        case _:
            return await ctx.batch("double", [], on_failure="collect")


@app.task("changing", retry=ONCE)
async def changing(ctx: Context, request: Number) -> list[Any]:
    """Asks for other children at each attempt."""
    note(request.log, "begun")
    with open(request.log, encoding="ascii") as log:  # noqa: ASYNC230, PTH123  # a line or two
        begun = len(log.readlines())
    return await ctx.batch("double", [Number(n=n) for n in range(begun, begun + 2)])
