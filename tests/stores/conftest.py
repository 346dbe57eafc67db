"""Worlds on PostgreSQL, for every test of a store."""

from collections.abc import Iterator

import pytest

from support.postgres import Server
from support.postgres_worlds import PostgresWorlds, folder_of_times


@pytest.fixture(scope="session")
def postgres_worlds(postgres_server: Server) -> Iterator[PostgresWorlds]:
    """Stores on the server that no test harms."""
    with folder_of_times() as times:
        yield PostgresWorlds(postgres_server, times)
