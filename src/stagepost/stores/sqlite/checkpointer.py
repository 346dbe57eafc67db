"""Moves committed pages from the write-ahead log into the database file, beside the writer.

The copying and its syncs run in a thread with a connection of its own, so that they hold up no
commit. Under endless load such a checkpoint never catches up wholly; before the log grows too far
the writer itself finishes the job, which is short by then, and starts the log anew. Only a reader
that never ends can keep it from that; then the log grows on, and the writer tries again later.
"""

import logging
import threading
from pathlib import Path
from typing import Final

import apsw

from stagepost.stores.sqlite import refusals
from stagepost.stores.sqlite.folder import BUSY_TIMEOUT, open_checkpointing

_log = logging.getLogger("stagepost.store")

_START: Final = 2_000  # pages of 4 KiB in the log when the thread begins
_RESET: Final = 16_000  # pages when the writer finishes and starts the log anew
_PATIENCE: Final = 100  # milliseconds for which the writer waits for readers to get out of the way


class Checkpointer:
    """Watches the log's length after each commit."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._wanted = threading.Event()
        self._closing = False
        self._pages = 0
        self._reset_at = _RESET
        self.broken: str | None = None
        """Why nothing may be written any more, once a checkpoint has met a failing disk."""
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
        if self._pages < _START:
            self._reset_at = _RESET
        elif self._wanted.is_set():
            pass  # the thread is at it, and two can't
        elif self._pages < self._reset_at:
            self._wanted.set()
        else:
            self._reset(connection)

    def _reset(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(_PATIENCE)
        self._checkpoint(connection, "RESTART")
        connection.set_busy_timeout(BUSY_TIMEOUT)
        # If it was in vain, the next try comes after so much more, not at every commit.
        self._reset_at = self._pages + _RESET // 2

    def close(self) -> None:
        """End the thread. Blocks, at most half a minute."""
        self._closing = True
        self._wanted.set()
        self._thread.join(30)

    def _run(self) -> None:
        connection: apsw.Connection | None = None
        # Closing wakes it as well, and may do so during a checkpoint, whose end clears the event.
        while not self._closing:
            self._wanted.wait()
            if self._closing:
                break
            try:
                connection = connection or open_checkpointing(self._database)
                self._checkpoint(connection, "PASSIVE")
            except apsw.Error as error:
                _log.warning("a checkpoint of the log was put off: %s", refusals.reason(error))
            self._wanted.clear()
        if connection is not None:
            connection.close()

    def _checkpoint(self, connection: apsw.Connection, mode: str) -> None:
        try:
            connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
        except apsw.Error as error:
            if refusals.breaks(error):
                # A later sync may claim success for pages that this one has lost.
                self.broken = refusals.reason(error)
            _log.warning("a checkpoint of the log was put off: %s", refusals.reason(error))
