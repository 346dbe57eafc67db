"""Whoever can write to a store's tables, past the store."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw

from stagepost.stores.sqlite.folder import DATABASE

Tamper = Callable[..., Awaitable[None]]
"""Does these statements, each a text."""


def sqlite_tamper(folder: Path) -> Tamper:
    """In a data folder."""

    async def tamper(*statements: str) -> None:
        connection = apsw.Connection(str(folder / DATABASE))
        connection.set_busy_timeout(5_000)
        for statement in statements:
            connection.execute(statement)
        connection.close()

    return tamper
