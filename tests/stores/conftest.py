"""Worlds on PostgreSQL, for every test of a store."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.postgres import Server
from support.postgres_worlds import PostgresWorlds


@pytest.fixture(scope="session")
def postgres_worlds(postgres_server: Server) -> Iterator[PostgresWorlds]:
    """Stores on the server that no test harms."""
    # Not tmp_path: root's is closed to the account that PostgreSQL runs as.
    times = Path(tempfile.mkdtemp(prefix="stagepost-times-"))
    times.chmod(0o711 if os.geteuid() == 0 else 0o700)
    try:
        yield PostgresWorlds(postgres_server, times)
    finally:
        shutil.rmtree(times)
