"""How a store comes to a sudden end, and is opened again."""

import shutil
from collections.abc import Callable, Coroutine
from typing import Any

from stagepost.stores.sqlite.folder import DATABASE
from support.postgres_worlds import PostgresWorlds
from support.world import World

Crash = Callable[[World], Coroutine[Any, Any, None]]


async def crash_sqlite(world: World) -> None:
    """Open a copy of the files as they are on the disk between two commits."""
    crashed = world.folder
    world.folder = crashed.with_name(f"{crashed.name}+")
    world.folder.mkdir()
    for name in (DATABASE, f"{DATABASE}-wal"):
        shutil.copy(crashed / name, world.folder / name)
    await world.store.close()
    shutil.rmtree(crashed)
    await world.open()


def crash_postgres(worlds: PostgresWorlds) -> Crash:
    """End a store's connections under its feet, and open another."""

    async def crash(world: World) -> None:
        crashed = world.store
        await worlds.cut(world.folder)
        await world.open()
        await crashed.close()

    return crash
