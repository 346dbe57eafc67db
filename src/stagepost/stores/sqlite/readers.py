"""Reading threads, each with a connection of its own; they and the writer never block another."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import apsw

from stagepost.errors import StoreUnavailable
from stagepost.stores.sqlite.folder import open_reader

Answer = TypeVar("Answer")

_THREADS: Final = 2


class Readers:
    """Runs reading functions off the event loops."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="stagepost-reader")

    async def call(self, read: Callable[[apsw.Connection], Answer]) -> Answer:
        """The function's answer, within one consistent read."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, read)

    def close(self) -> None:
        """End the threads. Blocks until the reads that were begun are done."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        for connection in self._connections:
            connection.close()

    def _read(self, read: Callable[[apsw.Connection], Answer]) -> Answer:
        connection = self._connection()
        try:
            with connection:
                answer = read(connection)
        except apsw.Error as error:
            raise StoreUnavailable(
                f"The store could not be read ({type(error).__name__}: {error})."
            ) from error
        return answer

    def _connection(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = open_reader(self._database)
            self._local.connection = connection
            self._connections.append(connection)
        return connection
