"""Worlds behind a proxy that loses the answer to one commit."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.postgres import Server
from support.postgres_proxy import Fault, PostgresProxy, a_proxy
from support.postgres_worlds import PostgresWorlds, folder_of_times
from support.waiting import PATIENCE
from support.world import World, a_world


@dataclass
class Scene:
    """A world behind a proxy. `answered`: the server had done it when its answer was lost."""

    world: World
    proxy: PostgresProxy
    answered: bool

    async def losing(self, call: Awaitable[Any]) -> Any:
        """The call's result; the answer to its commit is lost on the way."""
        fault = Fault(self.answered)
        self.proxy.fault = fault
        async with asyncio.timeout(PATIENCE):
            result = await call
            await fault.done.wait()
        return result


@asynccontextmanager
async def a_scene(server: Server, folder: Path, *, answered: bool) -> AsyncIterator[Scene]:
    """A new world behind a proxy of its own."""
    port = urlsplit(server.url).port
    assert port is not None
    async with a_proxy("127.0.0.1", port) as proxy:
        with folder_of_times() as times:
            worlds = PostgresWorlds(server, times, proxy.port)
            async with a_world(worlds.open, folder / "data") as world:
                yield Scene(world, proxy, answered)
