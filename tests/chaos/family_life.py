"""An engine in a process of its own, with one parent of many children. Run with a JSON argument.

`submit` starts the parent and prints its id; `cancel` names a parent that is cancelled once the log
says that so many children were started; the process then ends when nothing of the family is left to
do. Without it, it goes on until it is killed.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from engine_kit.engine import lines
from engine_kit.families import app
from stagepost.records import Filter, Scope
from stagepost.settings import Settings
from stagepost.task import SETTLED, Status
from stagepost.wiring import Engine, open_engine

_OPEN = tuple(status for status in Status if status not in SETTLED)


async def main(plan: dict[str, Any]) -> None:
    settings = Settings(
        data=Path(plan["data"]),
        store=plan["store"],
        concurrency=8,
        lease=plan["lease"],
        heartbeat=0.2,
        drain_grace=1.0,
        cancel_grace=1.0,
    )
    async with open_engine(settings, app) as engine:
        if "submit" in plan:
            submitted = await engine.client.submit("crowd", plan["submit"])
            print(submitted.task_id, flush=True)  # noqa: T201  # the test reads it
        if "cancel" in plan:
            await _cancel(engine, **plan["cancel"])
        else:
            await asyncio.sleep(600)


async def _cancel(engine: Engine, task_id: str, log: str, at: str) -> None:
    async with asyncio.timeout(60):
        while at not in lines(Path(log)):  # noqa: ASYNC110  # another process may write it
            await asyncio.sleep(0.002)
        await engine.client.cancel(task_id)
        while await _any_open(engine):  # noqa: ASYNC110  # no event tells of it
            await asyncio.sleep(0.1)


async def _any_open(engine: Engine) -> bool:
    return bool(await engine.store.find(Scope(None), Filter(statuses=_OPEN, limit=1)))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
