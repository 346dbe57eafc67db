"""Handlers that call models, and an engine that asks a simulated provider."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from engine_kit.engine import finished, running
from stagepost import App, Context
from stagepost.simulated import SimulatedProvider, Simulation, Step, serve
from stagepost.task import Task
from stagepost.wiring import Engine

models_app = App()


class Verdict(BaseModel):
    risk: str
    pages: int


@models_app.task("ask")
async def ask(ctx: Context, request: str) -> str:
    async def work() -> str:
        return (await ctx.llm.chat("best", request, temperature=0.5, max_tokens=2_000)).text

    text: str = await ctx.step("read", work)
    return text


@models_app.task("judge")
async def judge(ctx: Context, request: str) -> Verdict:
    return await ctx.llm.chat("best", request, response_model=Verdict)


@models_app.task("tell")
async def tell(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("main/sim-small", request, emit=True)).text


@models_app.task("embed")
async def embed(ctx: Context, request: str) -> int:
    return len(await ctx.llm.embed("small", [request]))


MODELS = """\
[providers.main]
kind = "openai"
base_url = "{url}"
[models.best]
chain = ["main/sim-large"]
[models.small]
chain = ["main/sim-embedding"]
[limits."main/sim-large"]
requests_per_minute = 6_000
price = {{ input = 2, output = 10 }}
[limits."main/sim-embedding"]
requests_per_minute = 6_000
"""


@asynccontextmanager
async def asking(
    folder: Path, *script: Step, **changes: Any
) -> AsyncIterator[tuple[Engine, Simulation]]:
    """The engine, and the provider whose answers follow the script."""
    async with serve(SimulatedProvider(script=list(script), **changes)) as simulation:
        file = folder / "models.toml"
        file.write_text(MODELS.format(url=simulation.base_url))
        async with running(models_app, folder / "data", models=str(file)) as engine:
            yield engine, simulation


async def ended(engine: Engine, name: str, value: Any) -> Task:
    """A task of this type, once nothing happens to it any more."""
    sent = await engine.client.submit(name, value)
    return (await finished(engine, sent.task_id)).task
