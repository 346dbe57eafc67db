"""A parent of 500 children: killed while it starts them, and in the replay; then cancelled."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine_kit.engine import lines
from stagepost.clock import SystemClock
from stagepost.records import Filter, Scope
from stagepost.store import Store
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.sqlite import SqliteStore
from stagepost.task import Status, Task
from support.postgres import Server

MANY = 500
LONG = 90.0  # seconds


def address_in(folder: Path, request: pytest.FixtureRequest, store: str) -> str:
    """Where the family lives."""
    if store == "sqlite":
        return f"sqlite:///{folder}"
    server: Server = request.getfixturevalue("postgres_server")
    return f"{server.url}?schema=family_{os.getpid()}"


async def opened(address: str, folder: Path) -> Store:
    """The store, to be looked at once nobody else has it."""
    if address.startswith("sqlite"):
        return SqliteStore(folder, SystemClock(), lambda _: None)
    return await PostgresStore.open(address, SystemClock(), lambda _: None)


async def life(plan: dict[str, Any]) -> asyncio.subprocess.Process:
    """A process of the engine."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "chaos.family_life", json.dumps(plan),
        stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parent.parent,
    )  # fmt: skip


async def killed_once(process: asyncio.subprocess.Process, so: Callable[[], bool]) -> None:
    """Kill it as soon as something is so."""
    async with asyncio.timeout(LONG):
        while not so():
            assert process.returncode is None
            await asyncio.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        await process.wait()


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
@pytest.mark.timeout(300)
async def test_there_are_never_more_children_than_asked_for_and_a_cancel_ends_all(
    tmp_path: Path, request: pytest.FixtureRequest, store: str
) -> None:
    folder, log = tmp_path / "data", tmp_path / "log"
    address = address_in(folder, request, store)
    plan = {"data": str(folder), "store": address, "lease": 1.0}

    first = await life({**plan, "submit": {"numbers": [MANY], "log": str(log)}})
    assert first.stdout is not None
    parent = (await first.stdout.readline()).decode().strip()
    await killed_once(first, lambda: "150" in lines(log))

    # The second goes over what was started before, and is killed in the middle of that.
    second = await life(plan)
    await killed_once(second, lambda: lines(log).count("40") == 2)

    last = await life({**plan, "cancel": {"task_id": parent, "log": str(log), "at": "420"}})
    async with asyncio.timeout(LONG):
        await last.wait()
    assert last.returncode == 0

    assert lines(log).count("begun") >= 3
    tasks = await everything(address, folder)
    family = [task for task in tasks if task.parent_id == parent]
    assert 420 <= len(family) <= MANY
    (root,) = [task for task in tasks if task.id == parent]
    assert root.status is Status.CANCELLED
    assert {task.status for task in family} == {Status.COMPLETED, Status.CANCELLED}
    assert sum(task.status is Status.CANCELLED for task in family) > 50
    assert len({(task.batch_id, task.place) for task in family}) == len(family)
    assert len(tasks) == len(family) + 1


async def everything(address: str, folder: Path) -> list[Task]:
    """All tasks of a store."""
    store = await opened(address, folder)
    try:
        return list(await store.find(Scope(None), Filter(limit=10_000)))
    finally:
        await store.close()
