"""The saga and the pipeline, killed at many points of their work: the right end, no step twice."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from examples import outside, saga
from recipes.conftest import LANES
from stagepost.clock import SystemClock
from stagepost.records import Filter, Scope
from stagepost.stores.sqlite import SqliteStore
from stagepost.task import Status, Task

ROOT = Path(__file__).parents[2]
LONG = 90.0  # seconds


class World:
    """A data folder, and the processes that have it one after the other."""

    def __init__(self, module: str, concurrency: int) -> None:
        self._plan = {
            "module": module, "data": "data", "lanes": LANES, "concurrency": concurrency,
        }  # fmt: skip

    async def life(self, *submit: tuple[str, Any]) -> asyncio.subprocess.Process:
        """A process that has submitted this."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "recipes.life", json.dumps({**self._plan, "submit": submit}),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        )  # fmt: skip
        assert process.stdout is not None
        async with asyncio.timeout(LONG):
            assert await process.stdout.readline()
        return process

    async def killed(self, process: asyncio.subprocess.Process, calls: int) -> Counter[str]:
        """Kill it once there were so many calls; answers the steps that were saved, by task."""
        async with asyncio.timeout(LONG):
            while len(outside.calls()) < calls:
                assert process.returncode is None, "it has ended before"
                await asyncio.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            await process.wait()
        return await self.saved()

    async def ended(self, process: asyncio.subprocess.Process) -> None:
        """Let it come to its end."""
        async with asyncio.timeout(LONG):
            assert await process.wait() == 0

    async def saved(self) -> Counter[str]:
        """How many steps of each task are saved; asked while no process lives."""
        store = SqliteStore(Path("data"), SystemClock(), lambda _: None)
        try:
            tasks = await store.find(Scope(None), Filter(limit=1_000))
            return Counter({task.id: len(await store.steps(task.id)) for task in tasks})
        finally:
            await store.close()

    async def tasks(self) -> list[Task]:
        store = SqliteStore(Path("data"), SystemClock(), lambda _: None)
        try:
            return list(await store.find(Scope(None), Filter(limit=1_000)))
        finally:
            await store.close()


def statuses(tasks: list[Task]) -> Counter[tuple[str, Status]]:
    return Counter((task.type, task.status) for task in tasks)


async def test_a_pipeline_killed_three_times_does_no_saved_stage_again() -> None:
    world, names = World("examples.pipeline", 4), [f"scan-{n}" for n in range(8)]
    lives = [await world.life(*(("ingest", {"document": name}) for name in names))]
    before: list[tuple[int, int]] = []
    for calls in (5, 12, 19):
        saved = await world.killed(lives[-1], calls)
        before.append((len(outside.calls()), saved.total()))
        lives.append(await world.life())
    await world.ended(lives[-1])

    tasks = await world.tasks()
    assert statuses(tasks) == {
        (name, Status.COMPLETED): 8 for name in ("ingest", "ocr", "embed", "index")
    }
    # What flies at a kill is called again, and nothing else: 24 calls in all, and those.
    lost, known = 0, 0
    for called, saved_then in before:
        lost = called - saved_then
        assert lost - known <= 4  # so many run at once
        known = lost
    assert len(outside.calls()) == 24 + lost
    assert set(Counter(outside.calls()).values()) <= {1, 2, 3}


PUBLISHED = [*(f"{part} do d1" for part in saga.PARTS), "book d1 published"]
BROKEN = saga.PARTS[-1]
WITHDRAWN = [
    *(f"{part} do d1" for part in saga.PARTS),
    f"{BROKEN} do d1",  # its second attempt
    "book d1 withdrawn",
    *(f"{part} undo d1" for part in reversed(saga.PARTS)),
]


@pytest.mark.parametrize(
    ("broken", "expected", "end", "at"),
    [("", PUBLISHED, "published", n) for n in (2, 4)]
    + [(BROKEN, WITHDRAWN, "withdrawn", n) for n in (3, 4, 5, 6, 8)],
)
async def test_a_saga_killed_in_any_call_comes_to_its_end(
    broken: str, expected: list[str], end: str, at: int
) -> None:
    world = World("examples.saga", 1)
    first = await world.life(("publish", {"document": "d1", "broken": broken}))
    await world.killed(first, at)
    assert outside.calls() == expected[:at]
    await world.ended(await world.life())

    tasks = await world.tasks()
    (door,) = [task for task in tasks if task.type == "publish"]
    assert door.status is Status.COMPLETED
    assert saga.end_of("d1") == end
    # Only the call that flew is made again. For the part that fails that is one of its attempts.
    fails = expected[at - 1] == f"{broken} do d1"
    assert outside.calls() == (expected if fails else [*expected[:at], *expected[at - 1 :]])
    assert statuses(tasks)["do-part", Status.DEAD_LETTER] == (1 if broken else 0)
    assert len([task for task in tasks if task.type == "withdraw"]) == (1 if broken else 0)
    assert len([task for task in tasks if task.type == "do-part"]) == len(saga.PARTS)
