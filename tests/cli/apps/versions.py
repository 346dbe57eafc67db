"""One task type in several states of its code, as deploys bring them one after the other."""

import asyncio
from pathlib import Path

from pydantic import BaseModel

from stagepost import App, Context, InvalidInput

old, new, both, broken, careless = App(), App(), App(), App(), App()


class Letter(BaseModel):
    """Where to tell what happens."""

    folder: Path


async def _step(name: str, folder: Path) -> str:
    with (folder / "log").open("a") as log:
        log.write(f"{name}\n")
    if name == "read":
        (folder / "reading").touch()
    return name


async def _held(folder: Path) -> str:
    while not (folder / "gate").exists():  # noqa: ASYNC110  # another process makes it
        await asyncio.sleep(0.01)
    return "held"


@old.task("letter")
async def first(ctx: Context, request: Letter) -> list[str]:
    """Version 1: reads, then answers."""
    told = [await ctx.step("read", _step, "read", request.folder)]
    await ctx.step("hold", _held, request.folder)
    return [*told, await ctx.step("answer", _step, "answer", request.folder), "by 1"]


@new.task("letter", version=2)
async def second(ctx: Context, request: Letter) -> list[str]:
    """Version 2: translates in between."""
    told = [await ctx.step("read", _step, "read", request.folder)]
    await ctx.step("hold", _held, request.folder)
    told.append(await ctx.step("translate", _step, "translate", request.folder))
    return [*told, await ctx.step("answer", _step, "answer", request.folder), "by 2"]


@both.task("letter", version=2, accepts={1})
async def third(ctx: Context, request: Letter) -> list[str]:
    """Version 2 that finishes what version 1 has begun as that would have."""
    told = [await ctx.step("read", _step, "read", request.folder)]
    await ctx.step("hold", _held, request.folder)
    if ctx.version >= 2:
        told.append(await ctx.step("translate", _step, "translate", request.folder))
    answer = await ctx.step("answer", _step, "answer", request.folder)
    return [*told, answer, f"by 2 as {ctx.version}"]


@broken.task("letter")
async def refusing(ctx: Context, request: Letter) -> list[str]:
    """Version 1 with a fault."""
    await ctx.step("read", _step, "read", request.folder)
    raise InvalidInput("It can't be read.")


@careless.task("letter")
async def changed(ctx: Context, request: Letter) -> list[str]:
    """Changed without a new version: the step's arguments are others."""
    return [await ctx.step("read", _step, "read aloud", request.folder)]
