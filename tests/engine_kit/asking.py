"""An engine that asks models, before a simulated provider whose own ledger is the judge."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from engine_kit.engine import ALL, LONG, running
from stagepost import App
from stagepost.calls import Call, CallState
from stagepost.simulated import SimulatedProvider, Simulation, Step, Timing, serve
from stagepost.wiring import Engine

MODELS = """\
[providers.main]
kind = "openai"
base_url = "{url}"
[models.best]
chain = ["main/sim-large"]
[models.either]
chain = ["main/sim-large", "main/sim-small"]
[limits."main/sim-large"]
requests_per_minute = 600_000
concurrency = 1_000
price = {{ input = 2, output = 10 }}
[limits."main/sim-small"]
requests_per_minute = 600_000
concurrency = 1_000
"""
SLOW = Timing(first_token=0.4, sigma=0)
"""Long enough that something can happen amid a call."""


def models_file(folder: Path, url: str) -> str:
    """A models.toml that points at a provider."""
    file = folder / "models.toml"
    file.write_text(MODELS.format(url=url))
    return str(file)


@asynccontextmanager
async def asking(
    app: App,
    folder: Path,
    *script: Step,
    store: str = "",
    settings: dict[str, Any] | None = None,
    **changes: Any,
) -> AsyncIterator[tuple[Engine, Simulation]]:
    """An engine and what it asks; `changes` are of the provider."""
    async with serve(SimulatedProvider(script=list(script), **changes)) as simulation:
        models = models_file(folder, simulation.base_url)
        given = {"models": models, "store": store, **(settings or {})}
        async with running(app, folder / "data", **given) as engine:
            yield engine, simulation


async def calls(engine: Engine, task_id: str) -> list[Call]:
    """A task's calls, in the order of their begins."""
    found: list[Call] = []
    while page := await engine.store.calls.find(task_id, ALL, found[-1].id if found else None, 500):
        found += page
    return found


async def states(engine: Engine, task_id: str) -> list[CallState]:
    """How a task's calls have ended."""
    return [call.state for call in await calls(engine, task_id)]


__all__ = ["LONG", "MODELS", "SLOW", "asking", "calls", "models_file", "states"]
