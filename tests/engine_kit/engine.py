"""A running engine in this process, with short times, and what tests ask of it."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from stagepost import App
from stagepost.bus import Committed
from stagepost.clock import Clock
from stagepost.event import Event
from stagepost.records import Scope, TaskView
from stagepost.settings import Settings
from stagepost.store import Store
from stagepost.task import Status, Task
from stagepost.wiring import Engine, open_engine

LONG = 30.0
"""Seconds after which a test gives up; far more than anything here takes."""

ALL = Scope(None)


def short(folder: Path, **changes: Any) -> Settings:
    """Settings whose times are short."""
    times = Settings(
        data=folder,
        lease=1.0,
        heartbeat=0.2,
        drain_grace=0.5,
        cancel_grace=0.5,
        stall_after=0.5,
    )
    return times.with_(**changes)


def opener(kind: Callable[..., Store]) -> Any:
    """How the wiring opens a store in the data folder that is made by `kind`."""

    async def opened(settings: Settings, clock: Clock, ring: Callable[[Committed], None]) -> Store:
        return kind(settings.folder, clock, ring)

    return opened


@asynccontextmanager
async def running(app: App, folder: Path, **changes: Any) -> AsyncIterator[Engine]:
    """An engine for a test."""
    async with open_engine(short(folder, **changes), app) as engine:
        yield engine


async def until(condition: Callable[[], Any], timeout: float = LONG) -> None:
    """Wait until something is so."""
    limit = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < limit, "it did not come to be"
        await asyncio.sleep(0.01)


async def reached(engine: Engine, task_id: str, *statuses: Status) -> Task:
    """The task once it has one of these statuses."""
    limit = time.monotonic() + LONG
    while True:
        task = (await engine.store.get(task_id, ALL)).task
        if task.status in statuses:
            return task
        assert time.monotonic() < limit, f"it is {task.status}"
        await asyncio.sleep(0.02)


async def finished(engine: Engine, task_id: str) -> TaskView:
    """The task once nothing happens to it any more."""
    view = await engine.client.wait(task_id, timeout=LONG)
    assert view.task.ended_at is not None, f"it is {view.task.status}"
    return view


async def events(engine: Engine, task_id: str) -> list[Event]:
    """All events of a task, which are numbered without gaps."""
    found = list(await engine.store.events(task_id, 0, 10_000))
    assert [event.seq for event in found] == list(range(1, len(found) + 1))
    return found


async def kinds(engine: Engine, task_id: str) -> list[str]:
    """The kinds of a task's events, in order."""
    return [event.kind for event in await events(engine, task_id)]


def lines(path: Path) -> list[str]:
    """What handlers wrote into a file."""
    return path.read_text().splitlines() if path.exists() else []


def note(path: Path | str, line: str) -> None:
    """Append a line that survives the process."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, f"{line}\n".encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def alive(pid: int) -> bool:
    """Whether a process lives and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
