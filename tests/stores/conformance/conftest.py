"""Every test here runs on every store: a new one joins with one line."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.world import Opener, World, a_world, open_sqlite

STORES: dict[str, Opener] = {
    "sqlite": open_sqlite,
}


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest) -> Opener:
    return STORES[request.param]


@pytest.fixture
async def world(open_store: Opener, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(open_store, tmp_path / "data") as world:
        yield world
