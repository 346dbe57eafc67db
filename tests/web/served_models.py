"""An engine whose handlers call models, and a client of its API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from engine_kit.models import asking
from stagepost.simulated import Simulation, Step
from stagepost.web import Parts, create_app
from stagepost.wiring import Engine
from web.kit import BASE, alive


@asynccontextmanager
async def served(
    folder: Path, *script: Step, **changes: Any
) -> AsyncIterator[tuple[Engine, Simulation, httpx.AsyncClient]]:
    """An engine that calls models, and a client of its API."""
    async with asking(folder, *script, **changes) as (engine, simulation):
        parts = Parts(
            settings=engine.settings, app=engine.app, client=engine.client, store=engine.store,
            notifier=engine.notifier, bus=engine.bus, limiting=engine.limiting, blobs=engine.blobs,
            clock=engine.clock, models=engine.models, asking=engine.asking,
        )  # fmt: skip
        app = create_app(parts)
        transport = httpx.ASGITransport(app)
        async with alive(app), httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            yield engine, simulation, client
