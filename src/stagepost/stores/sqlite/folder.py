"""The data folder: opened by one process, refused with one clear sentence when it can't be."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from stagepost.errors import StoreRefused
from stagepost.stores.sqlite import schema

DATABASE: Final = "stagepost.db"
LOCK: Final = "lock"
HEADER: Final = b"SQLite format 3\x00"
_QUICK_CHECK_UP_TO: Final = 64 * 1024 * 1024
# Bytes; a larger file takes seconds to check, and `doctor` does it.


class DataFolder:
    """A locked folder. The lock falls with the process, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / DATABASE
        self._lock = _lock(path)

    def release(self) -> None:
        """Let another process open the folder."""
        os.close(self._lock)


def open_writer(folder: DataFolder) -> apsw.Connection:
    """The one connection that writes: checked, migrated and set to sync every commit."""
    with _refusals(folder.database):
        _check_file(folder.database)
        connection = apsw.Connection(str(folder.database), statementcachesize=256)
        try:
            _check_content(connection, folder.database)
            _tune(connection)
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "FULL")
            # The checkpointer has a thread and a connection of its own.
            connection.pragma("wal_autocheckpoint", 0)
            _keep_a_copy(connection, folder.database)
            schema.migrate(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def open_reader(database: Path) -> apsw.Connection:
    """A connection that can't write."""
    with _refusals(database):
        connection = apsw.Connection(
            str(database), flags=apsw.SQLITE_OPEN_READONLY, statementcachesize=64
        )
        _tune(connection)
    return connection


def open_checkpointing(database: Path) -> apsw.Connection:
    """A connection that only moves committed pages from the log into the file."""
    connection = apsw.Connection(str(database))
    connection.set_busy_timeout(5_000)
    connection.pragma("synchronous", "FULL")
    connection.pragma("wal_autocheckpoint", 0)
    return connection


def _tune(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(5_000)
    connection.pragma("cache_size", -32_768)
    connection.pragma("temp_store", "memory")


def _lock(path: Path) -> int:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreRefused(_unwritable(path, error)) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(handle, 64).decode("ascii", "replace").strip() or "unknown"
        os.close(handle)
        raise StoreRefused(
            f"The data folder {path} is in use by process {holder}; "
            "stop that one or choose another folder with --data."
        ) from error
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode("ascii"), 0)
    return handle


def _unwritable(path: Path, error: OSError) -> str:
    return (
        f"The data folder {path} can't be written ({error.strerror}); "
        "give this user the right to write there or choose another folder with --data."
    )


def _check_file(database: Path) -> None:
    if not database.exists():
        return
    try:
        with database.open("r+b") as file:
            head = file.read(len(HEADER))
    except OSError as error:
        raise StoreRefused(_unwritable(database.parent, error)) from error
    if head and head != HEADER:
        raise StoreRefused(_corrupt(database, "it does not start like an SQLite file"))


def _check_content(connection: apsw.Connection, database: Path) -> None:
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if tables and connection.pragma("application_id") != schema.APPLICATION_ID:
        raise StoreRefused(
            f"{database} is another program's SQLite file; choose another folder with --data."
        )
    version = schema.version_of(connection)
    if version > schema.VERSION:
        raise StoreRefused(
            f"The data folder {database.parent} was written by a newer Stagepost (schema "
            f"{version}, this one knows {schema.VERSION}); install that version or choose another "
            "folder with --data."
        )
    if database.stat().st_size <= _QUICK_CHECK_UP_TO:
        verdict = connection.execute("PRAGMA quick_check(1)").get
        if verdict != "ok":
            raise StoreRefused(_corrupt(database, str(verdict)))


def _keep_a_copy(connection: apsw.Connection, database: Path) -> None:
    # Before a migration; the lock and an empty WAL make a plain copy a whole one.
    version = schema.version_of(connection)
    if 0 < version < schema.VERSION:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        shutil.copy2(database, database.with_name(f"{DATABASE}.v{version}"))


def _corrupt(database: Path, why: str) -> str:
    return (
        f"{database} is damaged ({why}); nothing was changed. Put a backup in its place, "
        "or move it away to start with an empty store."
    )


@contextlib.contextmanager
def _refusals(database: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreRefused(_corrupt(database, str(error))) from error
    except apsw.FullError as error:
        raise StoreRefused(
            f"The disk that holds {database.parent} is full; free some space and start again."
        ) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreRefused(
            f"{database} can't be opened for writing ({error}); give this user the right to write "
            "there or choose another folder with --data."
        ) from error
    except apsw.IOError as error:
        raise StoreRefused(
            f"The disk that holds {database.parent} failed ({error}); look at the system's log."
        ) from error
