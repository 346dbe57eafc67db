"""An engine with one of the examples, in a process of its own. Run with a JSON argument.

Submits what it is told to, prints the ids on one line, and ends when nothing is left to do.
"""

import asyncio
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from engine_kit.engine import short
from stagepost.records import Filter, Scope
from stagepost.task import SETTLED, Status
from stagepost.wiring import Engine, open_engine

_OPEN = tuple(status for status in Status if status not in SETTLED)


async def main(plan: dict[str, Any]) -> None:
    app = importlib.import_module(plan["module"]).app
    settings = short(Path(plan["data"]), lanes=plan["lanes"], concurrency=plan["concurrency"])
    async with open_engine(settings, app) as engine:
        told = [await engine.client.submit(name, value) for name, value in plan["submit"]]
        print(*(submitted.task_id for submitted in told), flush=True)  # noqa: T201  # it is read
        async with asyncio.timeout(90):
            while await _any_open(engine):  # noqa: ASYNC110  # no event tells of it
                await asyncio.sleep(0.1)


async def _any_open(engine: Engine) -> bool:
    return bool(await engine.store.find(Scope(None), Filter(statuses=_OPEN, limit=1)))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
