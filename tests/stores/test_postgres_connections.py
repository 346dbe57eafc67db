"""What a connection is used for: for what it was used before, if that can be."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from stagepost.errors import StoreUnavailable
from stagepost.stores.postgres import connections as module
from stagepost.stores.postgres.address import address_of
from stagepost.stores.postgres.connections import Connections
from support.postgres import Server


@pytest.fixture
async def connections(postgres_server: Server) -> AsyncIterator[Connections]:
    connections = Connections(address_of(postgres_server.url_of("connections")))
    yield connections
    await connections.close()


async def served(connections: Connections, *purposes: str) -> list[int]:
    """The connections for things that are done at the same time; given back at the end."""
    backends = [await connections.take(purpose) for purpose in purposes]
    for backend in backends:
        connections.give(backend)
    return [backend.pid for backend in backends]


async def test_a_purpose_has_the_connection_that_served_it_before(connections: Connections) -> None:
    claims, writes = await served(connections, "claims", "writes")
    assert await served(connections, "claims", "writes") == [claims, writes]
    assert await served(connections, "writes", "claims") == [writes, claims]


async def test_a_new_purpose_takes_one_that_is_for_nothing_yet(connections: Connections) -> None:
    claims, unused = await served(connections, "claims", "")
    assert await served(connections, "writes") == [unused]
    assert await served(connections, "claims") == [claims]


async def test_where_the_server_has_no_more_one_of_another_purpose_serves(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    [claims] = await served(connections, "claims")

    async def full(_address: Any) -> Any:
        raise asyncpg.TooManyConnectionsError("sorry, too many clients already")

    monkeypatch.setattr(module, "connect", full)
    assert await served(connections, "writes") == [claims]
    held = await connections.take("writes")
    with pytest.raises(StoreUnavailable, match="no connection left"):
        await connections.take("claims")
    connections.give(held)
