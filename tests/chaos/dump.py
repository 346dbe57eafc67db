"""Reads a store from outside, past the engine: whatever is committed, as tuples."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import asyncpg

Ask = Callable[[str], list[tuple[Any, ...]]]


@contextmanager
def opened(data: Path, store: str) -> Iterator[Ask]:
    """Answers questions in SQL: the store at an address, or SQLite's in a data folder."""
    if store:
        yield lambda sql: _from_postgres(store, sql)
        return
    database = apsw.Connection(str(data / "stagepost.db"), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        yield lambda sql: [tuple(row) for row in database.execute(sql)]
    finally:
        database.close()


def _from_postgres(url: str, sql: str) -> list[tuple[Any, ...]]:
    bare, _, schema = url.partition("?schema=")

    async def fetch() -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(bare, server_settings={"search_path": schema})
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            await connection.close()

    # In a thread, because whoever asks is in an event loop already.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(fetch())).result()
