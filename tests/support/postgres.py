"""A real PostgreSQL for tests, started by the project's own service machinery.

Its clock, as far as the store asks for it, is the test's: the schema's `now_ms()` is replaced by
one that reads a file, which the test's clock writes whenever it is moved.
"""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from stagepost.bus import Committed
from stagepost.clock import Clock
from stagepost.devservices.catalogue import SERVICES
from stagepost.devservices.environment import read
from stagepost.devservices.folder import open_folder
from stagepost.devservices.lifecycle import Services
from stagepost.devservices.process import alive, identify
from stagepost.devservices.service import Service
from stagepost.stores.postgres import PostgresStore
from support.waiting import soon
from support.world import TellingClock

SERVICE: Service = next(service for service in SERVICES if service.name == "postgres")


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


class PostgresServer:
    """A server, and the schemas on it."""

    def __init__(self, services: Services, folder: Path, url: str) -> None:
        self._services = services
        self._folder = folder
        self.url = url
        self._places: dict[Path, Place] = {}
        self._made = 0

    def url_of(self, schema: str) -> str:
        """The address of a schema."""
        return f"{self.url}?schema={schema}"

    def stop(self) -> None:
        """Stop the server, as an administrator does."""
        self._services.stop([SERVICE])

    def start(self) -> None:
        """Start it again, at the same address."""
        self._services.start([SERVICE])

    def crash(self) -> None:
        """An immediate shutdown: nothing is written that was not synced before."""
        [report] = self._services.status([SERVICE])
        assert report.pid is not None
        process = identify(report.pid)
        assert process is not None
        os.kill(report.pid, signal.SIGQUIT)
        soon(lambda: not alive(process))

    def make_standby(self) -> None:
        """Start it anew as a standby, which waits for a primary that never comes."""
        self.stop()
        (self._folder / "services" / SERVICE.name / "data" / "standby.signal").touch()
        self.start()

    async def open(
        self, folder: Path, clock: Clock, committed: Callable[[Committed], None]
    ) -> PostgresStore:
        """A store under the name of a folder, driven by the test's clock."""
        place = self._places.get(folder) or await self._place_for(folder)
        assert isinstance(clock, TellingClock)
        place.set_time(clock.now())
        clock.listener = place.set_time
        store = await PostgresStore.open(self.url_of(place.schema), clock, committed)
        place.stores.append(store)
        return store

    async def _place_for(self, folder: Path) -> Place:
        used = next((key for key, place in self._places.items() if place.free), None)
        place = await self._new_place() if used is None else self._places.pop(used)
        await self._empty(place)
        place.stores.clear()
        self._places[folder] = place
        return place

    async def _new_place(self) -> Place:
        self._made += 1
        schema = f"world_{self._made}"
        place = Place(schema, self._folder / schema)
        await (await PostgresStore.open(self.url_of(schema), TellingClock(), _deaf)).close()
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

    async def run(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        """Run a statement beside the stores."""
        connection = await asyncpg.connect(self.url)
        try:
            if not arguments:
                await connection.execute(statement)
                return []
            return list(await connection.fetch(statement, *arguments))
        finally:
            connection.terminate()

    async def cut(self, folder: Path) -> None:
        """End every connection of the stores under a folder's name, as a crash would."""
        await self.run(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE pid <> pg_backend_pid() AND application_name = 'stagepost'
               AND datname = current_database() AND $1 <> ''""",
            self._places[folder].schema,
        )


def _deaf(_: Committed) -> None:
    pass


@contextmanager
def a_postgres(*, durable: bool = False) -> Iterator[PostgresServer]:
    """A server on a free port with a folder of its own; stopped and gone in the end.

    Unless `durable`, commits do not wait for the disk: what is tested then is what the statements
    do, not what a power cut leaves, and it is a matter of minutes or seconds.
    """
    # Not pytest's folders: root's are closed to the account that the service runs as.
    parent = Path(tempfile.mkdtemp(prefix="stagepost-postgres-"))
    parent.chmod(0o711 if os.geteuid() == 0 else 0o700)
    folder = open_folder(parent / "services")
    services = Services(folder, SERVICES, notify=lambda _: None)
    try:
        services.start([SERVICE])
        server = PostgresServer(services, parent, read(folder)["STAGEPOST_STORE"])
        if not durable:
            asyncio.run(_relax(server))
        yield server
    finally:
        services.stop([SERVICE])
        shutil.rmtree(parent)


async def _relax(server: PostgresServer) -> None:
    await server.run("ALTER SYSTEM SET synchronous_commit = off")
    await server.run("SELECT pg_reload_conf()")
