"""The embedded engine: each call is a task that is submitted at its instant, and asks a model."""

import sys
from pathlib import Path

import apsw
import uvloop
from pydantic import BaseModel

from bench.program import scratch_folder
from bench.quota_caller import Caller, told
from bench.quota_case import ANSWER
from stagepost import App, Context
from stagepost.settings import Settings
from stagepost.wiring import open_engine

SLOTS = 64

_ENDS = """
SELECT sum(status IN ('FAILED', 'DEAD_LETTER')),
    sum(attempt > 1 OR status IN ('FAILED', 'DEAD_LETTER'))
FROM tasks
"""

app = App()


class Question(BaseModel):
    """What the model is asked."""

    prompt: str


@app.task("ask")
async def ask(ctx: Context, request: Question) -> int:
    """Ask it, and say how long the answer is."""
    answer = await ctx.llm.chat("best", request.prompt, max_tokens=ANSWER)
    return len(answer.text)


async def call(models: str, case: str, minutes: float, folder: Path) -> None:
    """At the case's instants; what was not answered in time waits in the store."""
    settings = Settings(data=folder, models=models, concurrency=SLOTS, drain_grace=1.0)
    async with open_engine(settings, app) as engine:

        async def submit(prompt: str) -> str:
            await engine.client.submit("ask", Question(prompt=prompt))
            return "submitted"

        caller = Caller(submit)
        await caller.run(case, minutes)
    told({"begun": caller.begun, **_ends(folder)})


def _ends(folder: Path) -> dict[str, float]:
    connection = apsw.Connection(str(folder / "stagepost.db"), flags=apsw.SQLITE_OPEN_READONLY)
    [[failed, spent]] = connection.execute(_ENDS).fetchall()
    connection.close()
    return {"failed": float(failed or 0), "attempts spent": float(spent or 0)}


if __name__ == "__main__":
    with scratch_folder() as own:
        uvloop.run(call(sys.argv[1], sys.argv[2], float(sys.argv[3]), own))
