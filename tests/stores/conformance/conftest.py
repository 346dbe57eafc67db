"""Every test here runs on every store: a new one joins with one line."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from support.contents import Contents, sqlite_contents
from support.postgres_worlds import PostgresWorlds
from support.tampering import Tamper, sqlite_tamper
from support.world import Opener, World, a_world, open_sqlite


def postgres_of(request: pytest.FixtureRequest) -> Opener:
    """The opener of stores on the server of this test run."""
    worlds: PostgresWorlds = request.getfixturevalue("postgres_worlds")
    return worlds.open


STORES: dict[str, Callable[[pytest.FixtureRequest], Opener]] = {
    "sqlite": lambda _: open_sqlite,
    "postgres": postgres_of,
}


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest) -> Opener:
    return STORES[request.param](request)


@pytest.fixture
def contents(request: pytest.FixtureRequest, world: World) -> Contents:
    """Reads every row of every table, as text."""
    if request.node.callspec.params["open_store"] == "sqlite":
        return lambda: sqlite_contents(world.folder)
    worlds: PostgresWorlds = request.getfixturevalue("postgres_worlds")
    return lambda: worlds.contents(world.folder)


@pytest.fixture
def tamper(request: pytest.FixtureRequest, world: World) -> Tamper:
    """Changes rows past the store."""
    if request.node.callspec.params["open_store"] == "sqlite":
        return sqlite_tamper(world.folder)
    worlds: PostgresWorlds = request.getfixturevalue("postgres_worlds")

    async def tamper(*statements: str) -> None:
        async with worlds.connection(world) as connection:
            for statement in statements:
                await connection.execute(statement)

    return tamper


@pytest.fixture
async def world(open_store: Opener, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(open_store, tmp_path / "data") as world:
        yield world
