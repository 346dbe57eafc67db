"""Task types that tell a file outside of the engine what they do.

The file's lines are in the order in which things happened, across all processes, because each is
appended and synced on its own:

    began TASK CLAIM         a handler has begun, in a claim that is named by chance
    ran TASK STEP CLAIM      the step's function has begun
    saved TASK STEP CLAIM    the handler holds the step's result, so it is saved
    got TASK PATH AT         a model's answer was given to a step, at a millisecond
    returned TASK            the handler has come to its end
"""

import asyncio
import time
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import BaseModel

from engine_kit.engine import lines, note
from stagepost import App, Context, InvalidInput, Overloaded, RateLimited, Retry
from stagepost.scope import CURRENT

app = App()
QUICK = Retry(attempts=6, first=0.1, most=1)


class Ask(BaseModel):
    key: str
    log: str
    steps: int = 3
    pause: float = 0.01
    width: int = 1
    """How many items call a model at the same time."""
    emit: bool = False
    hesitates: float = 0.0
    """Seconds that another claim waits after its first step: one that still runs gets ahead of what
    it knows."""


_CLAIM: ContextVar[str] = ContextVar("claim")


def begin(ctx: Any, ask: Ask) -> None:
    """First of all in a handler."""
    _CLAIM.set(uuid4().hex)
    note(ask.log, f"began {ctx.task_id} {_CLAIM.get()}")


def saved(ctx: Any, ask: Ask, name: str) -> None:
    note(ask.log, f"saved {ctx.task_id} {name} {_CLAIM.get()}")


async def step(task_id: str, name: str, log: str, pause: float) -> int:
    note(log, f"ran {task_id} {name} {_CLAIM.get()}")
    await asyncio.sleep(pause)
    return len(name)


def sync_step(task_id: str, name: str, log: str, pause: float) -> int:
    note(log, f"ran {task_id} {name} {_CLAIM.get()}")
    time.sleep(pause)
    return len(name)


async def _walk(ctx: Context, ask: Ask) -> int:
    begin(ctx, ask)
    total = 0
    for number in range(ask.steps):
        name = f"step-{number}"
        total += await ctx.step(
            name,
            step,
            ctx.task_id,
            name,
            ask.log,
            ask.pause,
            progress=number * 100 // ask.steps,
        )
        again = ask.hesitates and number == 0 and was_saved(ctx.task_id, name, ask.log)
        saved(ctx, ask, name)
        if again:
            await asyncio.sleep(ask.hesitates)
    return total


def was_saved(task_id: str, name: str, log: str) -> bool:
    return any(line.startswith(f"saved {task_id} {name} ") for line in lines(Path(log)))


@app.task("walk", retry=QUICK)
async def walk(ctx: Context, ask: Ask) -> int:
    total = await _walk(ctx, ask)
    note(ask.log, f"returned {ctx.task_id}")
    return total


@app.task("fan", retry=QUICK)
async def fan(ctx: Context, ask: Ask) -> int:
    begin(ctx, ask)

    async def item(name: str) -> int:
        return await step(ctx.task_id, name, ask.log, ask.pause)

    names = [f"item-{number}" for number in range(ask.steps)]
    done = await ctx.map("fan", item, names, progress=(0, 90))
    for name in names:
        saved(ctx, ask, name)
    note(ask.log, f"returned {ctx.task_id}")
    return sum(done)


@app.task("stumble", retry=QUICK)
async def stumble(ctx: Context, ask: Ask) -> int:
    total = await _walk(ctx, ask)
    if ctx.attempt == 1:
        raise Overloaded("once more")
    return total


@app.task("park", retry=QUICK)
async def park(ctx: Context, ask: Ask) -> int:
    total = await _walk(ctx, ask)
    await ctx.step("ask-them", ask_them, ask.key)
    return total


_asked: set[str] = set()


def ask_them(key: str) -> None:
    if key not in _asked:
        _asked.add(key)
        raise RateLimited(retry_after=0.2)


@app.task("refuse", retry=QUICK)
async def refuse(ctx: Context, ask: Ask) -> int:
    await _walk(ctx, ask)
    raise InvalidInput("no")


@app.task("large", retry=QUICK)
async def large(ctx: Context, ask: Ask) -> str:
    await _walk(ctx, ask)
    return "x" * 100_000


@app.task("heed", retry=QUICK)
async def heed(ctx: Context, ask: Ask) -> list[int]:
    """Waits for signals and times, one after the other and side by side."""
    await _walk(ctx, ask)
    said = []
    for _ in range(ask.steps):
        said.append(await ctx.wait_for("say"))
        await ctx.sleep(0.05)

    async def item(name: str) -> int:
        await ctx.sleep(0.1)
        return await step(ctx.task_id, name, ask.log, ask.pause)

    names = [f"item-{number}" for number in range(ask.steps)]
    await ctx.map("items", item, names)
    for name in names:
        saved(ctx, ask, name)
    return said


async def _consult(ctx: Context, ask: Ask) -> int:
    begin(ctx, ask)

    async def item(name: str) -> int:
        note(ask.log, f"ran {ctx.task_id} {name} {_CLAIM.get()}")
        await ctx.llm.chat("best", f"{ask.key} {name}", emit=ask.emit)
        at, path = time.time_ns() // 1_000_000, CURRENT.get().path
        note(ask.log, f"got {ctx.task_id} {path} {at}")
        return len(name)

    names = [f"item-{number}" for number in range(ask.steps)]
    done = await ctx.map("consult", item, names, concurrency=ask.width)
    for name in names:
        saved(ctx, ask, name)
    return sum(done)


@app.task("consult", retry=QUICK)
async def consult(ctx: Context, ask: Ask) -> int:
    return await _consult(ctx, ask)


@app.task("consult-once", retry=QUICK, unknown="hold")
async def consult_once(ctx: Context, ask: Ask) -> int:
    """What may have been paid for is not paid for again."""
    return await _consult(ctx, ask)


@app.task("block", retry=QUICK)
def block(ctx: Any, ask: Ask) -> int:
    begin(ctx, ask)
    total = 0
    for number in range(ask.steps):
        name = f"step-{number}"
        total += ctx.step(name, sync_step, ctx.task_id, name, ask.log, ask.pause)
        saved(ctx, ask, name)
    return total


def expected(type_name: str, ask: Ask) -> Any:
    """The result that a task of a type must have; None where it must have none."""
    if type_name == "refuse":
        return None
    if type_name == "heed":
        return list(range(ask.steps))
    if type_name == "large":
        return "x" * 100_000
    word = "item" if type_name in {"fan", "consult", "consult-once"} else "step"
    return sum(len(f"{word}-{number}") for number in range(ask.steps))
