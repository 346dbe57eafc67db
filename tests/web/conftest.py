"""A process's services and a client of its API, in a folder of each test's own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from stagepost.web import create_app
from web.kit import Engine, Session, alive, engine_in, http


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    """In the local mode, as `up` starts it."""
    async with engine_in(tmp_path) as made:
        yield made


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """An engine for many examples."""
    made = Session(tmp_path)
    yield made
    made.close()


@pytest.fixture
async def client(engine: Engine) -> AsyncIterator[httpx.AsyncClient]:
    """A client on this machine that sends no headers of its own."""
    async with http(engine) as made:
        yield made


@pytest.fixture
async def keyed(tmp_path: Path) -> AsyncIterator[Engine]:
    """With API keys."""
    async with engine_in(tmp_path, auth=("keys",)) as made:
        yield made


@pytest.fixture
async def app(engine: Engine) -> AsyncIterator[Any]:
    """The application itself, alive."""
    made = create_app(engine.parts)
    async with alive(made):
        yield made
