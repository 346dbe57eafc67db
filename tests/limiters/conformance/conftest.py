"""Every limiter has to pass every test here."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from limiters.worlds import World, memory, postgres

LIMITERS: dict[str, Callable[[pytest.FixtureRequest], AbstractAsyncContextManager[World]]] = {
    "memory": lambda _: memory(),
    "postgres": lambda request: postgres(request.getfixturevalue("postgres_server")),
}


@pytest.fixture(params=LIMITERS)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with LIMITERS[request.param](request) as world:
        yield world
