"""Handlers that wait; those that run in children must stand in a module."""

import asyncio
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from engine_kit.engine import lines, note
from stagepost import App, Context, RateLimited, Retry

app = App()


class Ask(BaseModel):
    log: str = ""
    seconds: float = 0.0
    n: int = 0


async def noted(log: str, line: str) -> str:
    note(log, line)
    return line


async def slowly(log: str, line: str) -> str:
    note(log, f"begin {line}")
    await asyncio.sleep(0.5)
    note(log, f"end {line}")
    return line


@app.task("sleeper")
async def sleeper(ctx: Context, request: Ask) -> str:
    await ctx.step("before", noted, request.log, "before")
    note(request.log, "run")
    await ctx.sleep(request.seconds)
    return await ctx.step("after", noted, request.log, "after")


@app.task("approval")
async def approval(ctx: Context, request: Ask) -> Any:
    note(request.log, "run")
    try:
        return await ctx.wait_for(
            "approve", timeout=request.seconds or None, approvers=["bob", "operate"]
        )
    except TimeoutError:
        return "nobody came"


@app.task("sync-approval")
def sync_approval(ctx: Any, request: Ask) -> Any:
    note(request.log, f"run {os.getpid()}")
    first = ctx.wait_for("first")
    ctx.sleep(0.1)
    return [first, ctx.step("second", lambda: ctx.wait_for("second"))]


@app.task("beside")
async def beside(ctx: Context, request: Ask) -> Any:
    """A wait beside steps in flight."""
    note(request.log, "run")

    async def work() -> None:
        for number in range(3):
            await ctx.step("work", slowly, request.log, str(number), key=str(number))

    said, _ = await asyncio.gather(ctx.wait_for("go"), work())
    return said


@app.task("items")
async def items(ctx: Context, request: Ask) -> Any:
    """A map whose items wait."""

    async def ask(number: int) -> Any:
        await ctx.step("ask", noted, request.log, f"ask {number}")
        return await ctx.wait_for(f"answer-{number}")

    return await ctx.map("items", ask, range(request.n))


@app.task("group-limited", retry=Retry(attempts=1))
async def group_limited(ctx: Context, request: Ask) -> Any:
    """One of several steps of a group meets a limit."""

    async def limited() -> str:
        note(request.log, "limited")
        if len([line for line in lines(Path(request.log)) if line == "limited"]) < 3:
            raise RateLimited("wait for them", retry_after=request.seconds)
        return "limited"

    async with asyncio.TaskGroup() as group:
        results = [
            group.create_task(ctx.step("limited", limited)),
            group.create_task(ctx.step("slow", slowly, request.log, "slow", key="a")),
        ]
    return [result.result() for result in results]


@app.task("swallow")
async def swallow(ctx: Context, request: Ask) -> str:
    """Swallows everything, also what unwinds it."""
    note(request.log, "run")
    try:
        await ctx.wait_for("go")
    except BaseException:  # noqa: BLE001  # the worst of handlers
        return "made up"
    return "went on"
