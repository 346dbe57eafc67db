"""The task types that are measured."""

import asyncio
import time

from pydantic import BaseModel

from stagepost import App, Context

app = App()

MOST_TOKENS = 300
"""Of one answer of a model."""


class Number(BaseModel):
    """A small input, so that a task has one."""

    number: int


@app.task("noop")
async def noop(ctx: Context, request: Number) -> None:
    """Do nothing."""
    del ctx, request


@app.task("fan")
async def fan(ctx: Context, request: Number) -> int:
    """Start so many no-op tasks, wait for all of them, and say how many have completed."""
    inputs = (Number(number=number) for number in range(request.number))
    found = await ctx.batch("noop", inputs, on_failure="collect", results=False)
    return sum(child.status == "COMPLETED" for child in found)


class Sent(BaseModel):
    """When the caller began to submit: nanoseconds of the clock that this machine shares."""

    sent: int


@app.task("stamp")
async def stamp(ctx: Context, request: Sent) -> float:
    """Return how long ago the submit was begun, in milliseconds."""
    del ctx
    return (time.monotonic_ns() - request.sent) / 1e6


class Asked(BaseModel):
    """What a model is asked, in one call."""

    prompt: str


@app.task("one-call-review")
async def one_call_review(ctx: Context, request: Asked) -> str:
    """What `bench.review_endpoint` does within a request."""
    answer = await ctx.llm.chat("best", request.prompt, max_tokens=MOST_TOKENS)
    return answer.text


@app.task("clauses")
async def clauses(ctx: Context, request: Number) -> int:
    """Ask a model about so many clauses, twenty at once, and say how many answers there are."""

    async def ask(number: int) -> str:
        answer = await ctx.llm.chat("best", f"Clause {number}.", max_tokens=MOST_TOKENS)
        return answer.text

    return len(await ctx.map("clause", ask, range(request.number), concurrency=20))


class Ticks(BaseModel):
    """Progress at `first` and every `every` seconds after it, `times` times, and then a pause."""

    first: float
    every: float
    times: int


@app.task("tick")
async def tick(ctx: Context, request: Ticks) -> None:
    """Say at each tick its number and when it was said."""
    for number in range(request.times):
        await asyncio.sleep(request.first + number * request.every - time.monotonic())
        await ctx.progress(number % 100, f"{number}:{time.monotonic_ns()}")
    # Ends only when the last tick of every other task has been measured.
    await asyncio.sleep(request.every + 60)
