"""Moves committed pages from the write-ahead log into the database file, beside the writer.

The copying and its syncs run in a thread with a connection of its own, so that they hold up no
commit. Under endless load such a checkpoint never catches up wholly; before the log grows too far
the writer itself finishes the job, which is short by then, and starts the log anew.
"""

import logging
import threading
from pathlib import Path
from typing import Final

import apsw

from stagepost.stores.sqlite.folder import open_checkpointing

_log = logging.getLogger("stagepost.store")

_START: Final = 2_000  # pages of 4 KiB in the log when the thread begins
_RESET: Final = 16_000  # pages when the writer finishes and starts the log anew


class Checkpointer:
    """Watches the log's length after each commit."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._wanted = threading.Event()
        self._closing = False
        self._pages = 0
        self._thread = threading.Thread(
            target=self._run, name="stagepost-checkpointer", daemon=True
        )
        self._thread.start()

    def watch(self, connection: apsw.Connection) -> None:
        """Learn the log's length from the writer's connection."""
        connection.set_wal_hook(self._measured)

    def _measured(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK

    def after_commit(self, connection: apsw.Connection) -> None:
        """Called by the writer between transactions."""
        if self._pages >= _RESET:
            self._pages = 0
            self._checkpoint(connection, "RESTART")
        elif self._pages >= _START and not self._wanted.is_set():
            self._wanted.set()

    def close(self) -> None:
        """End the thread. Blocks, at most half a minute."""
        self._closing = True
        self._wanted.set()
        self._thread.join(30)

    def _run(self) -> None:
        connection = open_checkpointing(self._database)
        while True:
            self._wanted.wait()
            if self._closing:
                break
            self._checkpoint(connection, "PASSIVE")
            self._wanted.clear()
        connection.close()

    @staticmethod
    def _checkpoint(connection: apsw.Connection, mode: str) -> None:
        try:
            connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
        except apsw.Error as error:
            _log.warning("a checkpoint of the log was put off: %s", error)
