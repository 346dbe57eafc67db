"""Whom a connection serves: the one that it served before, if it can."""

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


async def served(connections: Connections, *users: str) -> list[int]:
    """The connections that users get who come at the same time, and give back at the end."""
    backends = [await connections.take(user) for user in users]
    for backend in backends:
        connections.give(backend)
    return [backend.pid for backend in backends]


async def test_a_user_has_the_connection_that_was_its_before(connections: Connections) -> None:
    claims, writes = await served(connections, "claims", "writes")
    assert await served(connections, "claims", "writes") == [claims, writes]
    assert await served(connections, "writes", "claims") == [writes, claims]


async def test_who_has_none_takes_one_that_is_nobodys(connections: Connections) -> None:
    claims, nobodys = await served(connections, "claims", "")
    assert await served(connections, "writes") == [nobodys]
    assert await served(connections, "claims") == [claims]


async def test_where_the_server_has_no_more_one_of_another_user_serves(
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
