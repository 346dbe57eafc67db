"""How a store comes to a sudden end, and is opened again.

What is on its way in that moment is then wholly done or wholly not; nobody hears which.
"""

import asyncio
import shutil
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from stagepost.stores.sqlite.folder import DATABASE
from support.kept_connections import KeptConnections
from support.postgres_worlds import PostgresWorlds
from support.waiting import PATIENCE
from support.world import World

Crash = Callable[[World], Coroutine[Any, Any, None]]

_TRIES = 100
_HEADER = 32
"""Bytes at the begin of SQLite's log; others when the log is begun anew."""


async def crash_sqlite(world: World) -> None:
    """Open a copy of the files as they are on the disk in this moment."""
    crashed = world.folder
    world.folder = crashed.with_name(f"{crashed.name}+")
    world.folder.mkdir()
    _copy(crashed, world.folder)
    await world.store.close()
    shutil.rmtree(crashed)
    await world.open()


def _copy(crashed: Path, folder: Path) -> None:
    """The file before the log: whatever the writer adds meanwhile is in the log."""
    log = f"{DATABASE}-wal"
    for _ in range(_TRIES):
        before = (crashed / log).read_bytes()[:_HEADER]
        for name in (DATABASE, log):
            shutil.copy(crashed / name, folder / name)
        if (folder / log).read_bytes()[:_HEADER] == before:
            return
    raise AssertionError("the log is begun anew all the time")


def crash_postgres(worlds: PostgresWorlds) -> Crash:
    """End a store's connections under its feet, and open another."""

    async def crash(world: World) -> None:
        crashed = world.store
        await worlds.cut(world.folder)
        await world.open()
        await crashed.close()

    return crash


def kill_postgres(worlds: PostgresWorlds, kept: KeptConnections) -> Crash:
    """End a store's process: nothing of it goes on, and the server lets go of its connections.

    Every asyncio task but the caller's is taken for the store's.
    """

    async def crash(world: World) -> None:
        address = worlds.address(world.folder)
        kept.cut(address)
        await _end_all_but_this()
        kept.cut(address)
        await worlds.let_go(world.folder)
        await world.open()

    return crash


async def _end_all_but_this() -> None:
    limit = time.monotonic() + PATIENCE
    # One that is told in the middle of a transaction may hear of its lost connection instead.
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        assert time.monotonic() < limit, f"{others} do not end"
        for other in others:
            other.cancel()
        await asyncio.wait(others, timeout=0.01)
