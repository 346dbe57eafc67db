"""A user's program that holds the engine itself; run as a script by test_child."""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from stagepost import App, Context
from stagepost.settings import Settings
from stagepost.wiring import open_engine

app = App()


class Ask(BaseModel):
    n: int


@dataclass
class Point:
    n: int


class Refused(Exception):
    pass


def double(point: Point) -> Point:
    return Point(point.n * 2)


def refuse(point: Point) -> None:
    raise Refused(point.n)


@app.task("double")
async def handle(ctx: Context, request: Ask) -> int:
    point = await ctx.step("double", double, Point(request.n), cpu=True)
    try:
        await ctx.step("refuse", refuse, point, cpu=True)
    except Refused as error:
        return int(error.args[0])
    return 0


@app.task("sync")
def sync(ctx: Any, request: Ask) -> int:
    return request.n + 1


async def main(folder: Path) -> None:
    async with open_engine(Settings(data=folder), app) as engine:
        for type_name in ("double", "sync"):
            submitted = await engine.client.submit(type_name, Ask(n=21))
            view = await engine.client.wait(submitted.task_id, timeout=30)
            print(view.task.status.value, await engine.client.result(view))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
