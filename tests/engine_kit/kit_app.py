"""Task types for the tests of the test kit."""

import asyncio
import sys
from itertools import count
from typing import Any

from pydantic import BaseModel, Field

from stagepost import App, Context, InvalidInput, RateLimited, Upload

app = App()
_turns = count(1)


class Words(BaseModel):
    words: list[str]


class Count(BaseModel):
    count: int


class OneFile(BaseModel):
    file: Upload


class Read(BaseModel):
    name: str
    media_type: str = Field(serialization_alias="mediaType")
    text: str


class How(BaseModel):
    how: str = ""


def same(value: Any) -> Any:
    return value


@app.task("tell")
async def tell(ctx: Context, request: Words) -> Count:
    await ctx.emit("hello")
    done = await ctx.map(
        "each", same, request.words, concurrency=1, progress=(0, 10), message="{n}/{total}"
    )
    await ctx.save_artifact("words.txt", " ".join(done).encode(), "text/plain")
    return Count(count=len(done))


@app.task("read")
async def read(ctx: Context, request: OneFile) -> Read:
    text = (await request.file.read()).decode()
    return Read(name=request.file.name, media_type=request.file.media_type, text=text)


@app.task("sync")
def sync(ctx: Any, request: Words) -> list[int]:
    return [
        ctx.step("len", len, request.words),
        ctx.step("cpu", len, request.words, cpu=True),
    ]


@app.task("nested")
async def nested(ctx: Context, request: How) -> list[int]:
    async def outer() -> int:
        inner: int = await ctx.step("inner", same, 1)
        return inner + 1

    return [await ctx.step("outer", outer), await ctx.step("last", same, 3)]


@app.task("named")
async def named(ctx: Context, request: How) -> list[str]:
    """Uses its id, and those of its children, as an app does that needs names for others."""
    children = await ctx.batch("names", [How(how="a"), How(how="b")], on_failure="collect")
    spawned = await ctx.spawn("names", How())
    ids = [ctx.task_id, spawned, *(child.task_id for child in children)]
    told = [child.result for child in children]
    return [*ids, *told, *[await ctx.step("same", same, each, key=each) for each in ids]]


@app.task("names")
async def names(ctx: Context, request: How) -> str:
    return ctx.task_id


@app.task("fail", timeout="100ms")
async def fail(ctx: Context, request: How) -> int:
    match request.how:
        case "invalid":
            raise InvalidInput("no such thing")
        case "limit":
            raise RateLimited(retry_after=5)
        case "slow":
            await asyncio.sleep(60)
        case "exit":
            sys.exit(3)
        case "unserialisable":
            return object()  # type: ignore[return-value]
        case "misfit":
            return "abc"  # type: ignore[return-value]
    raise ValueError(request.how)


@app.task("drifting-result")
async def drifting_result(ctx: Context, request: How) -> int:
    await ctx.step("one", same, 1)
    await ctx.step("two", same, 2)
    return 1 if ctx.attempt == 1 else await _second_when_all_is_saved(ctx)


async def _second_when_all_is_saved(ctx: Context) -> int:
    journal = ctx._journal
    return 2 if not getattr(journal, "ran", None) else 1


@app.task("drifting-path")
async def drifting_path(ctx: Context, request: How) -> None:
    await ctx.step("first" if ctx.attempt == 1 else "later", same, 1)


@app.task("drifting-arguments")
async def drifting_arguments(ctx: Context, request: How) -> None:
    await ctx.step("one", same, next(_turns))


@app.task("drifting-fault")
async def drifting_fault(ctx: Context, request: How) -> None:
    await ctx.step("one", same, 1)
    if ctx.attempt > 1 and not getattr(ctx._journal, "ran", None):
        raise ValueError("only on a replay")
