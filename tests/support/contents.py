"""All that a store holds, as text, to see what is left of something."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw

from stagepost.stores.sqlite.folder import DATABASE

Contents = Callable[[], Awaitable[dict[str, list[str]]]]
"""Reads the rows of each table."""


async def sqlite_contents(folder: Path) -> dict[str, list[str]]:
    """Every row of every table of the embedded store, as text."""
    connection = apsw.Connection(str(folder / DATABASE), flags=apsw.SQLITE_OPEN_READONLY)
    names = [row[0] for row in connection.execute("SELECT name FROM pragma_table_list")]
    tables = {
        f"{name}": [f"{row}" for row in connection.execute(f'SELECT * FROM "{name}"')]
        for name in names
    }
    connection.close()
    return tables


async def holding(contents: Contents, text: str) -> set[str]:
    """The tables with a text in them."""
    return {name for name, rows in (await contents()).items() if any(text in row for row in rows)}
