"""Stores on a real PostgreSQL, whose clock is in the test's hand.

Each world has a schema of its own, which the next one uses again. The schema's `now_ms()` is
replaced by one that reads a file, and the test's clock writes that file whenever it is moved.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from stagepost.bus import Committed
from stagepost.clock import Clock
from stagepost.store import Store
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.postgres.address import Address, address_of
from support.postgres import Server
from support.waiting import PATIENCE
from support.world import TellingClock, World, new_id

# Where it is tested what statements do, and not what a crash leaves, commits need not wait for the
# disk.
_RELAXED = "&synchronous_commit=off"

_POLL = 0.001  # seconds


@dataclass
class Place:
    """A schema that one world after the other uses, and the file with its time."""

    schema: str
    time: Path
    stores: list[PostgresStore] = field(default_factory=list)

    @property
    def free(self) -> bool:
        """Whether every store on it was closed."""
        return all(store.closed for store in self.stores)

    def set_time(self, instant: int) -> None:
        """What `now_ms()` answers from now on."""
        draft = self.time.with_suffix(".new")
        draft.write_text(str(instant))
        draft.chmod(0o644)
        draft.replace(self.time)


@contextmanager
def folder_of_times() -> Iterator[Path]:
    """A folder for the files with the worlds' times, which the server can read."""
    # Not tmp_path: root's is closed to the account that PostgreSQL runs as.
    folder = Path(tempfile.mkdtemp(prefix="stagepost-times-"))
    folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


class PostgresWorlds:
    """Opens stores under the names of folders; `times` is a folder that the server can read.

    `port` is that of a proxy before the server. Only `durable` ones survive the server's crash.
    """

    def __init__(
        self, server: Server, times: Path, port: int | None = None, *, durable: bool = False
    ) -> None:
        self._options = "" if durable else _RELAXED
        self._server = server
        self._times = times
        self._port = port
        self._places: dict[Path, Place] = {}
        self._made = 0
        self._beside: asyncpg.Connection | None = None
        # Others may have their worlds on the same server.
        self._mark = new_id()[-12:]

    def url(self, schema: str) -> str:
        """The address of a schema."""
        parts = urlsplit(self._server.url)
        place = f"{parts.username}:{parts.password}@{parts.hostname}:{self._port or parts.port}"
        return f"postgresql://{place}{parts.path}?schema={schema}{self._options}"

    def url_of(self, world: World) -> str:
        """The address of a world's tables."""
        return self.url(self._places[world.folder].schema)

    def address(self, folder: Path) -> Address:
        """Where the stores under a folder's name keep their data."""
        return address_of(self.url(self._places[folder].schema))

    async def open(
        self,
        folder: Path,
        clock: Clock,
        committed: Callable[[Committed], None],
        max_queued: int | None = None,
    ) -> PostgresStore:
        """A store under the name of a folder, driven by the test's clock."""
        place = self._places.get(folder) or await self._place_for(folder)
        assert isinstance(clock, TellingClock)
        place.set_time(clock.now())
        clock.listener = place.set_time
        store = await PostgresStore.open(
            self.url(place.schema), clock, committed, max_queued=max_queued
        )
        place.stores.append(store)
        return store

    async def open_beside(
        self, folder: Path, clock: Clock, committed: Callable[[Committed], None]
    ) -> PostgresStore:
        """Another store on the same tables, as another process has it."""
        place = self._places[folder]
        store = await PostgresStore.open(self.url(place.schema), clock, committed)
        place.stores.append(store)
        return store

    @asynccontextmanager
    async def others(self, world: World, many: int = 2) -> AsyncIterator[list[Store]]:
        """More stores on a world's tables, each as another process has it."""
        async with AsyncExitStack() as stack:
            stores: list[Store] = []
            for _ in range(many):
                store = await self.open_beside(world.folder, world.clock, _deaf)
                stack.push_async_callback(store.close)
                stores.append(store)
            yield stores

    @asynccontextmanager
    async def connection(self, world: World) -> AsyncIterator[asyncpg.Connection]:
        """A connection to a world's tables that is none of a store's; it is cut at the end."""
        schema = self._places[world.folder].schema
        connection = await asyncpg.connect(
            self._server.url, server_settings={"search_path": schema}
        )
        try:
            yield connection
        finally:
            connection.terminate()

    async def cut(self, folder: Path) -> None:
        """End every connection of the stores under a folder's name, as a crash of theirs would."""
        await self.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
            f"stagepost {self._places[folder].schema}",
        )

    async def let_go(self, folder: Path) -> None:
        """Return once the server has ended all that dead stores under a folder's name had begun."""
        place = self._places[folder]
        limit = time.monotonic() + PATIENCE
        while await self.run(
            "SELECT FROM pg_stat_activity WHERE application_name = $1", f"stagepost {place.schema}"
        ):
            assert time.monotonic() < limit, "the server still serves a dead store"
            await asyncio.sleep(_POLL)
        place.stores.clear()

    async def contents(self, folder: Path) -> dict[str, list[str]]:
        """Every row of every table under a folder's name, as text."""
        schema = self._places[folder].schema
        found = await self.run("SELECT tablename FROM pg_tables WHERE schemaname = $1", schema)
        return {
            row[0]: [
                each[0]
                for each in await self.run(
                    f"SELECT t::text FROM {schema}.{row[0]} AS t WHERE $1", True
                )
            ]
            for row in found
        }

    async def run(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """Run a statement beside the stores."""
        if self._beside is not None:
            return await _answer(self._beside, statement, *arguments)
        connection = await asyncpg.connect(self._server.url)
        try:
            return await _answer(connection, statement, *arguments)
        finally:
            connection.terminate()

    @asynccontextmanager
    async def in_one_loop(self) -> AsyncIterator[None]:
        """All that is run beside the stores in the block goes over one connection."""
        self._beside = await asyncpg.connect(self._server.url)
        try:
            yield
        finally:
            self._beside.terminate()
            self._beside = None

    async def _place_for(self, folder: Path) -> Place:
        used = next((key for key, place in self._places.items() if place.free), None)
        place = await self._new_place() if used is None else self._places.pop(used)
        await self._empty(place)
        place.stores.clear()
        self._places[folder] = place
        return place

    async def _new_place(self) -> Place:
        self._made += 1
        schema = f"world_{self._mark}_{self._made}"
        place = Place(schema, self._times / schema)
        await (await PostgresStore.open(self.url(schema), TellingClock(), _deaf)).close()
        await self.run(
            f"""CREATE OR REPLACE FUNCTION {schema}.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
                AS $$ SELECT pg_read_file('{place.time}')::bigint $$"""
        )
        return place

    async def _empty(self, place: Place) -> None:
        tables = await self.run(
            "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename <> $2",
            place.schema,
            "schema_version",
        )
        # Quicker than TRUNCATE for the few rows of a test.
        await self.run(";".join(f"DELETE FROM {place.schema}.{row[0]}" for row in tables))


async def _answer(
    connection: asyncpg.Connection, statement: str, *arguments: Any
) -> list[asyncpg.Record]:
    if arguments:
        return list(await connection.fetch(statement, *arguments))
    await connection.execute(statement)
    return []


def _deaf(_: Committed) -> None:
    pass
