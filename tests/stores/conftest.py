"""Worlds on PostgreSQL, for every test of a store."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from stagepost.store import Store
from support.lost_answers import Scene, a_scene
from support.postgres import Server
from support.postgres_worlds import PostgresWorlds, folder_of_times
from support.world import World, new_id


@pytest.fixture(scope="session")
def postgres_worlds(postgres_server: Server) -> Iterator[PostgresWorlds]:
    """Stores on the server that no test harms."""
    with folder_of_times() as times:
        yield PostgresWorlds(postgres_server, times)


@pytest.fixture
async def schema(postgres_server: Server) -> AsyncIterator[str]:
    """The name of a schema that does not exist yet, and is removed after the test."""
    name = f"own_{new_id().replace('-', '')}"
    yield name
    connection = await asyncpg.connect(postgres_server.url)
    await connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
    await connection.close()


@pytest.fixture
async def others(world: World, postgres_worlds: PostgresWorlds) -> AsyncIterator[list[Store]]:
    """Two more stores on the tables of a test's world."""
    async with postgres_worlds.others(world) as others:
        yield others


@pytest.fixture
def stores(world: World, others: list[Store]) -> list[Store]:
    """Three stores on the same tables, the world's first."""
    return [world.store, *others]


@pytest.fixture(params=[True, False], ids=["after the commit", "during the commit"])
async def scene(
    request: pytest.FixtureRequest, postgres_server: Server, tmp_path: Path
) -> AsyncIterator[Scene]:
    """A world that loses the answer to a commit, done or not."""
    async with a_scene(postgres_server, tmp_path, answered=request.param) as scene:
        yield scene
