"""Reading threads, each with a connection of its own; they and the writer never block another."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import apsw

from stagepost.errors import StoreUnavailable
from stagepost.stores.sqlite import refusals
from stagepost.stores.sqlite.folder import open_reader

Answer = TypeVar("Answer")

_THREADS: Final = 2
_MOST_WAITING: Final = 10_000
_LIMIT: Final = 30.0  # seconds for one read
_LOOK_EVERY: Final = 100_000  # steps of SQLite's machine, some milliseconds
_CLOSING: Final = "The store is closing; try again in a moment."


class Readers:
    """Runs reading functions off the event loops."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[apsw.Connection] = []
        self._waiting = 0
        self._closing = False
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="stagepost-reader")

    async def call(self, read: Callable[[apsw.Connection], Answer]) -> Answer:
        """The function's answer, within one consistent read.

        Raises StoreUnavailable, and Unwritable for a question that can't be put to SQLite.
        """
        if self._waiting >= _MOST_WAITING:
            raise StoreUnavailable("Too much is waiting to be read; try again in a moment.")
        try:
            future = self._pool.submit(self._read, read)
        except RuntimeError as error:
            # The pool takes nothing more once it was shut down.
            raise StoreUnavailable(_CLOSING) from error
        self._count(1)
        future.add_done_callback(lambda _: self._count(-1))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """End the threads; reads that were not begun are refused. Blocks until the others end."""
        self._closing = True
        self._pool.shutdown(wait=True)
        for connection in self._connections:
            connection.close()

    def _read(self, read: Callable[[apsw.Connection], Answer]) -> Answer:
        if self._closing:
            raise StoreUnavailable(_CLOSING)
        try:
            connection = self._connection()
            self._local.until = time.monotonic() + _LIMIT
            with connection:
                answer = read(connection)
        except (apsw.Error, *refusals.UNWRITABLE) as error:
            raise refusals.refusal(error) from error
        return answer

    def _connection(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = open_reader(self._database)
            connection.set_progress_handler(self._too_late, _LOOK_EVERY)
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    def _too_late(self) -> bool:
        until: float = self._local.until
        return time.monotonic() > until

    def _count(self, change: int) -> None:
        with self._lock:
            self._waiting += change
